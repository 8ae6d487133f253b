//! What an agent is told when it calls: the few facts that will help the session.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use backstory_event::SessionName;
use backstory_memory::context::{Context, Occasion, Surroundings};
use backstory_memory::hook::{ContextMoment, Happening, HookInput};
use backstory_memory::{Agent, LogEvent, escape_json};
use serde_json::Value;

use super::log::context_events;
use crate::setting::{Setting, now};

/// Says what the agent should know now, and returns what is to be logged of that.
pub(super) fn tell(setting: &Setting, input: &HookInput) -> Vec<LogEvent> {
    let Some((folder, occasion)) = folder_of(input).zip(occasion(setting, input)) else {
        return Vec::new();
    };
    let started = Instant::now();
    let context = context(setting, input, folder, occasion);
    let given = context.as_ref().ok().and_then(|context| {
        let text = Some(&context.text).filter(|text| !text.is_empty())?;
        let answer = answer(input.agent, occasion, text)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", escape_json(&answer.to_string())).ok()?;
        out.flush().ok()
    });
    context_events(
        &context,
        occasion,
        given.is_some(),
        now(),
        started.elapsed(),
    )
}

fn folder_of(input: &HookInput) -> Option<&Path> {
    input.cwd.as_deref().map(Path::new)
}

/// Why it is told something; `None` when it is not.
fn occasion(setting: &Setting, input: &HookInput) -> Option<Occasion> {
    let config = &setting.config.context;
    if !config.enabled {
        return None;
    }
    match &input.happening {
        Happening::Started { source } => Some(match source.as_deref() {
            Some("compact") => Occasion::Compaction,
            Some("resume") => Occasion::Resume,
            _ => Occasion::Start,
        }),
        Happening::Prompted { .. } if config.on_prompt => Some(Occasion::Prompt),
        _ => None,
    }
}

/// What there is to tell, or why it cannot be found out.
fn context(
    setting: &Setting,
    input: &HookInput,
    folder: &Path,
    occasion: Occasion,
) -> Result<Context, String> {
    // Git looks at the folder while the memory is opened.
    let here = Surroundings::of(folder);
    let memory = setting
        .memory()
        .map_err(|error| error.message().to_string())?;
    let redactor = setting.redactor();
    let agent = input.agent.name;
    let mut options = setting.context_options(Some(agent), None, here, redactor.as_ref());
    options.occasion = occasion;
    let session = input.session.as_deref();
    options.session = session.map(|session| SessionName::new(agent, session));
    if let Happening::Prompted { text, .. } = &input.happening {
        options.prompt = Some(text);
    }
    let context = memory
        .context()
        .build(&options)
        .map_err(|error| error.to_string());
    // Closing it takes time, and the process ends anyway.
    std::mem::forget(memory);
    context
}

/// The answer as the agent wants it; `None` for those that do not listen.
fn answer(agent: &Agent, occasion: Occasion, text: &str) -> Option<Value> {
    let moment = match occasion {
        Occasion::Prompt => ContextMoment::Prompt,
        _ => ContextMoment::Start,
    };
    agent.hooks?.context_answer(moment, text)
}
