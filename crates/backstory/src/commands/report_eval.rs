//! `report --eval`.

use std::io::Write;

use backstory_memory::summarize::TierScores;

use crate::cli::ReportArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, counted, grouped, one_line, print_json, print_table, stdout, table,
};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ReportArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let evaluation = memory.summaries().evaluate()?;
    if evaluation.tiers.is_empty() {
        return Err(
            Error::new(ErrorKind::NotFound, "no model has written anything yet")
                .hint("`backstory compress --help` tells how to let one"),
        );
    }
    if arguments.json {
        return print_json(&evaluation.record());
    }
    let mut out = stdout();
    for tier in &evaluation.tiers {
        print_tier(&mut out, tier)?;
    }
    out.flush()?;
    Ok(())
}

fn print_tier(out: &mut impl Write, tier: &TierScores) -> Result<(), Error> {
    writeln!(out, "{BOLD}{}{BOLD:#}", tier.tier.name())?;
    let mut rows = table(&[
        "model",
        "items",
        "faithful",
        "shorter",
        "covers",
        "p50",
        "p95",
        "tokens in",
        "out",
        "$ / 1000",
    ]);
    let share = |share: Option<f64>| {
        share.map_or("-".to_string(), |share| format!("{:.1} %", 100.0 * share))
    };
    let time =
        |ms: Option<u64>| ms.map_or("-".to_string(), |ms| format!("{:.1} s", ms as f64 / 1000.0));
    for model in &tier.models {
        let scores = &model.scores;
        rows.add_row([
            one_line(&model.model),
            grouped(model.items),
            share(scores.faithfulness),
            scores
                .compression
                .map_or("-".to_string(), |times| format!("{times:.1} ×")),
            share(scores.coverage),
            time(model.latency_p50),
            time(model.latency_p95),
            grouped(model.took.input_tokens),
            grouped(model.took.output_tokens),
            model
                .usd_per_1000()
                .map_or("-".to_string(), |usd| format!("{usd:.2}")),
        ]);
    }
    print_table(out, &rows)?;
    for model in tier
        .models
        .iter()
        .filter(|model| !model.failures.is_empty())
    {
        let failures = model.failures.iter();
        let failures: Vec<String> = failures
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        writeln!(
            out,
            "{DIM}{}, requests in vain: {}{DIM:#}",
            one_line(&model.model),
            failures.join(", ")
        )?;
    }
    for better in &tier.better {
        let items = counted(better.items, "item");
        match &better.model {
            Some(model) => writeln!(
                out,
                "{}: {BOLD}{}{BOLD:#} is better  {DIM}{items} or more each{DIM:#}",
                better.dimension,
                one_line(model)
            )?,
            None => writeln!(
                out,
                "{}: no difference that counts  {DIM}{items} or more each{DIM:#}",
                better.dimension
            )?,
        }
    }
    writeln!(out)?;
    Ok(())
}
