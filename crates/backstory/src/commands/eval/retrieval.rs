//! `eval retrieval`.

use std::io::Write;
use std::path::Path;

use backstory_memory::search::{
    JudgedQuery, ModeScore, ModeScores, RetrievalScore, RetrievalSummary,
};
use backstory_memory::trusted::read_regular_file;

use crate::cli::Mode;
use crate::error::Error;
use crate::output::{one_line, print_json, print_table, stdout, table};
use crate::setting::Setting;

/// Maximum length of a file with queries.
const MAX_QUERIES_BYTES: u64 = 64 << 20;

pub(super) fn run(
    setting: &Setting,
    queries: &Path,
    mode: Option<Mode>,
    each: bool,
    json: bool,
) -> Result<(), Error> {
    let queries = read(queries)?;
    let memory = setting.memory()?;
    let modes = match (mode, &setting.config.model) {
        (Some(mode), _) => vec![mode],
        (None, Some(_)) => vec![Mode::Keyword, Mode::Semantic, Mode::Hybrid],
        (None, None) => vec![Mode::Keyword],
    };
    let mut scores = Vec::new();
    for mode in modes {
        let model = setting.config.model.as_deref();
        let score = memory.search().evaluate(&queries, mode.into(), model)?;
        scores.push((mode, score));
    }
    if json {
        let modes = scores.iter().map(|(mode, score)| ModeScore {
            mode: (*mode).into(),
            summary: score.summary(),
            each: each.then_some(&score.queries[..]),
        });
        return print_json(&ModeScores {
            modes: modes.collect(),
        });
    }
    let mut out = stdout();
    let mut summary = table(&[
        "mode",
        "queries",
        "any@1",
        "any@5",
        "any@10",
        "all@5",
        "mrr",
        "ndcg@10",
        "confident",
        "p50 ms",
        "p95 ms",
    ]);
    for (mode, score) in &scores {
        if each {
            print_each(&mut out, *mode, score)?;
        }
        summary.add_row(cells(*mode, &score.summary()));
    }
    print_table(&mut out, &summary)?;
    out.flush()?;
    Ok(())
}

fn print_each(out: &mut impl Write, mode: Mode, score: &RetrievalScore) -> Result<(), Error> {
    let mut each = table(&["mode", "place", "sure", "query"]);
    for query in &score.queries {
        each.add_row([
            mode.name().to_string(),
            query
                .place
                .map_or("-".to_string(), |place| place.to_string()),
            (if query.confident { "yes" } else { "no" }).to_string(),
            one_line(&query.query),
        ]);
    }
    print_table(out, &each)?;
    writeln!(out)?;
    Ok(())
}

fn cells(mode: Mode, summary: &RetrievalSummary) -> Vec<String> {
    let percent = |share: f64| format!("{share:.1}");
    let fine = |number: f64| format!("{number:.3}");
    vec![
        mode.name().to_string(),
        summary.queries.to_string(),
        percent(summary.any_at_1),
        percent(summary.any_at_5),
        percent(summary.any_at_10),
        percent(summary.all_at_5),
        fine(summary.mrr),
        fine(summary.ndcg_at_10),
        percent(summary.confident),
        fine(summary.p50_ms),
        fine(summary.p95_ms),
    ]
}

fn read(path: &Path) -> Result<Vec<JudgedQuery>, Error> {
    let text = read_regular_file(path, MAX_QUERIES_BYTES)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let mut lines = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let parsed = serde_json::from_str(line).map_err(|error| {
            Error::usage(format!("{}:{}: {error}", path.display(), number + 1))
                .hint("each line is {\"query\": \"…\", \"gold\": [\"session id\", …]}")
        })?;
        lines.push(parsed);
    }
    Ok(lines)
}
