//! Names and types of the columns.

use crate::hdf5::datatype::{EncodedType, integer_type, packed_compound};

pub(super) const SCHEMA_VERSION: i64 = 1;
/// Rows of a chunk.
pub(super) const CHUNK_ROWS: u64 = 64;
/// Bytes of a chunk of `content_bytes` and `call_bytes`.
pub(super) const CHUNK_BYTES: u64 = 65_536;

pub(super) const SESSIONS: &str = "sessions";
pub(super) const MESSAGES: &str = "messages";
pub(super) const TOOL_CALLS: &str = "tool_calls";
pub(super) const ARTIFACTS: &str = "artifacts";
pub(super) const RESULT_DATA: &str = "result_data";
pub(super) const LOG: &str = "log";
pub(super) const ROWS_USED: &str = "n_used";

/// Text columns of `messages`.
pub(super) const MESSAGE_TEXTS: [&str; 5] = ["uuid", "parent_uuid", "type", "role", "model"];
/// All datasets of `messages` that are rebuilt from rows.
pub(super) const MESSAGE_COLUMNS: [&str; 12] = [
    "uuid",
    "parent_uuid",
    "type",
    "role",
    "model",
    "timestamp",
    "usage",
    "content_index",
    "content_bytes",
    "has_embedding",
    "embeddings",
    "seq",
];
/// Text columns of `tool_calls`.
pub(super) const CALL_TEXTS: [&str; 4] = ["tool_use_id", "message_uuid", "name", "result_uuid"];
/// All datasets of `tool_calls` that are rebuilt from rows.
pub(super) const CALL_COLUMNS: [&str; 8] = [
    "tool_use_id",
    "message_uuid",
    "name",
    "result_uuid",
    "timestamp",
    "is_error",
    "call_index",
    "call_bytes",
];
/// Members of a session that are rebuilt from rows.
pub(super) const SESSION_GROUPS: [&str; 4] = [MESSAGES, TOOL_CALLS, ARTIFACTS, LOG];

pub(super) const USAGE_FIELDS: [&str; 4] = [
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
];
pub(super) const CONTENT_FIELDS: [&str; 4] = ["text_off", "text_len", "json_off", "json_len"];
pub(super) const CALL_FIELDS: [&str; 4] = ["args_off", "args_len", "result_off", "result_len"];
pub(super) const FRAME_FIELDS: [&str; 4] = ["raw_len", "packed_len", "prefix_off", "prefix_len"];

/// Returns the compound of `usage`.
pub(super) fn usage_type() -> EncodedType {
    packed_compound(&USAGE_FIELDS.map(|name| (name, integer_type(8, true))))
}

/// Returns the compound of `content_index` and `call_index`: offset of 8 and length of 4 bytes, twice.
pub(super) fn range_type(fields: [&str; 4]) -> EncodedType {
    let sizes = [8, 4, 8, 4];
    let members: Vec<_> = fields
        .into_iter()
        .zip(sizes)
        .map(|(name, size)| (name, integer_type(size, false)))
        .collect();
    packed_compound(&members)
}

/// Returns the compound of the index of log frames.
pub(super) fn frame_type() -> EncodedType {
    packed_compound(&FRAME_FIELDS.map(|name| (name, integer_type(8, false))))
}
