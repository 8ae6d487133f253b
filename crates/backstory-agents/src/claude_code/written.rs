//! Records for messages that were kept without their log.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A message of which a record of a log is made. Texts that are not known are empty.
#[derive(Debug, Clone, Default)]
pub struct WrittenRecord<'a> {
    /// Kind of the record: `user`, `assistant`, `summary` or `system`.
    pub kind: &'a str,
    /// Id of the record.
    pub uuid: &'a str,
    /// Id of the record that it follows.
    pub parent_uuid: &'a str,
    /// Id of the session.
    pub session: &'a str,
    /// Time in seconds since 1970, 0 when unknown.
    pub seconds: f64,
    /// Working directory.
    pub cwd: &'a str,
    /// Git branch.
    pub git_branch: &'a str,
    /// Version of the agent.
    pub agent_version: &'a str,
    /// Role of the author.
    pub role: &'a str,
    /// Content: a text or a list of blocks.
    pub content: Value,
    /// Id of the response that the message belongs to. Its tokens count once.
    pub response: &'a str,
    /// Id of the request that the response answers.
    pub request: &'a str,
    /// Model that answered.
    pub model: &'a str,
    /// Tokens of the response: input, output, written to the cache, read from it.
    pub tokens: [i64; 4],
}

impl WrittenRecord<'_> {
    /// Name of the agent whose log has such records.
    pub const AGENT: &'static str = "claude-code";

    /// Returns the id of the record in a line of a log; `None` for a record without an id.
    pub fn id_of_line(line: &[u8]) -> Option<String> {
        let record: RecordId = serde_json::from_slice(line).ok()?;
        Some(record.uuid).filter(|id| !id.is_empty())
    }

    /// Returns the ids of the record, of its response and of its request in a line of a log; `None` for a record of no response.
    pub fn response_of_line(line: &[u8]) -> Option<(String, LoggedResponse)> {
        let record: ResponseIds = serde_json::from_slice(line).ok()?;
        let response = LoggedResponse {
            response: record.message?.id?,
            request: record.request.unwrap_or_default(),
        };
        (!record.uuid.is_empty()).then_some((record.uuid, response))
    }

    /// Returns whether the content of a message, as JSON, has results of tools.
    pub fn has_tool_result(content: &str) -> bool {
        content.contains("\"tool_result\"")
    }

    /// Returns the line of the log, without its end.
    pub fn into_line(self) -> String {
        let mut message = Map::new();
        message.insert("role".to_string(), json!(self.role));
        message.insert("content".to_string(), self.content);
        if self.kind == "assistant" {
            let [input, output, cache_write, cache_read] = self.tokens;
            let usage = json!({
                "input_tokens": input,
                "output_tokens": output,
                "cache_creation_input_tokens": cache_write,
                "cache_read_input_tokens": cache_read,
            });
            message.insert("id".to_string(), json!(self.response));
            message.insert("model".to_string(), json!(self.model));
            message.insert("usage".to_string(), usage);
        }
        let known = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let mut record = json!({
            "type": self.kind,
            "uuid": self.uuid,
            "parentUuid": known(self.parent_uuid),
            "sessionId": self.session,
            "timestamp": rfc3339(self.seconds),
            "cwd": known(self.cwd),
            "gitBranch": known(self.git_branch),
            "version": known(self.agent_version),
            "message": message,
        });
        if let Some(request) = known(self.request) {
            record["requestId"] = request.into();
        }
        record.to_string()
    }
}

/// Response of the model that a record of a log belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedResponse {
    /// Its id.
    pub response: String,
    /// Id of the request, empty when unknown.
    pub request: String,
}

/// Id of the record of a line.
#[derive(Deserialize)]
struct RecordId {
    #[serde(default)]
    uuid: String,
}

#[derive(Deserialize)]
struct ResponseIds {
    #[serde(default)]
    uuid: String,
    #[serde(default, rename = "requestId")]
    request: Option<String>,
    #[serde(default)]
    message: Option<MessageId>,
}

#[derive(Deserialize)]
struct MessageId {
    #[serde(default)]
    id: Option<String>,
}

/// Formats seconds since 1970; `None` for a time that is not known.
fn rfc3339(seconds: f64) -> Option<String> {
    if seconds <= 0.0 || !seconds.is_finite() {
        return None;
    }
    let time = jiff::Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()?;
    Some(format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_what_is_known() {
        let record = WrittenRecord {
            kind: "assistant",
            uuid: "a",
            session: "s",
            seconds: 1.5,
            content: json!("hi"),
            response: "m",
            tokens: [1, 2, 3, 4],
            ..WrittenRecord::default()
        };
        let line: Value = serde_json::from_str(&record.into_line()).unwrap();
        assert_eq!(line["timestamp"], "1970-01-01T00:00:01.500Z");
        assert_eq!(line["parentUuid"], Value::Null);
        assert_eq!(line["message"]["usage"]["cache_read_input_tokens"], 4);
        let id = |line: &str| WrittenRecord::id_of_line(line.as_bytes());
        assert_eq!(id(&line.to_string()).as_deref(), Some("a"));
        for other in ["{}", "{\"uuid\":\"\"}", "no record"] {
            assert_eq!(id(other), None, "{other}");
        }
        for seconds in [0.0, -1.0, f64::NAN, f64::MAX] {
            assert_eq!(rfc3339(seconds), None, "{seconds}");
        }
    }
}
