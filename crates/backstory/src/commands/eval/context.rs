//! `eval context`.

use std::io::Write;

use backstory_memory::context::{ContextScore, FIRST_ITEMS};

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
    let mut score = ContextScore::new(&trials);
    if json {
        score.each = each.then_some(&trials[..]);
        return print_json(&score);
    }
    let mut out = stdout();
    if each {
        let mut rows = table(&["session", "items", "tokens", "touched", "told of"]);
        for trial in &trials {
            rows.add_row([
                short_id(&memory, &trial.agent, &trial.session),
                trial.items.to_string(),
                trial.tokens.to_string(),
                trial.touched.to_string(),
                one_line(&trial.told.join(", ")),
            ]);
        }
        print_table(&mut out, &rows)?;
    }
    writeln!(
        out,
        "{} of {} would have been told of a file that they touched: {:.0} %",
        score.told,
        counted(trials.len() as u64, "session"),
        score.share
    )?;
    writeln!(
        out,
        "{:.0} % of the files that they touched, {:.0} % by the first {FIRST_ITEMS} items; {} in the median",
        score.recall,
        score.recall_first,
        counted(score.items as u64, "item")
    )?;
    out.flush()?;
    Ok(())
}
