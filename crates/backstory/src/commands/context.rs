//! `context`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use backstory_event::TimeMs;
use backstory_memory::{
    Context, ContextOptions, EventType, LogEvent, Memory, Occasion, Surroundings, log_event,
    random_key,
};
use backstory_redact::Redactor;

use super::damage::{print_answer, report_damage};
use crate::cli::ContextArgs;
use crate::config::{Redact, limits_of};
use crate::error::{Error, ErrorKind};
use crate::output::{harmless, stdout, talk};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &ContextArgs) -> Result<(), Error> {
    let folder = match &arguments.project {
        Some(project) => project.is_dir().then(|| project.clone()),
        None => Some(std::env::current_dir()?),
    };
    // Git looks at the folder while the memory is opened.
    let here = folder.as_deref().map(Surroundings::of);
    let memory = setting.memory()?;
    let redactor = redactor(setting);
    let agent = arguments.agent.as_deref();
    let here = match here {
        Some(here) => here,
        None => named(
            &memory,
            arguments.project.as_deref().unwrap_or(Path::new("")),
        )?,
    };
    let mut options = options(setting, agent, arguments.budget, here, redactor.as_ref());
    options.prompt = arguments.prompt.as_deref();
    options.calls = arguments.calls;
    if let Some(session) = &arguments.before {
        let session = memory.sessions().row(session)?;
        let began = session.started_at.unwrap_or(options.now);
        (options.before, options.now) = (began, began);
        if arguments.project.is_none() {
            options.here = Surroundings::of_session(&session);
        }
        options.session = Some(session.name());
    }
    let started = Instant::now();
    let context = memory.context().build(&options)?;
    let event = budget_event(&context, now()).taking(started.elapsed());
    log_event(&setting.store, &event);
    let damage = memory.upkeep().take_damage();
    if arguments.json {
        print_answer(&context, &damage)?;
        return report_damage(&memory, &damage);
    }
    if context.text.is_empty() {
        talk("nothing is known of this project that would help a new session");
        return report_damage(&memory, &damage);
    }
    let mut out = stdout();
    writeln!(out, "{}", harmless(&context.text))?;
    out.flush()?;
    let layers: Vec<String> = context
        .layers
        .iter()
        .filter(|layer| layer.items > 0)
        .map(|layer| format!("{} {}", layer.layer.name(), layer.tokens))
        .collect();
    talk(&format!(
        "{} of {} tokens: {}",
        context.tokens,
        context.budget,
        layers.join(", ")
    ));
    report_damage(&memory, &damage)
}

/// What an agent in some surroundings would be told, by the configuration unless a budget is given.
pub(crate) fn options<'a>(
    setting: &Setting,
    agent: Option<&str>,
    budget: Option<usize>,
    here: Surroundings,
    redactor: Option<&'a Redactor>,
) -> ContextOptions<'a> {
    let context = &setting.config.context;
    let limits = limits_of(agent);
    let now = now();
    ContextOptions {
        here,
        session: None,
        occasion: Occasion::Start,
        prompt: None,
        calls: false,
        redactor,
        tokens: budget.unwrap_or(context.tokens).min(limits.tokens),
        characters: limits.characters,
        shares: context.shares,
        before: now,
        now,
        nonce: random_key(),
    }
}

/// Returns a redactor, unless secrets are to be kept.
pub(crate) fn redactor(setting: &Setting) -> Option<Redactor> {
    (setting.config.redact == Redact::On).then(|| Redactor::new(random_key()))
}

/// The event of a context that was made: what it took of its budget, never its text.
pub(crate) fn budget_event(context: &Context, at: TimeMs) -> LogEvent {
    let mut event = LogEvent::new(EventType::ContextTokenBudget, at)
        .with("total_tokens", context.tokens)
        .with("budget", context.budget)
        .with("layers_included", context.included_layers());
    event.tokens_out = Some(context.tokens as u64);
    event
}

/// A project that is not on this disk, by its name.
fn named(memory: &Memory, project: &Path) -> Result<Surroundings, Error> {
    let name = project.to_string_lossy();
    memory.context().surroundings_named(&name)?.ok_or_else(|| {
        let message = format!("no session of a project {name:?} is stored");
        Error::new(ErrorKind::NotFound, message)
            .hint("`backstory sessions` tells of which there are some")
    })
}
