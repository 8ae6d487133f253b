//! Printing: stdout is data, stderr is talk.

use std::io::{IsTerminal, Write};

use backstory_event::TimeMs;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::Error;
use crate::printer::{Style, json_stdout, print_stderr};

pub(crate) use crate::printer::stdout;
pub(crate) use backstory_memory::{one_line, rfc3339};

/// For things that matter.
pub(crate) const BOLD: Style = Style::new("1");
/// For things beside the matter.
pub(crate) const DIM: Style = Style::new("2");
/// For what a person said.
pub(crate) const GREEN: Style = Style::new("32");
/// For warnings.
pub(crate) const YELLOW: Style = Style::new("33");
/// For failures.
pub(crate) const RED: Style = Style::new("31");

/// Prints one JSON document, with its keys in order.
pub(crate) fn print_json(answer: &impl Serialize) -> Result<(), Error> {
    stream_json(&serde_json::to_value(answer).map_err(std::io::Error::from)?)
}

/// Prints one JSON document while it is made, with its keys as they come: for answers that are too long to hold.
pub(crate) fn stream_json(value: &impl Serialize) -> Result<(), Error> {
    let mut out = json_stdout();
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints one JSON document in one line.
pub(crate) fn print_json_line(answer: &impl Serialize) -> Result<(), Error> {
    let value = serde_json::to_value(answer).map_err(std::io::Error::from)?;
    let mut out = json_stdout();
    writeln!(out, "{value}")?;
    out.flush()?;
    Ok(())
}

/// Says something beside the data.
pub(crate) fn talk(text: &str) {
    print_stderr(format_args!("{DIM}{text}{DIM:#}"));
}

/// Warns beside the data.
pub(crate) fn warn(text: &str) {
    print_stderr(format_args!("{YELLOW}warning:{YELLOW:#} {text}"));
}

/// A bar that shows how far something is; there only on a terminal.
pub(crate) fn progress_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::hidden();
    if std::io::stderr().is_terminal() {
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Returns the number of columns of the terminal that standard output is, if it is one and tells.
#[cfg(feature = "columnar")]
pub(crate) fn terminal_width() -> Option<usize> {
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    }
    #[cfg(not(unix))]
    None
}

/// A time for people, in their zone.
pub(crate) fn local_time(at: Option<TimeMs>) -> String {
    let Some(time) = at.and_then(|at| Timestamp::from_millisecond(at.get()).ok()) else {
        return "-".to_string();
    };
    time.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// A number with thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something: 1 session, 2,000 sessions.
pub(crate) fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", grouped(number)),
    }
}

/// A number that takes little room: 12.3k, 4.5M.
pub(crate) fn short_number(number: u64) -> String {
    short(number, 1000.0, &["", "k", "M", "G", "T"])
}

/// Bytes for people.
pub(crate) fn short_bytes(bytes: u64) -> String {
    short(bytes, 1000.0, &[" B", " kB", " MB", " GB", " TB"])
}

fn short(number: u64, step: f64, units: &[&str]) -> String {
    let mut value = number as f64;
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    if unit == 0 || value >= 100.0 {
        format!("{value:.0}{}", units[unit])
    } else {
        format!("{value:.1}{}", units[unit])
    }
}

/// Returns text without hidden characters. Printing drops them anyway; this is for text that is measured or cut first.
pub(crate) fn harmless(text: &str) -> String {
    backstory_memory::harmless(text).into_owned()
}

/// A table without lines around it.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// Adds a row; each cell is one line.
    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| one_line(&cell));
        self.0.add_row(cells.collect::<Vec<String>>());
    }

    /// Aligns all columns but the first to the right, for numbers.
    pub(crate) fn align_numbers(&mut self) {
        for column in self.0.column_iter_mut().skip(1) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }

    /// Aligns one column to the right.
    #[cfg(feature = "columnar")]
    pub(crate) fn align_right(&mut self, column: usize) {
        if let Some(column) = self.0.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
}

/// Makes an empty table.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
    table.set_header(header.iter().map(|title| title.to_uppercase()));
    Table(table)
}

/// Prints a table, each line without spaces at its end.
pub(crate) fn print_table(out: &mut impl Write, table: &Table) -> Result<(), Error> {
    for (number, line) in table.0.lines().enumerate() {
        let line = line.trim_end();
        if number == 0 {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Parses a time that a person typed: `2w` ago, a date in their zone, or a whole RFC 3339 time.
pub(crate) fn parse_time(text: &str, now: TimeMs) -> Result<TimeMs, Error> {
    Ok(backstory_memory::parse_time(
        text,
        now,
        &TimeZone::system(),
    )?)
}

/// Prints a line.
pub(crate) fn say(text: &str) -> Result<(), Error> {
    let mut out = stdout();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(short_number(999), "999");
        assert_eq!(short_number(12_345), "12.3k");
        assert_eq!(short_bytes(2_500_000), "2.5 MB");
    }
}
