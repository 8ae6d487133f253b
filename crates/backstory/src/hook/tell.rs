//! What an agent is told when it calls: the few facts that will help the session.

use std::io::Write;
use std::path::Path;

use backstory_memory::hook::{ContextMoment, Happening, HookInput};
use backstory_memory::{Agent, Context, Occasion, Surroundings, escape_json};
use serde_json::Value;

use crate::commands::context::{options, redactor};
use crate::setting::Setting;

/// Says what the agent should know now, and how many tokens that has.
pub(super) fn tell(setting: &Setting, input: &HookInput) -> Option<u64> {
    let occasion = occasion(setting, input)?;
    let context = context(setting, input, occasion)?;
    let answer = answer(input.agent, occasion, &context.text)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", escape_json(&answer.to_string())).ok()?;
    out.flush().ok()?;
    Some(context.tokens as u64)
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

/// What there is to tell; `None` when there is nothing, or it cannot be found out.
fn context(setting: &Setting, input: &HookInput, occasion: Occasion) -> Option<Context> {
    let folder = input.cwd.as_deref().map(Path::new)?;
    // Git looks at the folder while the memory is opened.
    let here = Surroundings::of(folder);
    let mut memory = setting.memory().ok()?;
    let redactor = redactor(setting);
    let agent = input.agent.name;
    let mut options = options(setting, Some(agent), None, here, redactor.as_ref());
    options.occasion = occasion;
    let session = input.session.as_ref();
    options.session = session.map(|session| (agent.to_string(), session.clone()));
    if let Happening::Prompted { text, .. } = &input.happening {
        options.prompt = Some(text);
    }
    let context = memory.context(&options).ok()?;
    // Closing it takes time, and the process ends anyway.
    std::mem::forget(memory);
    (!context.text.is_empty()).then_some(context)
}

/// The answer as the agent wants it; `None` for those that do not listen.
fn answer(agent: &Agent, occasion: Occasion, text: &str) -> Option<Value> {
    let moment = match occasion {
        Occasion::Prompt => ContextMoment::Prompt,
        _ => ContextMoment::Start,
    };
    agent.hooks?.context_answer(moment, text)
}
