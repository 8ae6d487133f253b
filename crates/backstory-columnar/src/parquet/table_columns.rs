//! The columns of every table.

use super::schema::ColumnKind::{self, Boolean, Date, Integer, Name, Text, TextList, Timestamp};
use super::schema::ColumnSchema;

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
    required(
        "models",
        TextList,
        "models in the order in which they first answered",
    ),
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
        "what the store lacks of it: `text evicted`, `text partly evicted`, `hooks only`",
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
    required("live", Boolean, "known from a hook only so far"),
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
