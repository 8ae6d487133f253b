//! Table of the sessions in HDF5 files: whole in a pipe, fitted to a terminal.

use backstory_columnar::{SessionSummary, SessionTotals, TokenUsage};

use super::short_ids::ShortIds;
use crate::output::{Table, one_line, short_number, table};

/// Texts are not cut to fewer characters than this as long as columns can be left out instead.
const SHORT_TEXT_CHARACTERS: usize = 12;

/// Texts are not cut to fewer characters than this.
const MIN_TEXT_CHARACTERS: usize = 8;

/// Spaces that the table has around each column.
const COLUMN_PADDING: usize = 2;

/// Columns that are left out of a narrow table, the first one first. `--json` has them.
const OPTIONAL_COLUMNS: [&str; 8] = [
    "version",
    "agent",
    "branch",
    "cwd",
    "cache write",
    "model",
    "calls",
    "input",
];

/// Number of optional columns that are left out only when texts are as short as can be.
const TERSE_COLUMNS: usize = 4;

/// Columns whose cells are cut.
const TEXT_COLUMNS: [&str; 3] = ["model", "cwd", "branch"];

const NUMBER_COLUMNS: [&str; 6] = [
    "messages",
    "calls",
    "input",
    "output",
    "cache write",
    "cache read",
];

struct Column {
    title: &'static str,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(self.title.chars().count())
    }

    fn cut_to(&mut self, width: usize) {
        for cell in &mut self.cells {
            if let Some((end, _)) = cell.char_indices().nth(width)
                && let Some((cut, _)) = cell[..end].char_indices().next_back()
            {
                cell.truncate(cut);
                cell.push('…');
            }
        }
    }
}

/// Returns the table, fitted to the width of a terminal if one is given, and the columns that did not fit.
pub(super) fn session_table(
    sessions: &[SessionSummary],
    width: Option<usize>,
) -> (Table, Vec<&'static str>) {
    let mut columns = session_columns(sessions, width.is_some());
    let left_out = width.map_or(Vec::new(), |width| fit_columns(&mut columns, width));
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    let mut shown = table(&titles);
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        shown.add_row(columns.iter().map(|column| column.cells[row].clone()));
    }
    for (number, column) in columns.iter().enumerate() {
        if NUMBER_COLUMNS.contains(&column.title) {
            shown.align_right(number);
        }
    }
    (shown, left_out)
}

fn session_columns(sessions: &[SessionSummary], is_short: bool) -> Vec<Column> {
    let ids = ShortIds::new(sessions.iter().map(|session| session.id.as_str()));
    let texts = |text: &dyn Fn(&SessionSummary) -> String| -> Vec<String> {
        sessions
            .iter()
            .map(|session| one_line(&text(session)))
            .collect()
    };
    let totals = SessionTotals::of_sessions(sessions);
    let has_totals = sessions.len() > 1;
    let add_total = |mut cells: Vec<String>, total: String| {
        cells.extend(has_totals.then_some(total));
        cells
    };
    let tokens = |count_of: fn(&TokenUsage) -> i64| {
        let shown = |usage: &TokenUsage| {
            let count = count_of(usage);
            match is_short {
                true => short_number(u64::try_from(count).unwrap_or(0)),
                false => count.to_string(),
            }
        };
        let cells = texts(&|session| shown(&session.usage));
        add_total(cells, shown(&totals.usage))
    };
    let no_total = |cells| add_total(cells, String::new());
    let cells = [
        add_total(
            texts(&|session| match is_short {
                true => ids.short_id(&session.id),
                false => session.id.clone(),
            }),
            "total".to_string(),
        ),
        no_total(texts(&|session| session.attributes.agent.clone())),
        add_total(
            texts(&|session| session.messages.to_string()),
            totals.messages.to_string(),
        ),
        add_total(
            texts(&|session| session.tool_calls.to_string()),
            totals.tool_calls.to_string(),
        ),
        no_total(texts(&|session| session.attributes.model.clone())),
        no_total(texts(&|session| match is_short {
            true => folder_name(&session.attributes.cwd),
            false => session.attributes.cwd.clone(),
        })),
        no_total(texts(&|session| session.attributes.git_branch.clone())),
        no_total(texts(&|session| session.attributes.agent_version.clone())),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        tokens(|usage| usage.cache_creation_input_tokens),
        tokens(|usage| usage.cache_read_input_tokens),
    ];
    let titles = [
        "session",
        "agent",
        "messages",
        "calls",
        "model",
        "cwd",
        "branch",
        "version",
        "input",
        "output",
        "cache write",
        "cache read",
    ];
    let columns = titles.into_iter().zip(cells);
    columns
        .map(|(title, cells)| Column { title, cells })
        .collect()
}

fn folder_name(cwd: &str) -> String {
    cwd.rsplit(['/', '\\']).next().unwrap_or(cwd).to_string()
}

/// Cuts texts, then leaves out columns, until the table fits; returns the titles of those.
fn fit_columns(columns: &mut Vec<Column>, width: usize) -> Vec<&'static str> {
    let mut left_out = Vec::new();
    for column in columns.iter_mut() {
        if TEXT_COLUMNS.contains(&column.title) {
            column.cut_to(width);
        }
    }
    let mut optional = &OPTIONAL_COLUMNS[..];
    loop {
        let widths: Vec<usize> = columns.iter().map(Column::width).collect();
        let total: usize = widths.iter().map(|width| width + COLUMN_PADDING).sum();
        if total <= width {
            return left_out;
        }
        let shortest = match optional.len() <= TERSE_COLUMNS {
            true => MIN_TEXT_CHARACTERS,
            false => SHORT_TEXT_CHARACTERS,
        };
        let can_be_cut = |(number, width): &(usize, &usize)| {
            **width > shortest && TEXT_COLUMNS.contains(&columns[*number].title)
        };
        let widest = widths.iter().enumerate().filter(can_be_cut);
        if let Some((number, widest)) = widest.max_by_key(|(_, width)| **width) {
            columns[number].cut_to(widest - 1);
        } else if let Some((title, others)) = optional.split_first() {
            columns.retain(|column| column.title != *title);
            left_out.push(*title);
            optional = others;
        } else {
            return left_out;
        }
    }
}

#[cfg(test)]
mod tests {
    use backstory_columnar::SessionAttributes;

    use super::*;
    use crate::output::print_table;

    fn session(id: &str) -> SessionSummary {
        SessionSummary {
            id: id.to_string(),
            attributes: SessionAttributes {
                agent: "claude-code".to_string(),
                model: "claude-opus-4-5-20251101".to_string(),
                cwd: "/home/ada/projects/a-shop-with-a-long-name".to_string(),
                git_branch: "feature/baskets-that-remember".to_string(),
                agent_version: "2.1.9".to_string(),
                ..SessionAttributes::default()
            },
            messages: 120,
            tool_calls: 45,
            artifacts: 0,
            logs: 1,
            usage: TokenUsage {
                input_tokens: 1_234,
                output_tokens: 56_789,
                cache_creation_input_tokens: -1,
                cache_read_input_tokens: 98_765_432,
            },
        }
    }

    fn lines(
        sessions: &[SessionSummary],
        width: Option<usize>,
    ) -> (Vec<String>, Vec<&'static str>) {
        let (shown, left_out) = session_table(sessions, width);
        let mut out = Vec::new();
        print_table(&mut out, &shown).unwrap();
        let text = String::from_utf8(out).unwrap();
        (text.lines().map(str::to_string).collect(), left_out)
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let sessions = [
            session("0f3a1b22-1111"),
            session("0f3a1b22-2222"),
            session("77"),
        ];
        for (width, left_out) in [
            (200, &[][..]),
            (135, &[]),
            (130, &["version"]),
            (80, &["version", "agent", "branch", "cwd"]),
            (
                60,
                &["version", "agent", "branch", "cwd", "cache write", "model"],
            ),
        ] {
            let (lines, missing) = lines(&sessions, Some(width));
            assert_eq!(missing, left_out, "{width}");
            // The first one has marks of a style.
            for line in &lines[1..] {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(lines[1].contains("0f3a1b22-1 "), "{}", lines[1]);
            assert!(lines[1].contains("98.8M"), "{}", lines[1]);
            assert!(
                lines[4].contains("total") && lines[4].contains("360"),
                "{}",
                lines[4]
            );
            assert!(lines[4].contains("296M"), "{}", lines[4]);
        }
    }

    #[test]
    fn a_pipe_gets_everything() {
        let (lines, missing) = lines(&[session("0f3a1b22-1111-2222")], None);
        assert!(missing.is_empty());
        assert_eq!(lines.len(), 2, "no total of one");
        for text in [
            "0f3a1b22-1111-2222",
            "/home/ada/projects/",
            "98765432",
            "-1",
        ] {
            assert!(lines[1].contains(text), "{}", lines[1]);
        }
    }
}
