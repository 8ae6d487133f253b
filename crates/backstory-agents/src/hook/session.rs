//! What a session is called, by the rules of the readers.

use std::path::Path;

use super::Agent;
use super::fields::name;
use crate::claude_code::session::FileIds;
use crate::object::Object;
use crate::reader::{SourceName, trailing_uuid};

/// The session that is spoken of; `transcript` is where its log lies. Where the reader trusts the name of a log more than what
/// is in it, so does this.
pub(super) fn of(agent: Agent, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
    let log = SourceName {
        path: Path::new(transcript.unwrap_or_default()),
    };
    let file_name = || trailing_uuid(log.stem()).map(|id| id.to_string());
    let id = || name(input, &["session_id", "sessionId"]);
    match agent {
        Agent::ClaudeCode => {
            let file = FileIds::of(&log);
            let session = file.session.as_deref().map(str::to_string).or_else(id)?;
            let subagent = name(input, &["agent_id"]).or(file.agent);
            Some(match subagent {
                Some(subagent) => format!("{session}/agent-{subagent}"),
                None => session,
            })
        }
        // A subagent is a thread of its own, with a log that is named after it; the session id is that of the first thread.
        Agent::Codex => {
            let thread = name(input, &["agent_id"]).filter(|id| trailing_uuid(id).is_some());
            thread.or_else(file_name).or_else(id)
        }
        // A subagent is a session like any other.
        Agent::Grok => log
            .folder(1)
            .and_then(trailing_uuid)
            .map(|id| id.to_string())
            .or_else(id),
        // The name of the log has only the beginning of the id.
        Agent::Gemini => id(),
        Agent::Cursor => name(input, &["conversation_id"])
            .or_else(id)
            .or_else(file_name),
    }
}
