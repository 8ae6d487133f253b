//! What a session is called, by the rules of the readers.

use std::path::Path;

use super::Agent;
use super::fields::name;
use crate::reader::{SourceName, trailing_uuid};
use crate::readers::claude_code::session::FileIds;
use crate::readers::codex::object::Object;

/// The session that is spoken of; `transcript` is where its log lies.
pub(super) fn of(agent: Agent, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
    let log = SourceName {
        path: Path::new(transcript.unwrap_or_default()),
    };
    let file_name = || trailing_uuid(log.stem()).map(|id| id.to_string());
    let id = name(input, &["session_id", "sessionId"]);
    match agent {
        Agent::ClaudeCode => {
            let file = FileIds::of(&log);
            let session = id.or_else(|| file.session.as_deref().map(str::to_string))?;
            let subagent = name(input, &["agent_id"]).or(file.agent);
            Some(match subagent {
                Some(subagent) => format!("{session}/agent-{subagent}"),
                None => session,
            })
        }
        // A subagent is a thread of its own, with a log of its own that is named after it.
        Agent::Codex => {
            let thread = name(input, &["agent_id"]).filter(|id| trailing_uuid(id).is_some());
            thread.or(id).or_else(file_name)
        }
        Agent::Grok => id.or_else(|| Some(trailing_uuid(log.folder(1)?)?.to_string())),
        Agent::Gemini => id.or_else(file_name),
        Agent::Cursor => name(input, &["conversation_id"]).or(id).or_else(file_name),
    }
}
