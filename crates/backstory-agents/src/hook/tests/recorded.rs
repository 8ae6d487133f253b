//! What is understood of every recorded input, in a line or two each.

use super::*;
use backstory_event::Action;

/// What is understood, short: of what, where, and what happened.
fn shown(input: &HookInput) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_string());
    let log = input.transcript.as_deref().unwrap_or("-");
    let mut line = format!(
        "{} in {}, session {}, log {}",
        input.event,
        or_none(&input.cwd),
        or_none(&input.session),
        log.rsplit('/').next().unwrap(),
    );
    if let Some(at) = input.at {
        line.push_str(&format!(", at {at}"));
    }
    match &input.happening {
        Happening::ToolUsed(tool) => line.push_str(&shown_tool(tool)),
        Happening::Other => {}
        other => line.push_str(&format!("\n  {other:?}")),
    }
    line
}

fn shown_tool(tool: &ToolUse) -> String {
    let mut line = format!("\n  {} {}", tool.name, tool.id.as_deref().unwrap_or("-"));
    for touch in &tool.touches {
        let action = match touch.action {
            Action::Read => "reads",
            Action::Write => "writes",
            Action::Delete => "deletes",
        };
        line.push_str(&format!(", {action} {}", touch.path));
    }
    if let Some(command) = &tool.command {
        line.push_str(&format!(", runs {command:?}"));
    }
    if let Some(before) = &tool.before {
        line.push_str(&format!(", {} bytes before", before.len()));
    }
    if tool.denied {
        line.push_str(", denied");
    } else if tool.error {
        line.push_str(", failed");
    }
    if let Some(duration) = tool.duration_ms {
        line.push_str(&format!(", {duration} ms"));
    }
    line.push_str(&format!("\n  asked {}", tool.input));
    if let Some(output) = &tool.output {
        line.push_str(&format!("\n  answered {output:?}"));
    }
    line
}

/// What is understood lies beside what was recorded.
#[test]
fn every_event_of_every_agent_is_understood() {
    let recorded = recorded();
    for agent in hook_agents() {
        let of_agent = recorded.iter().filter(|one| one.agent == agent.name);
        let understood: Vec<String> = of_agent
            .map(|one| format!("{}: {}", one.name, shown(&one.read())))
            .collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/hooks")
            .join(agent.name);
        insta::with_settings!({ snapshot_path => folder, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("understood", understood.join("\n"));
        });
    }
}

#[test]
fn who_speaks_and_of_what_shows_in_the_input() {
    for recorded in recorded() {
        // Nothing in these tells Claude Code and Codex apart.
        let alike = recorded.name == "codex/SessionStart-ephemeral";
        if !alike {
            let read = read(None, None, &recorded.bytes).unwrap();
            assert_eq!(read, recorded.read(), "{}", recorded.name);
        }
    }
}
