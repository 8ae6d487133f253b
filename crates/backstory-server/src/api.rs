//! Routes of the worker. Each thread has a memory of its own that stays open, so that index and model stay warm.

use std::path::PathBuf;
use std::time::Instant;

use backstory_memory::{EventLog, Memory, escape_json};
use serde::Serialize;
use serde_json::{Value, json};

use super::http::{Request, response};
use super::place::{Identity, identity};
use super::question::read_search;
use super::shared::Shared;
use crate::host::{ContextRequest, Host, Refusal};

/// Size of the largest answer; clients that want more read the store themselves.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// State of a thread that answers requests.
pub(super) struct Answers<'a> {
    shared: &'a Shared,
    memory: OpenMemory,
}

impl<'a> Answers<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Answers {
            shared,
            memory: OpenMemory::default(),
        }
    }

    /// Returns the whole response to a request.
    pub(super) fn answer(&mut self, request: &Request) -> Vec<u8> {
        let answer = match request.path.as_str() {
            "/api/search" => self.search(request),
            "/api/context" => self.context(request),
            "/api/summarize" => self.summarize(request),
            _ => Err(Refusal::new(404, "there is no such path")),
        };
        match answer.map(|answer| json_response(200, &answer)) {
            Ok(answer) if answer.len() > MAX_ANSWER_BYTES => failure(413, "the answer is too long"),
            Ok(answer) => answer,
            Err(refusal) => failure(refusal.status, &refusal.reason),
        }
    }

    fn search(&mut self, request: &Request) -> Result<Value, Refusal> {
        let host = &*self.shared.host;
        let memory = self.memory.reader(host)?;
        let search = read_search(request, host)?;
        let started = Instant::now();
        let answer = memory
            .search()
            .answer(&search, host.now(), &host.zone(), &mut |_, _| {});
        let answer = answer.map_err(|error| host.refuse(error))?;
        if search.for_search {
            // It searches and rebuilds them itself.
            if answer.index_is_lost || answer.vectors_are_lost {
                return Err(Refusal::new(409, "the index or the vectors are lost"));
            }
            return in_order(answer.taking(started.elapsed()));
        }
        let event = answer.query_event(false, host.now()).with("by", "worker");
        EventLog::of_store(host.store()).append(&[event.taking(started.elapsed())]);
        in_order(answer.without_terminal_parts().taking(started.elapsed()))
    }

    /// The context of a new session in a folder.
    fn context(&mut self, request: &Request) -> Result<Value, Refusal> {
        let Some(folder) = parameter(request, "cwd") else {
            return Err(Refusal::new(400, "cwd must say for which folder"));
        };
        let text = |name| parameter(request, name).map(str::to_string);
        let budget = parameter(request, "budget").map(str::parse).transpose();
        let asked = ContextRequest {
            cwd: PathBuf::from(folder),
            agent: text("agent"),
            budget: budget.map_err(|_| Refusal::new(400, "the budget is no number"))?,
            prompt: text("prompt"),
        };
        let host = &*self.shared.host;
        let memory = self.memory.reader(host)?;
        let started = Instant::now();
        let context = host.build_context(memory, &asked)?;
        let event = context.budget_event(host.now()).taking(started.elapsed());
        EventLog::of_store(host.store()).append(&[event]);
        let context = memory.upkeep().with_damage(context, None);
        in_order(context.map_err(|error| host.refuse(error))?)
    }

    /// Imports what is new and summarizes a session.
    fn summarize(&mut self, request: &Request) -> Result<Value, Refusal> {
        let body: Option<Value> = serde_json::from_slice(&request.body).ok();
        let session = body.as_ref().and_then(|body| body["session"].as_str());
        let Some(session) = session else {
            return Err(Refusal::new(400, r#"the body must be {"session": "…"}"#));
        };
        if !self.shared.presence.has_store() {
            return Err(Refusal::new(503, "the store is gone"));
        }
        let host = &*self.shared.host;
        host.import_everything()?;
        let memory = host.open_memory()?;
        let session = memory.sessions().find(session);
        let digest = session.and_then(|session| session.digest_record(host.now()));
        in_order(digest.map_err(|error| host.refuse(error))?)
    }
}

/// Returns an answer with its keys in order.
fn in_order(answer: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| Refusal::new(500, &error.to_string()))
}

fn parameter<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let mut parameters = request.parameters.iter();
    let found = parameters.find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

/// A response with a JSON document whose hidden characters are escaped: agents read it.
pub(super) fn json_response(status: u16, document: &Value) -> Vec<u8> {
    response(status, escape_json(&document.to_string()).as_bytes())
}

/// An answer that says why there is none.
pub(super) fn failure(status: u16, reason: &str) -> Vec<u8> {
    json_response(status, &json!({"error": reason}))
}

/// A memory that stays open, for as long as its database is the same file.
#[derive(Default)]
pub struct OpenMemory {
    memory: Option<(Identity, Memory)>,
}

impl OpenMemory {
    /// Returns the memory, to read it.
    pub fn reader(&mut self, host: &dyn Host) -> Result<&Memory, Refusal> {
        let database = host.store().join("backstory.db");
        let found = identity(&database);
        let known = self
            .memory
            .take()
            .filter(|(known, _)| Some(*known) == found);
        let memory = match known {
            Some((_, memory)) => memory,
            None => host.open_memory()?,
        };
        let found = identity(&database).unwrap_or_default();
        Ok(&self.memory.insert((found, memory)).1)
    }
}
