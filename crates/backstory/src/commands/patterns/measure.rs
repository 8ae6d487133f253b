//! `patterns measure`.

use std::collections::HashMap;
use std::io::Write;

use backstory_memory::{
    Catalogue, Entry, MeasuredPattern, MeasuredSession, Measurement, MeasurementList, Pattern,
    Publication, SessionFilter, Share, Verdict, measure,
};

use crate::error::Error;
use crate::output::{local_time, one_line, print_json, print_table, stdout, table};
use crate::setting::Setting;

/// A pattern in one place.
struct Measured<'a> {
    entry: &'a Entry,
    publication: &'a Publication,
    rows: Vec<Measurement>,
}

pub(super) fn run(
    setting: &Setting,
    patterns: &[Pattern],
    catalogue: &Catalogue,
    json: bool,
) -> Result<(), Error> {
    let mut measured = Vec::new();
    for entry in catalogue.entries() {
        let counts = occurrences(patterns, entry);
        for publication in &entry.published {
            let Some(at) = publication.at else {
                continue;
            };
            let sessions = sessions(setting, publication, &counts)?;
            let rows = measure(&sessions, at);
            measured.push(Measured {
                entry,
                publication,
                rows,
            });
        }
    }
    if json {
        let measurements = measured.into_iter().map(Measured::into_record).collect();
        return print_json(&MeasurementList { measurements });
    }
    let mut out = stdout();
    if measured.is_empty() {
        writeln!(
            out,
            "nothing is published; `backstory patterns publish` does that"
        )?;
    } else {
        print(&mut out, &measured)?;
    }
    out.flush()?;
    Ok(())
}

/// How often a pattern, with those merged into it, occurred in each session.
fn occurrences<'a>(patterns: &'a [Pattern], entry: &Entry) -> HashMap<&'a str, u64> {
    let is_it = |pattern: &&Pattern| pattern.id == entry.id || entry.merged.contains(&pattern.id);
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for pattern in patterns.iter().filter(is_it) {
        let mut found: HashMap<&str, u64> = HashMap::new();
        for evidence in &pattern.evidence {
            *found.entry(&evidence.session).or_default() += 1;
        }
        for session in &pattern.sessions {
            found.entry(session).or_insert(1);
        }
        for (session, count) in found {
            *counts.entry(session).or_default() += count;
        }
    }
    counts
}

/// The sessions that a publication could reach, or would have reached.
fn sessions(
    setting: &Setting,
    publication: &Publication,
    counts: &HashMap<&str, u64>,
) -> Result<Vec<MeasuredSession>, Error> {
    let filter = SessionFilter {
        project: publication.project.clone(),
        ..SessionFilter::default()
    };
    let rows = setting.memory()?.sessions().list(&filter)?;
    let measured = rows.into_iter().filter_map(|row| {
        Some(MeasuredSession {
            occurrences: counts.get(row.session.as_str()).copied().unwrap_or(0),
            started_at: row.started_at?,
            session: row.session,
            agent: row.agent,
        })
    });
    Ok(measured.collect())
}

fn print(out: &mut impl Write, measured: &[Measured<'_>]) -> Result<(), Error> {
    let mut table = table(&[
        "pattern",
        "published in",
        "since",
        "agent",
        "before",
        "after",
        "sessions that have it",
    ]);
    for one in measured {
        for row in &one.rows {
            table.add_row([
                one.entry.id.clone(),
                one_line(&one.publication.target),
                local_time(one.publication.at),
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

impl<'a> Measured<'a> {
    fn into_record(self) -> MeasuredPattern<'a> {
        MeasuredPattern {
            id: &self.entry.id,
            title: &self.entry.title,
            target: &self.publication.target,
            published_at: self.publication.at,
            rows: self.rows,
        }
    }
}
