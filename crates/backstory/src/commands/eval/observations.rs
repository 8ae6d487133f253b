//! `eval observations`.

use std::io::Write;

use crate::error::Error;
use crate::output::{counted, grouped, one_line, print_json, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, json: bool) -> Result<(), Error> {
    let score = setting.memory()?.summaries().score_observations()?;
    if json {
        return print_json(&score);
    }
    let ratio = |tokens: u64| score.ratio(tokens);
    let [titles, summaries, details] = score.tokens;
    let mut out = stdout();
    writeln!(
        out,
        "{} of {} (prompts and tool uses) told something",
        grouped(score.observations),
        counted(score.uses, "item")
    )?;
    writeln!(
        out,
        "summaries are {:.1} times shorter than what they were made of, titles {:.0}, details {:.1}",
        ratio(summaries),
        ratio(titles),
        ratio(details)
    )?;
    writeln!(
        out,
        "{} numbers, paths and names; {} that the source does not have",
        grouped(score.named),
        score.unfounded.len()
    )?;
    for (session, event, what) in &score.unfounded {
        writeln!(out, "  {session} event {event}: {}", one_line(what))?;
    }
    writeln!(
        out,
        "{} observations a second",
        grouped(score.per_second() as u64)
    )?;
    out.flush()?;
    Ok(())
}
