//! `patterns` and `patterns show`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::patterns::{Catalogue, Entry, Pattern, PatternList, PatternRecord};
use backstory_memory::upkeep::WithDamage;

use crate::cli::PatternsListArgs;
use crate::commands::damage::report_damage;
use crate::error::Error;
use crate::naming::cite_turn;
use crate::output::{
    BOLD, DIM, counted, harmless, local_time, one_line, print_json, print_table, stdout, table,
};
use crate::setting::Setting;

/// How much of a title is shown in the list.
const TITLE_CHARACTERS: usize = 80;

pub(super) fn run(
    mut patterns: WithDamage<Vec<Pattern>>,
    catalogue: &Catalogue,
    arguments: &PatternsListArgs,
) -> Result<(), Error> {
    if arguments.limit > 0 {
        patterns.answer.truncate(arguments.limit);
    }
    if arguments.json {
        print_json(&patterns.map(|patterns| PatternList::new(patterns, catalogue)))?;
        return report_damage(&patterns);
    }
    let mut out = stdout();
    if patterns.is_empty() {
        writeln!(out, "no pattern recurs")?;
    } else {
        let mut table = table(&[
            "pattern",
            "kind",
            "times",
            "sessions",
            "agents",
            "last seen",
            "status",
            "title",
        ]);
        for pattern in patterns.iter() {
            let entry = catalogue.entry(&pattern.id);
            let (title, _) = pattern.title_and_advice(entry);
            table.add_row([
                one_line(&pattern.id),
                kind_of(pattern),
                pattern.frequency.to_string(),
                pattern.sessions.len().to_string(),
                pattern.agents.join(", "),
                local_time(pattern.last_seen),
                status(entry).to_string(),
                one_line(title).chars().take(TITLE_CHARACTERS).collect(),
            ]);
        }
        print_table(&mut out, &table)?;
    }
    out.flush()?;
    report_damage(&patterns)
}

pub(super) fn show(
    setting: &Setting,
    patterns: &[Pattern],
    catalogue: &Catalogue,
    id: &str,
    json: bool,
) -> Result<(), Error> {
    let id = catalogue.find(id, patterns)?;
    let pattern = patterns.iter().find(|pattern| pattern.id == id);
    let entry = catalogue.entry(id);
    if json {
        let record = match (pattern, entry) {
            (Some(pattern), entry) => Some(PatternRecord::detected(pattern, entry)),
            (None, entry) => entry.map(PatternRecord::undetected),
        };
        return print_json(&record.map(|record| record.with_decision(entry)));
    }
    let mut out = stdout();
    if let Some((title, advice)) = pattern
        .map(|pattern| pattern.title_and_advice(entry))
        .or_else(|| entry.map(|entry| (entry.title.as_str(), entry.advice.as_str())))
    {
        writeln!(out, "{BOLD}{}{BOLD:#}", one_line(title))?;
        if !advice.is_empty() {
            writeln!(out, "{}", harmless(advice))?;
        }
    }
    writeln!(out, "{DIM}{id}, {}{DIM:#}", status(entry))?;
    match pattern {
        Some(pattern) => print_evidence(&setting.memory()?, &mut out, pattern)?,
        None => writeln!(out, "not found in what is stored now")?,
    }
    if let Some(entry) = entry {
        print_decided(&mut out, entry)?;
    }
    out.flush()?;
    Ok(())
}

fn print_evidence(memory: &Memory, out: &mut impl Write, pattern: &Pattern) -> Result<(), Error> {
    writeln!(
        out,
        "{}, {} in {} of {}, from {} to {}",
        kind_of(pattern),
        counted(pattern.frequency, "time"),
        counted(pattern.sessions.len() as u64, "session"),
        pattern.agents.join(", "),
        local_time(pattern.first_seen),
        local_time(pattern.last_seen)
    )?;
    for (what, names) in [
        ("projects", &pattern.projects),
        ("domains", &pattern.domains),
    ] {
        if !names.is_empty() {
            writeln!(out, "{what}: {}", one_line(&names.join(", ")))?;
        }
    }
    for evidence in &pattern.evidence {
        writeln!(
            out,
            "\n{DIM}{} {} {}{DIM:#}\n{}",
            cite_turn(
                memory,
                &evidence.agent,
                &evidence.session,
                Some(evidence.turn)
            ),
            evidence.agent,
            local_time(evidence.at),
            harmless(&evidence.text)
        )?;
    }
    Ok(())
}

fn print_decided(out: &mut impl Write, entry: &Entry) -> Result<(), Error> {
    writeln!(out)?;
    if !entry.merged.is_empty() {
        writeln!(out, "with {}", one_line(&entry.merged.join(", ")))?;
    }
    for published in &entry.published {
        writeln!(
            out,
            "published in {} since {}",
            one_line(&published.target),
            local_time(published.at)
        )?;
    }
    for change in &entry.history {
        let about = change
            .target
            .as_deref()
            .or(change.pattern.as_deref())
            .unwrap_or_default();
        let line = format!("{} {} {about}", local_time(change.at), change.change);
        writeln!(out, "{DIM}{}{DIM:#}", one_line(&line).trim_end())?;
    }
    Ok(())
}

fn kind_of(pattern: &Pattern) -> String {
    let kind = pattern.kind.name();
    match pattern.is_cross_agent() {
        true => format!("{kind}, cross-agent"),
        false => kind.to_string(),
    }
}

fn status(entry: Option<&Entry>) -> &'static str {
    entry.map_or("candidate", |entry| entry.status.name())
}
