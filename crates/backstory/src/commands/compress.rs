//! `compress`.

use std::io::Write;
use std::time::Duration;

use backstory_memory::Memory;
use backstory_memory::summarize::{
    SummarizePlan, SummarizeReport, SummarizeScope, SummarizeStateRecord,
};
use serde::Serialize;

use crate::cli::CompressArgs;
use crate::config::With;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, YELLOW, counted, grouped, parse_time, print_json, progress_bar, stdout,
};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &CompressArgs) -> Result<(), Error> {
    if !arguments.pending && !arguments.dry_run {
        return tell(setting, arguments);
    }
    if setting.config.compress.with == With::BuiltIn {
        return Err(Error::usage("no model may write: compress.with is \"built-in\"")
            .hint("`backstory config set compress.with anthropic` lets models of Anthropic, for money"));
    }
    let memory = if arguments.dry_run {
        setting.memory()?
    } else {
        setting.memory_to_write()?
    };
    let mut options = setting.compress_options();
    options.limit = arguments.limit;
    options.scope = SummarizeScope {
        session: match &arguments.session {
            Some(session) => Some(memory.sessions().row(session)?),
            None => None,
        },
        since: match &arguments.since {
            Some(since) => Some(parse_time(since, now())?),
            None => None,
        },
    };
    if arguments.dry_run {
        return print_dry(&memory.summaries().dry_run(&options)?, arguments);
    }
    let Some(endpoint) = setting.endpoint()? else {
        return Err(Error::usage("there is no API key")
            .hint("set ANTHROPIC_API_KEY, or `backstory config set compress.api_key KEY`"));
    };
    let bar = progress_bar("asking [{bar:30}] {pos}/{len}, {eta} left {msg}");
    let report = memory
        .summaries()
        .run(&endpoint, &options, &mut |progress| {
            if progress.waiting {
                bar.set_message("waiting for another process");
                bar.enable_steady_tick(Duration::from_millis(200));
                return;
            }
            bar.set_message("");
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        });
    bar.finish_and_clear();
    let report = report?;
    print_run(&memory, &report, arguments)?;
    match report.problem {
        None => Ok(()),
        Some(problem) => Err(Error::new(
            ErrorKind::NotFound,
            format!("the API could not be asked: {problem}"),
        )
        .hint("what was not written of stays pending; run the same command again later")),
    }
}

/// The state of summaries with what is configured about them.
#[derive(Serialize)]
struct ConfiguredState<'a> {
    compressor: &'static str,
    /// True if there is an API key.
    key: bool,
    observations: &'a [String],
    summaries: &'a [String],
    cap: DailyCap,
    #[serde(flatten)]
    state: SummarizeStateRecord,
}

#[derive(Serialize)]
struct DailyCap {
    tokens: u64,
    usd: Option<f64>,
}

fn tell(setting: &Setting, arguments: &CompressArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let state = memory.summaries().state(now())?;
    let compress = &setting.config.compress;
    let has_key = setting.api().is_some();
    let is_built_in = compress.with == With::BuiltIn;
    let name = if is_built_in { "built-in" } else { "anthropic" };
    if arguments.json {
        let cap = DailyCap {
            tokens: compress.caps().tokens,
            usd: compress.daily_usd.0,
        };
        return print_json(&ConfiguredState {
            compressor: name,
            key: has_key,
            observations: &compress.observations.0,
            summaries: &compress.summaries.0,
            cap,
            state: state.record(),
        });
    }
    let mut out = stdout();
    match (is_built_in, has_key) {
        (true, _) => writeln!(
            out,
            "{BOLD}built-in{BOLD:#}: observations are made without any model, and nothing is sent"
        )?,
        (false, false) => writeln!(
            out,
            "{BOLD}anthropic{BOLD:#}: {YELLOW}there is no API key{YELLOW:#}, so nothing is sent"
        )?,
        (false, true) => {
            let names = |models: &[String]| {
                if models.is_empty() {
                    "nobody".to_string()
                } else {
                    models.join(" and ")
                }
            };
            writeln!(
                out,
                "{BOLD}anthropic{BOLD:#}: prompts and tool uses go to {}, sessions to {}",
                names(&compress.observations.0),
                names(&compress.summaries.0)
            )?;
        }
    }
    writeln!(
        out,
        "  {} raw, {} compressed; {} summarised",
        counted(state.raw, "item"),
        grouped(state.observed),
        counted(state.summarized, "session"),
    )?;
    if !is_built_in {
        writeln!(
            out,
            "  pending: {}, {}",
            counted(state.pending_observations, "item"),
            counted(state.pending_summaries, "session"),
        )?;
        let usd = compress
            .daily_usd
            .0
            .map_or(String::new(), |usd| format!(" of {usd:.2}"));
        writeln!(
            out,
            "  today: {} of {} tokens, ${:.4}{usd}",
            grouped(state.spent.tokens()),
            grouped(compress.daily_tokens),
            state.spent.usd(),
        )?;
        if state.since.is_none() {
            writeln!(
                out,
                "  {DIM}`backstory compress --pending` begins; older sessions with --since 7d{DIM:#}"
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

fn print_dry(dry: &SummarizePlan, arguments: &CompressArgs) -> Result<(), Error> {
    if arguments.json {
        return print_json(dry);
    }
    let mut out = stdout();
    writeln!(
        out,
        "would offer {} and {}; they take at most {} tokens, ${:.4}, and {} of them fit into today's caps for sure",
        counted(dry.observations, "item"),
        counted(dry.summaries, "session"),
        grouped(dry.most.tokens()),
        dry.most.usd(),
        grouped(dry.fitting),
    )?;
    writeln!(out, "nothing was sent")?;
    out.flush()?;
    Ok(())
}

fn print_run(
    memory: &Memory,
    report: &SummarizeReport,
    arguments: &CompressArgs,
) -> Result<(), Error> {
    let left = memory.summaries().state(now())?;
    if arguments.json {
        return print_json(&report.record(&left));
    }
    let mut out = stdout();
    writeln!(
        out,
        "{} and {} written of, in {}: {} tokens, ${:.4}",
        counted(report.observed, "item"),
        counted(report.summarized, "session"),
        counted(report.requests, "request"),
        grouped(report.took.tokens()),
        report.took.usd(),
    )?;
    for (reason, items) in &report.skipped {
        writeln!(
            out,
            "  {YELLOW}{items} left as they are for good:{YELLOW:#} {reason}"
        )?;
    }
    for (reason, items) in &report.late {
        writeln!(out, "  {YELLOW}{items} left for later:{YELLOW:#} {reason}")?;
    }
    if let Some(cap) = report.capped {
        writeln!(
            out,
            "  met the daily cap, compress.{}; the rest stays as it is until tomorrow (UTC)",
            cap.name()
        )?;
    }
    let pending = left.pending_observations + left.pending_summaries;
    if pending > 0 {
        writeln!(out, "  {DIM}{} pending{DIM:#}", counted(pending, "item"))?;
    }
    out.flush()?;
    Ok(())
}
