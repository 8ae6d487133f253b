//! `eval digests`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::digest::{DigestScore, Proportion, StatementScore, TextScore};

use super::digest_review;
use crate::commands::damage::report_damage;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{BOLD, DIM, counted, one_line, print_json, say, stdout};
use crate::setting::Setting;

/// Reviews the sample, sessions and seed, if there is one, and prints the score.
pub(super) fn run(
    setting: &Setting,
    sample: Option<(usize, u64)>,
    json: bool,
) -> Result<(), Error> {
    let memory = setting.memory()?;
    if let Some((sessions, seed)) = sample {
        digest_review::run(&memory, sessions, seed)?;
    }
    let score = memory.digest_verdicts().score()?;
    if json {
        print_json(&score)?;
    } else if score.sessions + score.grown + score.missing == 0 {
        say(
            "nothing is judged yet: run `backstory eval digests` in a terminal to judge 20 sessions",
        )?;
    } else {
        print_score(&memory, &score)?;
    }
    report_damage(&score)
}

fn print_score(memory: &Memory, score: &DigestScore) -> Result<(), Error> {
    let mut out = stdout();
    writeln!(
        out,
        "{BOLD}Digests of {} beside your verdicts{BOLD:#}",
        counted(score.sessions, "session")
    )?;
    let balanced = score.balanced_accuracy.map_or(String::new(), |accuracy| {
        format!("; balanced {:.0} %", 100.0 * accuracy)
    });
    writeln!(
        out,
        "{:<22}{}{balanced}",
        "outcomes right",
        shown(&score.outcomes)
    )?;
    for (name, statements) in [
        ("decisions", &score.decisions),
        ("problems", &score.problems),
    ] {
        print_statements(&mut out, name, statements)?;
    }
    print_texts(&mut out, "titles", &score.titles)?;
    print_texts(&mut out, "headlines", &score.headlines)?;
    for wrong in &score.wrong_outcomes {
        writeln!(
            out,
            "{DIM}{}: {}, but the digest has {}: {}{DIM:#}",
            short_id(memory, &wrong.agent, &wrong.session),
            wrong.outcome.name(),
            wrong.digest_outcome.name(),
            one_line(wrong.reason.as_deref().unwrap_or("no reason"))
        )?;
    }
    if score.grown > 0 {
        writeln!(
            out,
            "{} left out: events were added after the verdicts",
            counted(score.grown, "session")
        )?;
    }
    if score.missing > 0 {
        writeln!(
            out,
            "{} left out: not in this store, or not readable",
            counted(score.missing, "session")
        )?;
    }
    let changed = score.titles.changed + score.headlines.changed;
    let unjudged = score.decisions.unjudged + score.problems.unjudged;
    if changed + unjudged + score.grown > 0 {
        writeln!(
            out,
            "{DIM}`backstory eval digests` in a terminal asks about what has no verdict yet{DIM:#}"
        )?;
    }
    out.flush()?;
    Ok(())
}

fn print_statements(out: &mut impl Write, name: &str, score: &StatementScore) -> Result<(), Error> {
    let unjudged = match score.unjudged {
        0 => String::new(),
        count => format!("; {count} not judged"),
    };
    writeln!(
        out,
        "{:<22}{}{unjudged}",
        format!("{name}, precision"),
        shown(&score.precision)
    )?;
    writeln!(
        out,
        "{:<22}{}",
        format!("{name}, recall"),
        shown(&score.recall)
    )?;
    Ok(())
}

fn print_texts(out: &mut impl Write, name: &str, score: &TextScore) -> Result<(), Error> {
    let all = score.graded();
    let part = |grade: &str, count: u64| {
        let share = 100.0 * count as f64 / all.max(1) as f64;
        format!("{count} {grade} ({share:.0} %)")
    };
    let grades = match all {
        0 => "–".to_string(),
        _ => [
            part("good", score.good),
            part("middling", score.middling),
            part("poor", score.poor),
        ]
        .join(", "),
    };
    let changed = match score.changed {
        0 => String::new(),
        count => format!("; {count} changed since"),
    };
    writeln!(out, "{name:<22}{grades}{changed}")?;
    Ok(())
}

/// Returns a share with its interval.
fn shown(share: &Proportion) -> String {
    if share.total == 0 {
        return "–".to_string();
    }
    format!(
        "{} of {}, {:.0} % (95 %: {:.0} to {:.0} %)",
        share.hits,
        share.total,
        100.0 * share.share,
        100.0 * share.low,
        100.0 * share.high
    )
}
