//! `compress`.

use std::io::Write;
use std::time::Duration;

use backstory_memory::{
    CompressOptions, CompressReport, CompressScope, CompressState, DryCompress, Endpoint, Memory,
    MetCap, Retry, Spending,
};
use serde_json::{Value, json};

use crate::cli::CompressArgs;
use crate::config::With;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, YELLOW, counted, grouped, parse_time, print_json, progress_bar, rfc3339, stdout,
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
    let mut options = options(setting);
    options.limit = arguments.limit;
    options.scope = CompressScope {
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
    let Some(endpoint) = endpoint(setting)? else {
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

/// Where to send, if there is a key.
pub(crate) fn endpoint(setting: &Setting) -> Result<Option<Endpoint>, Error> {
    let Some((key, url)) = setting.api() else {
        return Ok(None);
    };
    let timeout = Duration::from_secs(setting.config.compress.timeout_seconds.clamp(1, 600));
    Ok(Some(Endpoint::new(&url, &key, timeout)?))
}

pub(crate) fn options(setting: &Setting) -> CompressOptions<'static> {
    let compress = &setting.config.compress;
    CompressOptions {
        observations: compress.observations.0.clone(),
        summaries: compress.summaries.0.clone(),
        caps: compress.caps(),
        prices: compress.prices(),
        scope: CompressScope::default(),
        limit: 0,
        within: None,
        waits: true,
        retry: Retry::default(),
        now: &now,
        sleep: &std::thread::sleep,
    }
}

fn tell(setting: &Setting, arguments: &CompressArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let state = memory.summaries().state(now())?;
    let compress = &setting.config.compress;
    let has_key = setting.api().is_some();
    let is_built_in = compress.with == With::BuiltIn;
    let name = if is_built_in { "built-in" } else { "anthropic" };
    if arguments.json {
        let caps = compress.caps();
        return print_json(&json!({
            "compressor": name,
            "key": has_key,
            "observations": compress.observations.0,
            "summaries": compress.summaries.0,
            "raw": state.raw,
            "compressed": state.observed,
            "summarised": state.summarised,
            "pending": pending_json(&state),
            "today": spending_json(&state.spent),
            "cap": { "tokens": caps.tokens, "usd": compress.daily_usd.0 },
            "since": rfc3339(state.since),
        }));
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
        counted(state.summarised, "session"),
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
            usd_of(&state.spent),
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

fn print_dry(dry: &DryCompress, arguments: &CompressArgs) -> Result<(), Error> {
    if arguments.json {
        return print_json(&json!({
            "observations": dry.observations,
            "summaries": dry.summaries,
            "most": spending_json(&dry.most),
            "fitting_today": dry.fitting,
        }));
    }
    let mut out = stdout();
    writeln!(
        out,
        "would offer {} and {}; they take at most {} tokens, ${:.4}, and {} of them fit into today's caps for sure",
        counted(dry.observations, "item"),
        counted(dry.summaries, "session"),
        grouped(dry.most.tokens()),
        usd_of(&dry.most),
        grouped(dry.fitting),
    )?;
    writeln!(out, "nothing was sent")?;
    out.flush()?;
    Ok(())
}

fn print_run(
    memory: &Memory,
    report: &CompressReport,
    arguments: &CompressArgs,
) -> Result<(), Error> {
    let left = memory.summaries().state(now())?;
    if arguments.json {
        return print_json(&json!({
            "observed": report.observed,
            "summarised": report.summarised,
            "untelling": report.untelling,
            "skipped": report.skipped,
            "late": report.late,
            "capped": report.capped.map(MetCap::name),
            "problem": report.problem,
            "requests": report.requests,
            "took": spending_json(&report.took),
            "pending": pending_json(&left),
        }));
    }
    let mut out = stdout();
    writeln!(
        out,
        "{} and {} written of, in {}: {} tokens, ${:.4}",
        counted(report.observed, "item"),
        counted(report.summarised, "session"),
        counted(report.requests, "request"),
        grouped(report.took.tokens()),
        usd_of(&report.took),
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

fn pending_json(state: &CompressState) -> Value {
    json!({ "observations": state.pending_observations, "summaries": state.pending_summaries })
}

fn spending_json(spent: &Spending) -> Value {
    json!({
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "tokens": spent.tokens(),
        "usd": usd_of(spent),
    })
}

fn usd_of(spent: &Spending) -> f64 {
    spent.micro_usd as f64 / 1e6
}
