//! A session as rows of columns: plain data that knows nothing of files.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// All columns of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionColumns {
    /// Name of the session's group in the file. It must not be empty and must not contain `/`; see [`link_name`].
    pub id: String,
    /// Facts about the session as a whole.
    pub attributes: SessionAttributes,
    /// One row for each record of the log.
    pub messages: Vec<Message>,
    /// One row for each tool call, with its result.
    pub tool_calls: Vec<ToolCall>,
    /// Images, documents and other files that the session contains.
    pub artifacts: Vec<Artifact>,
    /// Log files that the rows were made from, byte for byte.
    pub logs: Vec<LogFile>,
    /// Parts missing from these columns; not stored.
    pub lost: LostParts,
    /// Name of the group that has the old version of the session, if it has another name. Not stored.
    pub replaced: Option<String>,
}

/// Parts of a session whose text is gone where the columns come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostParts {
    /// Number of events at the beginning, 0 when there are all.
    pub events: u64,
    /// Paths and lengths of logs.
    pub logs: Vec<(String, u64)>,
}

/// Attributes of a session's group. Of those that may be `None`, all but `session_id_original` are stored as an empty text then, and an
/// empty text is read as `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAttributes {
    /// Name of the agent, empty in files of others.
    pub agent: String,
    /// Model that the session used, or `unknown`.
    pub model: String,
    /// Time of the first record, in seconds since 1970.
    pub created_at: f64,
    /// Title or summary of the session.
    pub summary: String,
    /// Working directory.
    pub cwd: String,
    /// Git branch.
    pub git_branch: String,
    /// Version of the agent.
    pub agent_version: String,
    /// Permission mode, for agents that have one.
    pub permission_mode: Option<String>,
    /// The agent's own id of the session.
    pub session_id_original: Option<String>,
    /// Comma-separated list of what the file lacks of the session: `text evicted`, `text partly evicted`, `hooks only`, `logs`.
    pub missing: Option<String>,
    /// Model that made the embeddings.
    pub embedding_model: Option<String>,
    /// Attributes of other writers, carried over unchanged.
    pub other: Vec<(String, AttributeValue)>,
}

impl SessionAttributes {
    /// Returns the text of an attribute of another writer, if it is one.
    pub(crate) fn other_text(&self, name: &str) -> Option<&str> {
        let mut others = self.other.iter();
        others.find_map(|(other, value)| match value {
            AttributeValue::Text(text) if other == name => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// UTF-8 text of any length.
    Text(String),
    /// Signed integer of 64 bits.
    Integer(i64),
    /// Floating-point number of 64 bits.
    Float(f64),
    /// List of texts.
    Texts(Vec<String>),
    /// Any other value, encoded as in the file.
    Encoded {
        /// HDF5 datatype message.
        datatype: Vec<u8>,
        /// Number of elements, or `None` for a scalar.
        elements: Option<u64>,
        /// The elements.
        data: Vec<u8>,
    },
}

/// Row of `messages`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// Number of the row's first event in the session, 0 in rows of others.
    #[serde(skip)]
    pub seq: u32,
    /// The agent's id of the record, empty when it has none.
    pub uuid: String,
    /// Id of the record that this one follows, or empty.
    pub parent_uuid: String,
    /// Column `type`: `user`, `assistant`, `summary`, `system`, or as the agent says.
    #[serde(rename = "type")]
    pub kind: String,
    /// Role of the author in the conversation.
    pub role: String,
    /// Model that wrote the message.
    pub model: String,
    /// Time in seconds since 1970, 0 when unknown.
    pub timestamp: f64,
    /// Tokens that the message took.
    pub usage: TokenUsage,
    /// Readable text.
    pub text: String,
    /// Content as JSON.
    #[serde(rename = "content", serialize_with = "serialize_content")]
    pub json: String,
    /// Embedding of the text. All embeddings of a session have the same length.
    #[serde(skip)]
    pub embedding: Option<Vec<f32>>,
}

/// Writes the content of a message as the JSON that it is, without signatures of thoughts; as text if it is none.
fn serialize_content<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let Ok(mut content) = serde_json::from_str::<Value>(json) else {
        return json.serialize(serializer);
    };
    for block in content.as_array_mut().into_iter().flatten() {
        if block["type"] == "thinking"
            && let Some(block) = block.as_object_mut()
        {
            block.remove("signature");
        }
    }
    content.serialize(serializer)
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Tokens read, without those of the cache.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: i64,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: i64,
}

impl TokenUsage {
    /// Adds `other`; sums stay at the largest number instead of overflowing.
    pub fn add_usage(&mut self, other: &TokenUsage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_creation_input_tokens = self
            .cache_creation_input_tokens
            .saturating_add(other.cache_creation_input_tokens);
        self.cache_read_input_tokens = self
            .cache_read_input_tokens
            .saturating_add(other.cache_read_input_tokens);
    }
}

/// Row of `tool_calls`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// Id of the call.
    pub tool_use_id: String,
    /// Id of the message that made the call.
    pub message_uuid: String,
    /// Name of the tool.
    pub name: String,
    /// Id of the message that has the result, empty when there is none.
    pub result_uuid: String,
    /// Time of the call in seconds since 1970.
    pub timestamp: f64,
    /// The result is an error.
    pub is_error: bool,
    /// Arguments as JSON.
    pub args: String,
    /// Text of the result.
    pub result: String,
}

/// File that a session contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifact {
    /// Name of its dataset, by which a new one replaces an old one; see [`link_name`].
    pub name: String,
    /// Media type, empty when unknown.
    pub media_type: String,
    /// Origin, such as `tool_result:ID` of the call that returned it or `prompt`; empty when unknown.
    pub origin: String,
    /// The bytes. Arrays of other writers are in the byte order of their file.
    pub bytes: Vec<u8>,
}

/// Log file, byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFile {
    /// Path of the log.
    pub path: String,
    /// Name of the agent that wrote it.
    pub agent: String,
    /// Content of the log.
    pub bytes: Vec<u8>,
    /// Rows of `messages` by the offset in the log of the record that they were made from, in the order of offsets. What these rows hold
    /// takes no space in the stored log.
    pub rows: Vec<(u64, u32)>,
}

/// Returns `name` as HDF5 can store it: without `/` and NUL, and neither empty nor `.`.
pub fn link_name(name: &str) -> String {
    match name {
        "" | "." | ".." => "_".repeat(name.len().max(1)),
        _ => name.replace(['/', '\0'], "_"),
    }
}
