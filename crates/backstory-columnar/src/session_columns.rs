//! A session of a memory as columns.

use std::collections::HashMap;

use backstory_memory::{
    Damage, EventRange, EventRecord, Memory, MessageRecord, Seq, Session, SessionRow, StoreError,
    StoredLog, TextEmbedder, TimeMs, UsageRecord,
};

use crate::error::{Error, Result};
use crate::export::ExportOptions;
use crate::redaction::{REDACTION_ATTRIBUTE, unkeyed_markers};
use crate::rows::{
    Artifact, AttributeValue, LogFile, LostParts, Message, SessionAttributes, SessionColumns,
    TokenUsage, ToolCall,
};

/// Attribute with the state of a session when it was written: one that is still the same is not written again.
pub(crate) const STATE_ATTRIBUTE: &str = "backstory_state";

/// Parts that `missing` names, beside `hooks only`.
pub(crate) const TEXT_EVICTED: &str = "text evicted";
pub(crate) const TEXT_PARTLY_EVICTED: &str = "text partly evicted";
pub(crate) const MISSING_LOGS: &str = "logs";

/// Messages that are embedded at once.
const TEXTS_AT_ONCE: usize = 1000;

/// Raised when the same session gives other columns.
const COLUMNS_VERSION: u32 = 2;

/// Columns of a session, and the damage that was met in the store.
#[derive(Debug)]
pub struct ReadColumns {
    /// Columns. Rows of damaged events have no text, and damaged logs are left out.
    pub columns: SessionColumns,
    /// Damage of what the columns lack.
    pub damage: Vec<Damage>,
}

/// Reads everything that a memory has of a session; `name` is that of its group.
///
/// # Errors
/// If the memory cannot be read. Damage of stored bytes is no error: it is in the result.
pub fn read_columns(
    memory: &Memory,
    row: &SessionRow,
    name: &str,
    options: &ExportOptions<'_>,
) -> Result<ReadColumns> {
    let session = memory.sessions().open(row.clone());
    let mut damage = Vec::new();
    let columns = read_session(&session, name, options, &mut damage);
    // Taken from the memory in any case: the next session must not get it.
    for met in memory.upkeep().take_damage() {
        if !damage.contains(&met) {
            damage.push(met);
        }
    }
    let mut columns = columns?;
    if !damage.is_empty() {
        // Unequal to every state of a whole session, so that the next export writes it again.
        for (name, value) in &mut columns.attributes.other {
            if let (STATE_ATTRIBUTE, AttributeValue::Text(state)) = (name.as_str(), value) {
                state.push_str(" damaged");
            }
        }
    }
    Ok(ReadColumns { columns, damage })
}

fn read_session(
    session: &Session<'_>,
    name: &str,
    options: &ExportOptions<'_>,
    damage: &mut Vec<Damage>,
) -> Result<SessionColumns> {
    let row = session.row();
    let mut rows = Rows::default();
    for message in session.messages(EventRange::All)? {
        rows.add_message(message?);
    }
    if let Some(embedder) = options.embedder {
        add_embeddings(&mut rows.messages, embedder)?;
    }
    let mut logs = Vec::new();
    let mut lost = LostParts {
        events: row.evicted.count(),
        logs: Vec::new(),
    };
    for (number, log) in session.logs()?.iter().enumerate() {
        let bytes = match log.is_whole {
            true => read_log(session, log, damage)?,
            false => None,
        };
        let Some(bytes) = bytes else {
            lost.logs.push((log.path.clone(), log.length));
            continue;
        };
        let mut rows = rows.places.remove(&number).unwrap_or_default();
        rows.sort_unstable();
        logs.push(LogFile {
            path: log.path.clone(),
            agent: log.agent.clone(),
            bytes,
            rows,
        });
    }
    let mut missing = missing_parts(row);
    if !lost.logs.is_empty() {
        missing.push(MISSING_LOGS);
    }
    let attributes = SessionAttributes {
        agent: row.agent.clone(),
        model: first_model(row),
        created_at: started_seconds(row),
        summary: row.title.clone().unwrap_or_default(),
        cwd: row.cwd.clone().unwrap_or_default(),
        git_branch: row.branch.clone().unwrap_or_default(),
        agent_version: row.agent_version.clone().unwrap_or_default(),
        permission_mode: row.permission_mode.clone(),
        session_id_original: Some(row.session.clone()),
        missing: (!missing.is_empty()).then(|| missing.join(", ")),
        embedding_model: options.embedder.map(|model| model.name().to_string()),
        other: vec![
            text_attribute(STATE_ATTRIBUTE, session_state(session, options)?),
            text_attribute(REDACTION_ATTRIBUTE, redaction_name(options).to_string()),
        ],
    };
    Ok(SessionColumns {
        id: name.to_string(),
        attributes,
        messages: rows.messages,
        tool_calls: rows.tool_calls,
        artifacts: rows.artifacts,
        logs,
        lost,
        replaced: None,
    })
}

/// Reads rows of messages alone.
pub(crate) fn read_rows(session: &Session<'_>) -> Result<Vec<Message>> {
    let mut rows = Rows::default();
    for message in session.messages(EventRange::All)? {
        rows.add_message(message?);
        rows.artifacts.clear();
        rows.tool_calls.clear();
        rows.calls.clear();
    }
    Ok(rows.messages)
}

/// Returns the bytes of a log; `None` when they are damaged.
fn read_log(
    session: &Session<'_>,
    log: &StoredLog,
    damage: &mut Vec<Damage>,
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match session.copy_log(log, &mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(backstory_memory::Error::Store(StoreError::DamagedPiece(met))) => {
            damage.push(*met);
            Ok(None)
        }
        Err(error) => Err(Error::Memory(error)),
    }
}

/// Embeds the text of every message that has one.
fn add_embeddings(messages: &mut [Message], embedder: &TextEmbedder) -> Result<()> {
    let has_text = |message: &&mut Message| !message.text.trim().is_empty();
    let mut with_text: Vec<&mut Message> = messages.iter_mut().filter(has_text).collect();
    for messages in with_text.chunks_mut(TEXTS_AT_ONCE) {
        let texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
        let vectors = embedder.embed_texts(&texts)?;
        let vectors = vectors.rows.chunks_exact(vectors.dimensions.max(1));
        for (message, vector) in messages.iter_mut().zip(vectors) {
            message.embedding = Some(vector.to_vec());
        }
    }
    Ok(())
}

fn text_attribute(name: &str, text: String) -> (String, AttributeValue) {
    (name.to_string(), AttributeValue::Text(text))
}

/// Returns the value of the attribute [`REDACTION_ATTRIBUTE`].
fn redaction_name(options: &ExportOptions<'_>) -> &'static str {
    match options.redactor {
        Some(_) => "on",
        None => "off",
    }
}

/// Returns a text that changes whenever the columns of a session may.
pub(crate) fn session_state(session: &Session<'_>, options: &ExportOptions<'_>) -> Result<String> {
    let row = session.row();
    let logs = session.logs()?;
    let bytes: u64 = logs.iter().map(|log| log.length).sum();
    let redaction = redaction_name(options);
    let model = options.embedder.map_or("none", TextEmbedder::name);
    let ended = row.ended_at.map_or(0, TimeMs::get);
    Ok(format!(
        "{COLUMNS_VERSION} events {} live {} evicted {} ended {ended} redaction {redaction} logs {} bytes {bytes} model {model} title {}",
        row.events,
        row.live_events,
        row.evicted,
        logs.len(),
        unkeyed_markers(row.title.as_deref().unwrap_or_default()),
    ))
}

/// Returns the number of events that a session had when it was written, by its state.
pub(crate) fn events_of_state(state: &str) -> Option<u64> {
    let mut words = state.split(' ').skip_while(|word| *word != "events");
    words.nth(1)?.parse().ok()
}

/// Rows of a session while its messages are read.
#[derive(Default)]
struct Rows {
    messages: Vec<Message>,
    tool_calls: Vec<ToolCall>,
    artifacts: Vec<Artifact>,
    /// Rows by the log that they lie in, with their offset there.
    places: HashMap<usize, Vec<(u64, u32)>>,
    /// Rows of tool calls by the event of the call.
    calls: HashMap<Seq, usize>,
}

impl Rows {
    fn add_message(&mut self, message: MessageRecord) {
        let Some(first) = message.events.first() else {
            return;
        };
        let mut row = Message {
            seq: first.seq.get(),
            uuid: text_or_empty(&first.uuid),
            parent_uuid: text_or_empty(&first.parent_uuid),
            kind: message.kind,
            role: first.role.to_string(),
            model: text_or_empty(&first.model),
            timestamp: time_of(first),
            usage: TokenUsage::default(),
            text: String::new(),
            json: message.content,
            embedding: None,
        };
        for event in &message.events {
            if let Some(used) = &event.usage {
                row.usage.add_usage(&usage_of(used));
            }
            if event.kind != "tool_call" && !event.text.is_empty() {
                if !row.text.is_empty() {
                    row.text.push('\n');
                }
                row.text.push_str(&event.text);
            }
            self.add_call(event);
        }
        // Made of nothing then. A file that has the row already keeps its content.
        if row.text.is_empty() && message.events.iter().any(|event| event.damaged) {
            row.json.clear();
        }
        if let (Some(place), Ok(number)) = (message.log, u32::try_from(self.messages.len())) {
            let rows = self.places.entry(place.log).or_default();
            rows.push((place.offset, number));
        }
        self.messages.push(row);
        let artifacts = message.artifacts.into_iter().map(|artifact| Artifact {
            name: artifact.name,
            media_type: artifact.media_type,
            origin: artifact.origin,
            bytes: artifact.bytes,
        });
        self.artifacts.extend(artifacts);
    }

    fn add_call(&mut self, event: &EventRecord) {
        match event.kind.as_ref() {
            // Without its id, it could not be told from others when it is read again. Its result has the id.
            "tool_call" if event.damaged => {}
            "tool_call" => {
                self.calls.insert(event.seq, self.tool_calls.len());
                self.tool_calls.push(ToolCall {
                    tool_use_id: text_or_empty(&event.tool_use_id),
                    message_uuid: text_or_empty(&event.uuid),
                    name: text_or_empty(&event.tool),
                    timestamp: time_of(event),
                    args: event.arguments.as_ref().unwrap_or(&event.text).clone(),
                    ..ToolCall::default()
                });
            }
            "tool_result" => {
                let call = event.call.and_then(|call| self.calls.get(&call));
                let known = call.and_then(|call| self.tool_calls.get_mut(*call));
                let unknown = ToolCall {
                    tool_use_id: text_or_empty(&event.tool_use_id),
                    timestamp: time_of(event),
                    ..ToolCall::default()
                };
                let call = match known {
                    Some(call) => call,
                    None if event.damaged => return,
                    None => {
                        self.tool_calls.push(unknown);
                        let Some(call) = self.tool_calls.last_mut() else {
                            return;
                        };
                        call
                    }
                };
                call.result_uuid = text_or_empty(&event.uuid);
                call.is_error = event.error;
                call.result.clone_from(&event.text);
            }
            _ => {}
        }
    }
}

fn text_or_empty(text: &Option<String>) -> String {
    text.clone().unwrap_or_default()
}

/// Returns the start of a session in seconds since 1970, 0 when it is not known.
pub(crate) fn started_seconds(row: &SessionRow) -> f64 {
    row.started_at.map_or(0.0, |at| at.get() as f64 / 1000.0)
}

/// Returns the time of an event in seconds since 1970, 0 when it has none.
fn time_of(event: &EventRecord) -> f64 {
    let time = event.timestamp.as_deref();
    let time = time.and_then(|time| time.parse::<jiff::Timestamp>().ok());
    time.map_or(0.0, |time| time.as_millisecond() as f64 / 1000.0)
}

fn usage_of(used: &UsageRecord) -> TokenUsage {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    TokenUsage {
        input_tokens: tokens(used.input),
        output_tokens: tokens(used.output),
        cache_creation_input_tokens: tokens(used.cache_write),
        cache_read_input_tokens: tokens(used.cache_read),
    }
}

/// Returns the first of the models that answered, or `unknown`, as the Python package has it.
fn first_model(row: &SessionRow) -> String {
    let first = row.models.first();
    first.map_or("unknown", String::as_str).to_string()
}

/// Returns the parts the store lacks.
pub(crate) fn missing_parts(row: &SessionRow) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if row.evicted > Seq::ZERO && row.evicted.count() >= row.events {
        missing.push(TEXT_EVICTED);
    } else if row.evicted > Seq::ZERO {
        missing.push(TEXT_PARTLY_EVICTED);
    }
    if row.events == 0 && row.live_events > 0 {
        missing.push("hooks only");
    }
    missing
}
