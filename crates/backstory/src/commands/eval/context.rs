//! `eval context`.

use std::io::Write;

use backstory_memory::ContextTrial;
use serde_json::{Value, json};

use crate::config::limits_of;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{counted, one_line, print_json, print_table, stdout, table};
use crate::setting::Setting;

pub(super) fn run(
    setting: &Setting,
    project: Option<&str>,
    sessions: usize,
    each: bool,
    json: bool,
) -> Result<(), Error> {
    let memory = setting.memory()?;
    let context = &setting.config.context;
    let trials = memory.context().evaluate(
        project,
        sessions,
        context.tokens,
        limits_of(None).characters,
        context.shares,
    )?;
    let told = trials.iter().filter(|trial| !trial.told.is_empty()).count();
    let share = 100.0 * told as f64 / trials.len().max(1) as f64;
    if json {
        let mut value = json!({ "sessions": trials.len(), "told": told, "share": share });
        if each {
            value["each"] = trials.iter().map(trial_json).collect();
        }
        return print_json(&value);
    }
    let mut out = stdout();
    if each {
        let mut rows = table(&["session", "tokens", "touched", "told of"]);
        for trial in &trials {
            rows.add_row([
                short_id(&memory, &trial.agent, &trial.session),
                trial.tokens.to_string(),
                trial.touched.to_string(),
                one_line(&trial.told.join(", ")),
            ]);
        }
        print_table(&mut out, &rows)?;
    }
    writeln!(
        out,
        "{told} of {} would have been told of a file that they touched: {share:.0} %",
        counted(trials.len() as u64, "session")
    )?;
    out.flush()?;
    Ok(())
}

fn trial_json(trial: &ContextTrial) -> Value {
    json!({
        "session": trial.session,
        "tokens": trial.tokens,
        "touched": trial.touched,
        "told": trial.told,
    })
}
