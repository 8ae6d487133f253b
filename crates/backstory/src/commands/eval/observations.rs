//! `eval observations`.

use std::io::Write;

use serde_json::{Value, json};

use crate::error::Error;
use crate::output::{counted, grouped, one_line, print_json, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, json: bool) -> Result<(), Error> {
    let score = setting.memory()?.summaries().score_observations()?;
    let ratio = |tokens: u64| score.raw_tokens as f64 / tokens.max(1) as f64;
    let rate = score.observations as f64 / score.took.as_secs_f64().max(1e-9);
    let [titles, summaries, details] = score.tokens;
    if json {
        let unfounded = score.unfounded.iter().map(
            |(session, event, what)| json!({ "session": session, "event": event, "what": what }),
        );
        return print_json(&json!({
            "uses": score.uses,
            "observations": score.observations,
            "raw_tokens": score.raw_tokens,
            "title_tokens": titles,
            "summary_tokens": summaries,
            "detail_tokens": details,
            "ratio": ratio(summaries),
            "named": score.named,
            "unfounded": unfounded.collect::<Vec<Value>>(),
            "uses_per_second": rate,
        }));
    }
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
    writeln!(out, "{} observations a second", grouped(rate as u64))?;
    out.flush()?;
    Ok(())
}
