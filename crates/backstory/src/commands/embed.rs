//! `embed`.

use std::io::Write;

use backstory_memory::Memory;
use backstory_memory::models::EmbeddingState;
use indicatif::ProgressBar;
use serde_json::json;

use crate::cli::EmbedArgs;
use crate::error::Error;
use crate::output::{grouped, print_json, progress_bar, stdout};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &EmbedArgs) -> Result<(), Error> {
    let Some(model) = &setting.config.model else {
        return Err(Error::usage("no model is in use")
            .hint("`backstory model list` shows models, `backstory model pull potion-base-8M` fetches a small one"));
    };
    let memory = setting.memory_to_write()?;
    let state = if arguments.status {
        memory.models().embedding_state(model)?
    } else {
        embed(&memory, model)?
    };
    if arguments.json {
        return print_json(&json!({
            "model": model,
            "events": state.events,
            "embedded": state.embedded,
            "pending": state.pending(),
        }));
    }
    let mut out = stdout();
    writeln!(
        out,
        "{model}: {} of {} events have vectors, {} pending",
        grouped(state.embedded),
        grouped(state.events),
        grouped(state.pending())
    )?;
    out.flush()?;
    Ok(())
}

/// Gives all events vectors, with a progress bar on a terminal.
fn embed(memory: &Memory, model: &str) -> Result<EmbeddingState, Error> {
    let bar = embedding_bar();
    let state = memory
        .models()
        .embed(model, &mut |state| show_embedding(&bar, state))?;
    bar.finish_and_clear();
    Ok(state)
}

/// Returns a progress bar of vectors, which is shown on a terminal only.
pub(super) fn embedding_bar() -> ProgressBar {
    progress_bar("embedding [{bar:30}] {pos}/{len} events, {eta} left")
}

/// Shows how many events have vectors.
pub(super) fn show_embedding(bar: &ProgressBar, state: EmbeddingState) {
    bar.set_length(state.events);
    bar.set_position(state.embedded);
}
