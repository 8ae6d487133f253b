//! The lines of Claude Code: the fields that every line of a conversation has, and the answers of the model, which take a line
//! for each of their blocks.

use super::{Claude, Era};
use crate::sample::json::{Fields, Json, Object, fields, list, object, write_fields};

/// One answer of the API, which becomes a line for each of its blocks.
#[derive(Clone)]
pub(super) struct Response {
    id: String,
    request: String,
    output_tokens: u64,
    /// Whether its lines were written while it streamed, with a count that was not final yet.
    streams: bool,
    read: u64,
    created: u64,
}

impl Claude {
    /// Writes a line without identifier or parent.
    pub(super) fn bare(&mut self, fields: Fields<'_>) {
        Object(fields).write(&mut self.bytes);
        self.bytes.push(b'\n');
    }

    /// Writes a line of the conversation and makes it the parent of the next. Returns its identifier.
    pub(super) fn record(&mut self, kind: &str, fields: Fields<'_>) -> String {
        let uuid = self.random.uuid();
        let stamp = self.clock.stamp();
        let size = self.bytes.len();
        self.bytes.push(b'{');
        write_fields(
            fields! {"parentUuid": self.parent, "isSidechain": self.sidechain},
            &mut self.bytes,
        );
        if let Some(agent) = &self.agent {
            self.bytes.push(b',');
            write_fields(fields! {"agentId": agent}, &mut self.bytes);
        }
        self.bytes.push(b',');
        write_fields(fields, &mut self.bytes);
        self.bytes.push(b',');
        write_fields(
            fields! {"type": kind, "uuid": uuid, "timestamp": stamp, "userType": "external"},
            &mut self.bytes,
        );
        self.bytes.push(b',');
        if self.setup.era == Era::Current {
            write_fields(
                fields! {"entrypoint": if self.setup.background { "sdk-cli" } else { "cli" }},
                &mut self.bytes,
            );
            self.bytes.push(b',');
            if self.setup.background {
                write_fields(fields! {"sessionKind": "bg"}, &mut self.bytes);
                self.bytes.push(b',');
            }
        }
        let version = match self.setup.era {
            Era::First => "1.0.98",
            Era::Second => "2.0.76",
            Era::Current => "2.1.228",
        };
        write_fields(
            fields! {
                "cwd": self.setup.cwd, "sessionId": self.session, "version": version, "gitBranch": self.setup.branch
            },
            &mut self.bytes,
        );
        self.bytes.extend_from_slice(b"}\n");
        self.context += (self.bytes.len() - size) as u64 / 6;
        self.turn_messages += 1;
        self.parent = Some(uuid.clone());
        uuid
    }

    /// Starts the conversation's tree anew, as a compaction or an inline subagent does. Returns the parent it had.
    pub(crate) fn detach(&mut self) -> Option<String> {
        self.parent.take()
    }

    /// Goes on below `parent`.
    pub(crate) fn attach(&mut self, parent: Option<String>) {
        self.parent = parent;
    }

    /// Writes one block of the model's answer as a line of its own; `last` when no other block follows.
    pub(super) fn block(&mut self, block: &dyn Json, last: Option<&str>) -> String {
        let response = match self.response.take() {
            Some(response) => response,
            None => self.answer(),
        };
        // Newer versions repeat the final count on every line; those that write while the response streams do not know it yet.
        let known = if response.streams && last.is_none() {
            self.random.between(1, 9)
        } else {
            response.output_tokens
        };
        let model = self.setup.model;
        let uuid = self.record(
            "assistant",
            fields! {
                "message": object! {
                    "model": model, "id": response.id, "type": "message", "role": "assistant", "content": list![block],
                    "stop_reason": last, "stop_sequence": None::<&str>,
                    "usage": object! {
                        "input_tokens": 3_u64, "cache_creation_input_tokens": response.created,
                        "cache_read_input_tokens": response.read,
                        "cache_creation": object! {
                            "ephemeral_5m_input_tokens": response.created, "ephemeral_1h_input_tokens": 0_u64
                        },
                        "output_tokens": known, "service_tier": "standard"
                    }
                },
                "requestId": response.request
            },
        );
        if last.is_none() {
            self.response = Some(response);
        }
        uuid
    }

    /// Asks the model for its next answer.
    fn answer(&mut self) -> Response {
        self.clock.wait(&mut self.random, 900, 9_000);
        let read = self.cached;
        self.cached = self.context;
        Response {
            id: self.random.token("msg_01", 22),
            request: self.random.token("req_011C", 20),
            output_tokens: self.random.between(12, 40) * self.random.between(2, 40),
            streams: self.random.percent(40),
            read,
            created: self.context.saturating_sub(read),
        }
    }
}
