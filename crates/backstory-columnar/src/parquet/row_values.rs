//! Rows of the tables of sessions and events.

use ::parquet::data_type::ByteArray;
use backstory_memory::{
    EventRecord, Seq, SessionRow, SessionStatus, TimeMs, ToolClass, UsageRecord,
};
use jiff::Timestamp;

use super::column_buffer::Value;
use super::schema::{EVENT_COLUMNS, SESSION_COLUMNS};
use crate::session_columns::missing_parts;

/// Agent and id of a session, which are in every row.
pub(super) struct SessionNames {
    pub(super) agent: ByteArray,
    pub(super) session: ByteArray,
}

impl SessionNames {
    pub(super) fn new(agent: &str, session: &str) -> Self {
        SessionNames {
            agent: ByteArray::from(agent),
            session: ByteArray::from(session),
        }
    }
}

/// An event whose texts are shared by the rows of several tables.
pub(super) struct SharedEvent {
    pub(super) record: EventRecord,
    pub(super) at: Option<i64>,
    pub(super) text: ByteArray,
    pub(super) command: Option<ByteArray>,
    pub(super) arguments: Option<ByteArray>,
}

impl SharedEvent {
    pub(super) fn new(mut record: EventRecord) -> Self {
        let shared = |text: String| ByteArray::from(text.into_bytes());
        SharedEvent {
            at: record.timestamp.as_deref().and_then(parse_milliseconds),
            text: shared(std::mem::take(&mut record.text)),
            command: record.command.take().map(shared),
            arguments: record.arguments.take().map(shared),
            record,
        }
    }
}

/// Milliseconds since 1970 of a time that the library wrote as text.
fn parse_milliseconds(time: &str) -> Option<i64> {
    time.parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_millisecond)
}

/// Time of a session; one beyond the calendar is as good as none.
pub(super) fn time_value(at: Option<TimeMs>) -> Value {
    let is_valid = |at: &i64| Timestamp::from_millisecond(*at).is_ok();
    at.map(TimeMs::get).filter(is_valid).into()
}

/// Tokens in the order of the columns: input, output, cache_read, cache_write, cache_write_5m, cache_write_1h, reasoning, total,
/// web_searches, web_fetches.
pub(super) fn usage_values(usage: &UsageRecord) -> [u64; 10] {
    [
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.reasoning,
        usage.total,
        usage.server_tools.web_search_requests,
        usage.server_tools.web_fetch_requests,
    ]
}

pub(super) fn session_row(
    session: &SessionRow,
    usage: &UsageRecord,
    now: TimeMs,
) -> [Value; SESSION_COLUMNS.len()] {
    let text = |text: &Option<String>| Value::from(text.as_deref());
    let [
        input,
        output,
        cache_read,
        cache_write,
        cache_write_5m,
        cache_write_1h,
        reasoning,
        total,
        searches,
        fetches,
    ] = usage_values(usage).map(Value::from);
    [
        session.agent.as_str().into(),
        session.session.as_str().into(),
        text(&session.title),
        text(&session.project),
        text(&session.cwd),
        text(&session.branch),
        text(&session.agent_version),
        text(&session.permission_mode),
        session.models.first().map(String::as_str).into(),
        session.models.as_slice().into(),
        session.context_window.into(),
        time_value(session.started_at),
        time_value(session.ended_at),
        (session.turns + session.live_turns).into(),
        (session.events + session.live_events).into(),
        SessionStatus::at(session, now).name().into(),
        session.machine.into(),
        text(&session.outcome),
        text(&session.parent),
        text(&session.parent_kind),
        session.parent_seq.map(Seq::count).into(),
        input,
        output,
        cache_read,
        cache_write,
        cache_write_5m,
        cache_write_1h,
        reasoning,
        total,
        searches,
        fetches,
        text(&usage.service_tier),
        missing_parts(session).as_slice().into(),
    ]
}

pub(super) fn event_row(names: &SessionNames, event: &SharedEvent) -> [Value; EVENT_COLUMNS.len()] {
    let record = &event.record;
    let text = |text: &Option<String>| Value::from(text.as_deref());
    [
        (&names.agent).into(),
        (&names.session).into(),
        record.seq.count().into(),
        record.turn.count().into(),
        record.kind.as_ref().into(),
        record.role.as_ref().into(),
        event.at.into(),
        text(&record.model),
        text(&record.tool),
        record.tool_class.map(ToolClass::name).into(),
        (&event.text).into(),
        event.command.as_ref().into(),
        event.arguments.as_ref().into(),
        record.files.as_slice().into(),
        record.error.into(),
        record.exit_code.into(),
        record.duration_ms.into(),
        text(&record.status),
        record.marks.as_slice().into(),
        text(&record.stop_reason),
        text(&record.effort),
        text(&record.uuid),
        text(&record.parent_uuid),
        text(&record.tool_use_id),
        record.call.map(Seq::count).into(),
        record.parent.map(Seq::count).into(),
        text(&record.source_path),
        record.source_line.into(),
        (record.images.len() as u64).into(),
        record.live.into(),
        record.damaged.into(),
    ]
}
