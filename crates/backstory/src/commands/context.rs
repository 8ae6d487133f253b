//! `context`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use backstory_memory::context::{Context, Surroundings};
use backstory_memory::{EventLog, Memory};

use super::damage::report_damage;
use crate::cli::ContextArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{counted, harmless, print_json, stdout, talk};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &ContextArgs) -> Result<(), Error> {
    let folder = match &arguments.project {
        Some(project) => project.is_dir().then(|| project.clone()),
        None => Some(std::env::current_dir()?),
    };
    // Git looks at the folder while the memory is opened.
    let here = folder.as_deref().map(Surroundings::of);
    let memory = setting.memory()?;
    let redactor = setting.redactor();
    let agent = arguments.agent.as_deref();
    let here = match here {
        Some(here) => here,
        None => named(
            &memory,
            arguments.project.as_deref().unwrap_or(Path::new("")),
        )?,
    };
    let mut options = setting.context_options(agent, arguments.budget, here, redactor.as_ref());
    options.prompt = arguments.prompt.as_deref();
    options.calls = arguments.calls;
    if let Some(session) = &arguments.before {
        let session = memory.sessions().row(session)?;
        let began = session.started_at.unwrap_or(options.now);
        (options.before, options.now) = (began, began);
        options.here = match arguments.project {
            None => Surroundings::of_session(&session),
            Some(_) => options.here.with_branch(session.branch.as_deref()),
        };
        options.session = Some(session.name());
    }
    let started = Instant::now();
    let context = memory.context().build(&options)?;
    let event = context.budget_event(now()).taking(started.elapsed());
    EventLog::of_store(&setting.store).append(&[event]);
    let context = memory.upkeep().with_damage(context, None)?;
    if arguments.json {
        print_json(&context)?;
        return report_damage(&context);
    }
    let mut out = stdout();
    if arguments.explain {
        explain(&mut out, &context)?;
    }
    if context.text.is_empty() {
        out.flush()?;
        talk("nothing that is known of this project is relevant enough for a new session here");
        return report_damage(&context);
    }
    if !arguments.explain {
        writeln!(out, "{}", harmless(&context.text))?;
    }
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
    report_damage(&context)
}

/// Prints each item with the reason why it is there, and what was left out.
fn explain(out: &mut impl Write, context: &Context) -> Result<(), Error> {
    for item in &context.items {
        writeln!(out, "{}", harmless(&item.text))?;
        let reason = item.reason.text();
        let layer = item.layer.name();
        writeln!(
            out,
            "    {layer}: {reason}, relevance {:.2}",
            item.relevance
        )?;
    }
    if !context.items.is_empty() {
        writeln!(out)?;
    }
    for left_out in &context.left_out {
        let (layer, reason) = (left_out.layer.name(), left_out.reason.text());
        match left_out.items as u64 {
            0 => writeln!(out, "{layer}: {reason}")?,
            items => writeln!(
                out,
                "{layer}: {} left out: {reason}",
                counted(items, "item")
            )?,
        }
    }
    Ok(())
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
