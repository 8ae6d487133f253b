//! `patterns measure`.

use std::io::Write;

use backstory_memory::patterns::{
    Catalogue, MeasuredPattern, MeasurementList, Pattern, Share, Verdict,
};

use crate::error::Error;
use crate::output::{local_time, one_line, print_json, print_table, stdout, table};
use crate::setting::Setting;

pub(super) fn run(
    setting: &Setting,
    patterns: &[Pattern],
    catalogue: &Catalogue,
    json: bool,
) -> Result<(), Error> {
    let measurements = match catalogue.has_publications() {
        true => setting.memory()?.patterns().measure(catalogue, patterns)?,
        false => Vec::new(),
    };
    if json {
        return print_json(&MeasurementList { measurements });
    }
    let mut out = stdout();
    if measurements.is_empty() {
        writeln!(
            out,
            "nothing is published; `backstory patterns publish` does that"
        )?;
    } else {
        print(&mut out, &measurements)?;
    }
    out.flush()?;
    Ok(())
}

fn print(out: &mut impl Write, measurements: &[MeasuredPattern<'_>]) -> Result<(), Error> {
    let mut table = table(&[
        "pattern",
        "published in",
        "since",
        "agent",
        "before",
        "after",
        "sessions that have it",
    ]);
    for pattern in measurements {
        for row in &pattern.rows {
            table.add_row([
                pattern.id.to_string(),
                one_line(pattern.target),
                local_time(pattern.published_at),
                row.agent.clone().unwrap_or_else(|| "all".to_string()),
                share(&row.before),
                share(&row.after),
                verdict(row.verdict).to_string(),
            ]);
        }
    }
    print_table(out, &table)
}

fn share(share: &Share) -> String {
    let percent = |part: f64| (part * 100.0).round();
    format!(
        "{} of {} ({} %, {} to {})",
        share.with_it,
        share.sessions,
        percent(share.share),
        percent(share.low),
        percent(share.high)
    )
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fewer => "fewer",
        Verdict::More => "more",
        Verdict::NoDifference => "no clear difference",
        Verdict::TooFewSessions => "too few sessions to tell",
    }
}
