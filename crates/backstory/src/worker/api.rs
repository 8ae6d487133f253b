//! What the worker answers. Each thread has a memory of its own that stays open, so that index and model stay warm.

use std::path::Path;
use std::time::Instant;

use backstory_memory::{
    AnswerRows, DigestRecord, Memory, Surroundings, WithDamage, escape_json, log_event,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::http::{Request, response};
use super::place::{Identity, identity};
use super::question::SearchQuestion;
use super::round::{Round, Scope};
use super::shared::Shared;
use crate::error::{Error, ErrorKind};
use crate::setting::{Setting, now};

/// No answer is longer: who wants more asks the store itself.
const LONGEST_ANSWER: usize = 1 << 20;

/// Why there is no answer.
struct Refusal {
    status: u16,
    reason: String,
}

impl Refusal {
    fn new(status: u16, reason: &str) -> Self {
        Refusal {
            status,
            reason: reason.to_string(),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::NotFound | ErrorKind::Silent => 404,
            ErrorKind::Usage => 400,
            ErrorKind::Internal | ErrorKind::Environment | ErrorKind::BrokenPipe => 500,
        };
        Refusal::new(status, error.message())
    }
}

/// What a thread needs to answer.
pub(super) struct Answers<'a> {
    shared: &'a Shared,
    memory: Opened,
}

impl<'a> Answers<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Answers {
            shared,
            memory: Opened::default(),
        }
    }

    /// The whole answer to a request.
    pub(super) fn answer(&mut self, request: &Request) -> Vec<u8> {
        let answer = match request.path.as_str() {
            "/api/search" => self.search(request),
            "/api/context" => self.context(request),
            "/api/summarize" => self.summarize(request),
            _ => Err(Refusal::new(404, "there is no such path")),
        };
        match answer.map(|answer| json_response(200, &answer)) {
            Ok(answer) if answer.len() > LONGEST_ANSWER => failure(413, "the answer is too long"),
            Ok(answer) => answer,
            Err(refusal) => failure(refusal.status, &refusal.reason),
        }
    }

    fn search(&mut self, request: &Request) -> Result<Value, Refusal> {
        let memory = self.memory.reader(&self.shared.setting)?;
        let question = SearchQuestion::parse(&request.parameters)?;
        match question.answer(memory, &self.shared.setting)? {
            Some(answer) => in_order(answer),
            None => Err(Refusal::new(409, "the index or the vectors are lost")),
        }
    }

    /// What a new session in a folder would be told.
    fn context(&mut self, request: &Request) -> Result<Value, Refusal> {
        let Some(folder) = parameter(request, "cwd") else {
            return Err(Refusal::new(400, "cwd must say for which folder"));
        };
        let setting = self.shared.setting.renewed()?;
        let redactor = setting.redactor();
        let here = Surroundings::of(Path::new(folder));
        let agent = parameter(request, "agent");
        let budget = parameter(request, "budget").map(str::parse).transpose();
        let budget = budget.map_err(|_| Refusal::new(400, "the budget is no number"))?;
        let mut options = setting.context_options(agent, budget, here, redactor.as_ref());
        options.prompt = parameter(request, "prompt");
        let memory = self.memory.reader(&setting)?;
        let started = Instant::now();
        let context = memory.context().build(&options).map_err(Error::from)?;
        let event = context.budget_event(now()).taking(started.elapsed());
        log_event(&setting.store, &event);
        let damage = memory.upkeep().take_damage();
        memory.upkeep().note_damage(&damage);
        in_order(WithDamage::new(context, &damage))
    }

    fn summarize(&mut self, request: &Request) -> Result<Value, Refusal> {
        let body: Option<Value> = serde_json::from_slice(&request.body).ok();
        let session = body.as_ref().and_then(|body| body["session"].as_str());
        let Some(session) = session else {
            return Err(Refusal::new(400, r#"the body must be {"session": "…"}"#));
        };
        if !self.shared.lock.is_there() {
            return Err(Refusal::new(503, "the store is gone"));
        }
        in_order(summarize(&self.shared.setting, session)?)
    }
}

/// Takes in what is new and tells what a session was about.
fn summarize(setting: &Setting, session: &str) -> Result<WithDamage<DigestRecord>, Error> {
    Round::start(setting, Scope::Everything)?.finish();
    let memory = setting.memory()?;
    let digest = memory.sessions().find(session)?.digest()?;
    let rows = AnswerRows::SessionWithNotes(digest.session.id);
    let damage = memory.upkeep().find_damage(&rows)?;
    memory.upkeep().note_damage(&damage);
    Ok(WithDamage::new(digest.record(&memory, now())?, &damage))
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
pub(super) struct Opened {
    memory: Option<(Identity, Memory)>,
}

impl Opened {
    /// The memory, to read it.
    pub(super) fn reader(&mut self, setting: &Setting) -> Result<&Memory, Error> {
        let database = setting.store.join("backstory.db");
        let found = identity(&database);
        let known = self
            .memory
            .take()
            .filter(|(known, _)| Some(*known) == found);
        let memory = match known {
            Some((_, memory)) => memory,
            None => setting.memory()?,
        };
        let found = identity(&database).unwrap_or_default();
        Ok(&mut self.memory.insert((found, memory)).1)
    }
}
