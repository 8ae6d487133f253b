//! Tables and their columns.

use std::sync::Arc;

use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use ::parquet::errors::Result;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// One row a session.
    Sessions,
    /// One row an event.
    Events,
    /// One row a tool call, with its result.
    ToolCalls,
    /// One row a message of a model and model that used tokens for it.
    Usage,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColumnSchema {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Whether a value can be null.
    pub nullable: bool,
    /// Meaning of its values.
    pub about: &'static str,
}

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// UTF-8 text with few different values.
    Name,
    /// UTF-8 text.
    Text,
    /// List of UTF-8 texts; empty, never null.
    TextList,
    /// Signed number of 64 bits.
    Integer,
    /// True or false.
    Boolean,
    /// Time in milliseconds, UTC.
    Timestamp,
    /// Day, UTC.
    Date,
}

impl ColumnKind {
    /// Returns the name of the type in DuckDB.
    pub fn sql_name(self) -> &'static str {
        match self {
            ColumnKind::Name | ColumnKind::Text => "VARCHAR",
            ColumnKind::TextList => "VARCHAR[]",
            ColumnKind::Integer => "BIGINT",
            ColumnKind::Boolean => "BOOLEAN",
            ColumnKind::Timestamp => "TIMESTAMPTZ",
            ColumnKind::Date => "DATE",
        }
    }
}

const fn required(name: &'static str, kind: ColumnKind, about: &'static str) -> ColumnSchema {
    ColumnSchema {
        name,
        kind,
        nullable: false,
        about,
    }
}

const fn optional(name: &'static str, kind: ColumnKind, about: &'static str) -> ColumnSchema {
    ColumnSchema {
        name,
        kind,
        nullable: true,
        about,
    }
}

use ColumnKind::{Boolean, Date, Integer, Name, Text, TextList, Timestamp};

const AGENT: ColumnSchema = required("agent", Name, "agent: `claude-code`, `codex`, …");
const SESSION: ColumnSchema = required("session", Name, "the agent's own id of the session");
const TURN: ColumnSchema = required(
    "turn",
    Integer,
    "turn: one prompt and all up to the next one; 0 before the first",
);
const TOOL: ColumnSchema = optional("tool", Name, "tool, by the agent's name");
const TOOL_CLASS: ColumnSchema = optional(
    "tool_class",
    Name,
    "`read`, `write`, `search`, `run`, `web`, `agent`, `plan`, `mcp`, `other`",
);
const COMMAND: ColumnSchema = optional("command", Text, "command that a tool call runs");
const ARGUMENTS: ColumnSchema = optional(
    "arguments",
    Text,
    "arguments of a tool call, JSON; null for tools that take free text",
);
const FILES: ColumnSchema = required("files", TextList, "files that a tool call names");
const EXIT_CODE: ColumnSchema = optional("exit_code", Integer, "exit code of the command");
const DURATION_MS: ColumnSchema = optional(
    "duration_ms",
    Integer,
    "duration of the tool call, milliseconds",
);
const STATUS: ColumnSchema = optional(
    "status",
    Name,
    "status of the tool call, in the agent's own word",
);
const TOOL_USE_ID: ColumnSchema = optional("tool_use_id", Text, "the agent's id of the tool call");
const PROJECT: ColumnSchema = optional("project", Name, "root folder of the project");

const INPUT: ColumnSchema = required("input", Integer, "input tokens that no cache held");
const OUTPUT: ColumnSchema = required("output", Integer, "output tokens, reasoning included");
const CACHE_READ: ColumnSchema = required("cache_read", Integer, "input tokens read from a cache");
const CACHE_WRITE: ColumnSchema =
    required("cache_write", Integer, "input tokens written to a cache");
const CACHE_WRITE_5M: ColumnSchema = required(
    "cache_write_5m",
    Integer,
    "part of `cache_write` kept for five minutes",
);
const CACHE_WRITE_1H: ColumnSchema = required(
    "cache_write_1h",
    Integer,
    "part of `cache_write` kept for an hour",
);
const REASONING: ColumnSchema =
    required("reasoning", Integer, "part of `output` that was reasoning");
const TOTAL: ColumnSchema = required(
    "total",
    Integer,
    "`input` + `output` + `cache_read` + `cache_write`",
);
const WEB_SEARCHES: ColumnSchema = required(
    "web_searches",
    Integer,
    "web searches that the provider ran",
);
const WEB_FETCHES: ColumnSchema = required(
    "web_fetches",
    Integer,
    "web pages that the provider fetched",
);

pub(super) const SESSION_COLUMNS: [ColumnSchema; 33] = [
    AGENT,
    SESSION,
    optional("title", Text, "title"),
    PROJECT,
    optional("cwd", Name, "working directory"),
    optional("branch", Name, "Git branch"),
    optional("agent_version", Name, "version of the agent, the last one"),
    optional(
        "permission_mode",
        Name,
        "permission mode, the last one, by the agent's name",
    ),
    optional("model", Name, "first of `models`"),
    required("models", TextList, "models that answered"),
    optional(
        "context_window",
        Integer,
        "context window of the model, tokens",
    ),
    optional("started_at", Timestamp, "first event"),
    optional("ended_at", Timestamp, "last event"),
    required("turns", Integer, "number of prompts"),
    required("events", Integer, "number of events"),
    required(
        "status",
        Name,
        "`running`, `ended`, `summarized` or `evicted`, when it was exported",
    ),
    required("headless", Boolean, "no person typed into it"),
    optional("outcome", Name, "how it ended, by its digest"),
    optional("parent", Name, "id of the session that it came from"),
    optional("parent_kind", Name, "`subagent` or `fork`"),
    optional(
        "parent_seq",
        Integer,
        "last event of the parent that its history goes on from",
    ),
    INPUT,
    OUTPUT,
    CACHE_READ,
    CACHE_WRITE,
    CACHE_WRITE_5M,
    CACHE_WRITE_1H,
    REASONING,
    TOTAL,
    WEB_SEARCHES,
    WEB_FETCHES,
    optional(
        "service_tier",
        Name,
        "service tier of the first message that names one",
    ),
    required(
        "missing",
        TextList,
        "what is not there: `text evicted`, `text partly evicted`, `hooks only`, `damaged events`",
    ),
];

pub(super) const EVENT_COLUMNS: [ColumnSchema; 31] = [
    AGENT,
    SESSION,
    required("seq", Integer, "number of the event in its session, from 1"),
    TURN,
    required(
        "kind",
        Name,
        "`prompt`, `reply`, `reasoning`, `tool_call`, `tool_result`, `summary`, `system`",
    ),
    required("role", Name, "`user`, `assistant`, `tool`, `system`"),
    optional("timestamp", Timestamp, "time"),
    optional(
        "model",
        Name,
        "model that wrote it; where the log does not say, that of its turn",
    ),
    TOOL,
    TOOL_CLASS,
    required("text", Text, "what was said, asked or answered"),
    COMMAND,
    ARGUMENTS,
    FILES,
    required("error", Boolean, "a tool result that is an error"),
    EXIT_CODE,
    DURATION_MS,
    STATUS,
    required("marks", TextList, "`interrupted`, `denied`, `compacted`"),
    optional("stop_reason", Name, "why the model stopped"),
    optional("effort", Name, "reasoning effort"),
    optional("uuid", Text, "the agent's id of the record or message"),
    optional(
        "parent_uuid",
        Text,
        "the agent's id of the record that it answers",
    ),
    TOOL_USE_ID,
    optional("call", Integer, "`seq` of the call, for a tool result"),
    optional(
        "parent",
        Integer,
        "`seq` of the event that it answers, where that is not the one before",
    ),
    optional("source_path", Name, "log file"),
    optional("source_line", Integer, "line of the log file"),
    required(
        "images",
        Integer,
        "number of images and documents of a prompt",
    ),
    required("live", Boolean, "only a hook told of it so far"),
    required("damaged", Boolean, "what is stored of it is damaged"),
];

pub(super) const TOOL_CALL_COLUMNS: [ColumnSchema; 20] = [
    AGENT,
    SESSION,
    TURN,
    optional(
        "call_seq",
        Integer,
        "`seq` of the call; null when its text is gone",
    ),
    optional(
        "result_seq",
        Integer,
        "`seq` of the result; null when there is none",
    ),
    TOOL_USE_ID,
    TOOL,
    TOOL_CLASS,
    ARGUMENTS,
    optional("input_text", Text, "text of a call that has no arguments"),
    COMMAND,
    FILES,
    optional("result", Text, "text of the result"),
    STATUS,
    optional(
        "error",
        Boolean,
        "whether the result is an error; null when there is none",
    ),
    EXIT_CODE,
    optional("started_at", Timestamp, "time of the call"),
    optional("ended_at", Timestamp, "time of the result"),
    DURATION_MS,
    optional(
        "model",
        Name,
        "model that called; where the log does not say, that of its turn",
    ),
];

pub(super) const USAGE_COLUMNS: [ColumnSchema; 20] = [
    AGENT,
    SESSION,
    optional(
        "seq",
        Integer,
        "`seq` of the message's first event; null when no event has these tokens",
    ),
    optional("turn", Integer, "turn of that event"),
    optional("timestamp", Timestamp, "time of that event"),
    optional("day", Date, "day, UTC"),
    PROJECT,
    optional("branch", Name, "Git branch"),
    optional(
        "model",
        Name,
        "model; null is `unknown` in `backstory usage`",
    ),
    INPUT,
    OUTPUT,
    CACHE_READ,
    CACHE_WRITE,
    CACHE_WRITE_5M,
    CACHE_WRITE_1H,
    REASONING,
    TOTAL,
    WEB_SEARCHES,
    WEB_FETCHES,
    optional("service_tier", Name, "service tier, where the log says"),
];

impl Table {
    /// All tables.
    pub const ALL: [Table; 4] = [
        Table::Sessions,
        Table::Events,
        Table::ToolCalls,
        Table::Usage,
    ];

    /// Returns the name, which is that of its folder, too.
    pub fn name(self) -> &'static str {
        match self {
            Table::Sessions => "sessions",
            Table::Events => "events",
            Table::ToolCalls => "tool_calls",
            Table::Usage => "usage",
        }
    }

    /// Returns the table of this name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns the columns in their order.
    pub fn columns(self) -> &'static [ColumnSchema] {
        match self {
            Table::Sessions => &SESSION_COLUMNS,
            Table::Events => &EVENT_COLUMNS,
            Table::ToolCalls => &TOOL_CALL_COLUMNS,
            Table::Usage => &USAGE_COLUMNS,
        }
    }

    pub(super) fn parquet_schema(self) -> Result<TypePtr> {
        let columns: Result<Vec<TypePtr>> = self.columns().iter().map(column_type).collect();
        let schema = Type::group_type_builder(self.name()).with_fields(columns?);
        Ok(Arc::new(schema.build()?))
    }

    /// Compression and encodings of the columns.
    pub(super) fn writer_properties(self) -> Result<WriterPropertiesBuilder> {
        let mut builder = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("backstory ", env!("CARGO_PKG_VERSION")).to_string())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true);
        for column in self.columns() {
            let path = leaf_path(column);
            builder = match column.kind {
                // Nearly every value is another one: a dictionary would be built in vain, and the smallest text tells nothing.
                Text => builder
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_statistics_enabled(path, EnabledStatistics::None),
                Integer | Timestamp => builder
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                Name | TextList | Boolean | Date => builder,
            };
        }
        Ok(builder)
    }
}

/// Path of the column's values in the schema.
fn leaf_path(column: &ColumnSchema) -> ColumnPath {
    let mut parts = vec![column.name.to_string()];
    if column.kind == TextList {
        parts.extend(["list".to_string(), "element".to_string()]);
    }
    ColumnPath::new(parts)
}

fn column_type(column: &ColumnSchema) -> Result<TypePtr> {
    let repetition = if column.nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let primitive = |physical, logical| {
        let builder = Type::primitive_type_builder(column.name, physical);
        builder
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    };
    let built = match column.kind {
        Name | Text => primitive(Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Integer => primitive(Physical::INT64, None),
        Boolean => primitive(Physical::BOOLEAN, None),
        Timestamp => primitive(
            Physical::INT64,
            Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
        ),
        Date => primitive(Physical::INT32, Some(LogicalType::Date)),
        TextList => {
            let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::String));
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element.build()?)]);
            Type::group_type_builder(column.name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list.build()?)])
                .build()
        }
    };
    Ok(Arc::new(built?))
}
