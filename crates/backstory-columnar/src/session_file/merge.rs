//! Merging a session of an old file into new columns, so that no row is lost.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use backstory_memory::Redactor;

use super::appended::{AnswerCounter, is_blank, is_call_of};
use crate::redaction::{
    ComparableId, comparable_ids, is_unredacted, redact_id, redact_text, unkeyed_markers,
};
use crate::rows::{
    AttributeValue, LogFile, Message, SessionAttributes, SessionColumns, TokenUsage, ToolCall,
};
use crate::session_columns::{
    MISSING_LOGS, STATE_ATTRIBUTE, TEXT_EVICTED, TEXT_PARTLY_EVICTED, events_of_state,
};

/// Identity of a row, with its number among equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RowKey {
    Id(String, u32),
    Seq(u32, u32),
    Content(String, u64, String, String, u32),
}

/// Adds to `new` what only `old` has: rows, contents of rows that are empty in `new`, embeddings, attributes and logs. Where `old` was not
/// redacted and `new` is, its rows are redacted first, and its logs are left out. Rows of others are redacted in any case.
/// Rows that others added are left out if `is_logged` says of their ids that a log has them.
pub(super) fn merge_session(
    new: &mut SessionColumns,
    mut old: SessionColumns,
    redactor: Option<&Redactor>,
    is_logged: impl Fn(&str) -> bool,
) -> UnchangedRows {
    let comparable_id = comparable_ids(&new.attributes, &old.attributes);
    let is_unredacted = is_unredacted(&old.attributes);
    // What is stored of redacted rows has the secrets.
    let before_redacted = match redactor {
        Some(redactor) if is_unredacted => {
            old.logs.clear();
            redact_session(&mut old, redactor, |_| true, true)
        }
        Some(redactor) => {
            let has_call = call_finder(new);
            let has_others = old.messages.iter().any(|row| row.seq == 0)
                || old.tool_calls.iter().any(|call| !has_call(call));
            redact_session(&mut old, redactor, |row| row.seq == 0, has_others)
        }
        None => UnchangedRows {
            messages: usize::MAX,
            tool_calls: usize::MAX,
        },
    };
    let before_repeated = remove_repeated_rows(&mut old, is_logged);
    let old_text = OldText::of_session(&old.attributes);
    merge_attributes(&mut new.attributes, old.attributes);
    let places = merge_messages(&mut new.messages, old.messages, comparable_id);
    let calls = merge_calls(&mut new.tool_calls, old.tool_calls, comparable_id);
    merge_logs(&mut new.logs, old.logs, &places, comparable_id);
    new.attributes.missing = missing_in_file(new, &old_text);
    let unchanged = |counts: [usize; 3]| counts.into_iter().min().unwrap_or_default();
    UnchangedRows {
        messages: unchanged([
            places.unchanged,
            before_repeated.messages,
            before_redacted.messages,
        ]),
        tool_calls: unchanged([
            calls.unchanged,
            before_repeated.tool_calls,
            before_redacted.tool_calls,
        ]),
    }
}

/// Returns a function that says whether new columns have a call.
fn call_finder(new: &SessionColumns) -> impl Fn(&ToolCall) -> bool {
    let calls = new.tool_calls.iter();
    let ids: HashSet<String> = calls.map(|call| call.tool_use_id.clone()).collect();
    move |call| ids.contains(&call.tool_use_id)
}

/// Text that an old file has of a session.
struct OldText {
    /// Number of events when it was written; `None` when that is not known.
    events: Option<u64>,
    is_evicted: bool,
}

impl OldText {
    fn of_session(attributes: &SessionAttributes) -> Self {
        let state = attributes.other_text(STATE_ATTRIBUTE);
        let missing = attributes.missing.as_deref().unwrap_or_default();
        OldText {
            events: state.and_then(events_of_state),
            is_evicted: is_text_evicted(missing),
        }
    }
}

fn is_text_evicted(missing: &str) -> bool {
    let mut parts = missing.split(", ");
    parts.any(|part| part == TEXT_EVICTED || part == TEXT_PARTLY_EVICTED)
}

/// Returns the parts missing after merging.
fn missing_in_file(merged: &SessionColumns, old: &OldText) -> Option<String> {
    let missing = merged.attributes.missing.as_deref()?;
    let has_text = !old.is_evicted && old.events >= Some(merged.lost.events);
    let has_log = |(path, length): &(String, u64)| {
        let path = unkeyed_markers(path);
        merged
            .logs
            .iter()
            .any(|log| unkeyed_markers(&log.path) == path && log.bytes.len() as u64 >= *length)
    };
    let has_logs = merged.lost.logs.iter().all(has_log);
    let parts = missing.split(", ").filter_map(|part| match part {
        TEXT_EVICTED | TEXT_PARTLY_EVICTED if merged.lost.events == 0 => Some(part),
        TEXT_EVICTED | TEXT_PARTLY_EVICTED if has_text => None,
        TEXT_EVICTED if !merged.messages.is_empty() => Some(TEXT_PARTLY_EVICTED),
        MISSING_LOGS if has_logs && !merged.lost.logs.is_empty() => None,
        part => Some(part),
    });
    let parts: Vec<&str> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Numbers of rows at the beginning whose contents are those of the old file.
#[derive(Default)]
pub(super) struct UnchangedRows {
    pub(super) messages: usize,
    pub(super) tool_calls: usize,
}

/// Redacts the attributes of a session, these messages and, if they are asked for, all calls. Returns the numbers of rows before the first of
/// them. Logs are left out where they have secrets: those that lie in pieces in several records are found only where logs are read.
fn redact_session(
    session: &mut SessionColumns,
    redactor: &Redactor,
    is_redacted: impl Fn(&Message) -> bool,
    with_calls: bool,
) -> UnchangedRows {
    let before = UnchangedRows {
        messages: (session.messages.iter().position(&is_redacted)).unwrap_or(usize::MAX),
        tool_calls: if with_calls { 0 } else { usize::MAX },
    };
    let attributes = &mut session.attributes;
    redact_id(redactor, &mut attributes.cwd);
    for text in [
        &mut attributes.model,
        &mut attributes.summary,
        &mut attributes.git_branch,
        &mut attributes.agent_version,
    ] {
        redact_text(redactor, text);
    }
    for text in [
        &mut attributes.permission_mode,
        &mut attributes.session_id_original,
    ] {
        text.iter_mut().for_each(|text| redact_id(redactor, text));
    }
    for (_, value) in &mut attributes.other {
        let texts = match value {
            AttributeValue::Text(text) => std::slice::from_mut(text),
            AttributeValue::Texts(texts) => texts,
            AttributeValue::Integer(_)
            | AttributeValue::Float(_)
            | AttributeValue::Encoded { .. } => continue,
        };
        for text in texts {
            redact_text(redactor, text);
        }
    }
    for row in session.messages.iter_mut().filter(|row| is_redacted(row)) {
        redact_id(redactor, &mut row.uuid);
        redact_id(redactor, &mut row.parent_uuid);
        redact_text(redactor, &mut row.model);
        redact_text(redactor, &mut row.json);
        if redact_text(redactor, &mut row.text) {
            // It was made of the secret, too.
            row.embedding = None;
        }
    }
    if !with_calls {
        return before;
    }
    for row in &mut session.tool_calls {
        for id in [
            &mut row.tool_use_id,
            &mut row.message_uuid,
            &mut row.result_uuid,
        ] {
            redact_id(redactor, id);
        }
        for text in [&mut row.name, &mut row.args, &mut row.result] {
            redact_text(redactor, text);
        }
    }
    before
}

fn merge_attributes(new: &mut SessionAttributes, old: SessionAttributes) {
    let texts = [
        (&mut new.agent, old.agent),
        (&mut new.model, old.model),
        (&mut new.summary, old.summary),
        (&mut new.cwd, old.cwd),
        (&mut new.git_branch, old.git_branch),
        (&mut new.agent_version, old.agent_version),
    ];
    for (new, old) in texts {
        if new.is_empty() {
            *new = old;
        }
    }
    if new.created_at == 0.0 {
        new.created_at = old.created_at;
    }
    new.permission_mode = new.permission_mode.take().or(old.permission_mode);
    new.session_id_original = new.session_id_original.take().or(old.session_id_original);
    new.embedding_model = new.embedding_model.take().or(old.embedding_model);
    let known: Vec<String> = new.other.iter().map(|(name, _)| name.clone()).collect();
    let others = old
        .other
        .into_iter()
        .filter(|(name, _): &(String, AttributeValue)| !known.contains(name));
    new.other.extend(others);
}

/// Numbers equal keys, so that a record that is in a log twice stays two rows.
fn number_keys<T, K: Hash + Eq + Clone>(
    rows: &[T],
    key: impl Fn(&T) -> K,
    numbered: impl Fn(K, u32) -> RowKey,
) -> Vec<RowKey> {
    let mut seen: HashMap<K, u32> = HashMap::new();
    rows.iter()
        .map(|row| {
            let key = key(row);
            let count = seen.entry(key.clone()).or_default();
            *count += 1;
            numbered(key, *count)
        })
        .collect()
}

fn message_keys(rows: &[Message], comparable_id: ComparableId) -> Vec<RowKey> {
    let key = |row: &Message| match (row.uuid.is_empty(), row.seq) {
        (false, _) => RowKey::Id(comparable_id(&row.uuid), 0),
        (true, 0) => RowKey::Content(
            row.kind.clone(),
            row.timestamp.to_bits(),
            comparable_id(&row.text),
            comparable_id(&row.json),
            0,
        ),
        (true, seq) => RowKey::Seq(seq, 0),
    };
    number_keys(rows, key, with_number)
}

fn call_keys(rows: &[ToolCall], comparable_id: ComparableId) -> Vec<RowKey> {
    let key = |row: &ToolCall| match row.tool_use_id.is_empty() {
        false => RowKey::Id(comparable_id(&row.tool_use_id), 0),
        true => RowKey::Content(
            row.name.clone(),
            row.timestamp.to_bits(),
            comparable_id(&row.message_uuid),
            comparable_id(&row.args),
            0,
        ),
    };
    number_keys(rows, key, with_number)
}

fn with_number(key: RowKey, number: u32) -> RowKey {
    match key {
        RowKey::Id(id, _) => RowKey::Id(id, number),
        RowKey::Seq(seq, _) => RowKey::Seq(seq, number),
        RowKey::Content(kind, time, text, json, _) => {
            RowKey::Content(kind, time, text, json, number)
        }
    }
}

/// Places of old and new rows in the merged ones.
struct RowPlaces {
    old: Vec<usize>,
    new: Vec<usize>,
    /// Rows at the beginning that are in the same place and have the same contents.
    unchanged: usize,
}

/// Merges rows. Those that only the old file has stay behind the one that they followed.
fn merge_rows<T>(
    new: &mut Vec<T>,
    old: Vec<T>,
    new_keys: &[RowKey],
    old_keys: Vec<RowKey>,
    merge: impl Fn(&mut T, T) -> bool,
) -> RowPlaces {
    let known: HashMap<&RowKey, usize> = new_keys
        .iter()
        .enumerate()
        .map(|(place, key)| (key, place))
        .collect();
    // Place in `new` that an old row is, or that it comes after.
    let mut matches = Vec::with_capacity(old.len());
    let mut inserted: Vec<(usize, usize, T)> = Vec::new();
    let mut after = 0;
    let mut unchanged = 0;
    for (number, (row, key)) in old.into_iter().zip(old_keys).enumerate() {
        match known.get(&key) {
            Some(&place) => {
                let same = merge(&mut new[place], row);
                if same && place == number && unchanged == number {
                    unchanged += 1;
                }
                after = place + 1;
                matches.push(Some(place));
            }
            None => {
                inserted.push((after, number, row));
                matches.push(None);
            }
        }
    }
    inserted.sort_by_key(|(after, number, _)| (*after, *number));
    let mut places = vec![0; matches.len()];
    let mut new_places = vec![0; new.len()];
    let mut merged = Vec::with_capacity(new.len() + inserted.len());
    let mut inserted = inserted.into_iter().peekable();
    for (place, row) in std::mem::take(new)
        .into_iter()
        .map(Some)
        .chain([None])
        .enumerate()
    {
        while let Some((_, number, row)) = inserted.next_if(|(after, _, _)| *after <= place) {
            places[number] = merged.len();
            merged.push(row);
        }
        if let Some(row) = row {
            new_places[place] = merged.len();
            merged.push(row);
        }
    }
    *new = merged;
    for (number, place) in matches.into_iter().enumerate() {
        if let Some(place) = place {
            places[number] = new_places[place];
        }
    }
    RowPlaces {
        old: places,
        new: new_places,
        unchanged,
    }
}

fn merge_messages(
    new: &mut Vec<Message>,
    old: Vec<Message>,
    comparable_id: ComparableId,
) -> RowPlaces {
    let length = |rows: &[Message]| {
        rows.iter()
            .find_map(|row| row.embedding.as_ref().map(Vec::len))
    };
    let new_length = length(new);
    let mut keys = message_keys(new, comparable_id);
    let mut old_keys = old_message_keys(&old, &keys, new, comparable_id);
    match_damaged_rows((&*new, &mut keys), (&old, &mut old_keys));
    keep_usage_of_longer_log((&mut *new, &keys), (&old, &old_keys));
    let places = merge_rows(new, old, &keys, old_keys, |new, old| {
        if is_damaged_row(new) && !is_damaged_row(&old) {
            *new = old;
            return true;
        }
        if new.uuid.is_empty() {
            new.uuid = old.uuid;
        }
        if new.text.is_empty() && new.json.is_empty() {
            new.text = old.text;
            new.json = old.json;
            new.embedding = new.embedding.take().or(old.embedding);
            return true;
        }
        if new.text != old.text {
            return false;
        }
        new.embedding = new.embedding.take().or(old.embedding);
        new.json == old.json
    });
    count_answers_once(new);
    // Embeddings of another model cannot be in the same table.
    if let Some(length) = new_length {
        for row in new.iter_mut().filter(|row| {
            row.embedding
                .as_ref()
                .is_some_and(|embedding| embedding.len() != length)
        }) {
            row.embedding = None;
        }
    }
    places
}

/// Keeps the usage of old rows where the old log went on behind the new one, which may end within an answer.
fn keep_usage_of_longer_log(
    (new, new_keys): (&mut [Message], &[RowKey]),
    (old, old_keys): (&[Message], &[RowKey]),
) {
    let places = new_keys.iter().enumerate();
    let places: HashMap<&RowKey, usize> = places.map(|(place, key)| (key, place)).collect();
    let mut own = old.iter().zip(old_keys).filter(|(row, _)| row.seq > 0);
    let is_cut = |(_, key)| !places.contains_key(key);
    if !own.next_back().is_some_and(is_cut) {
        return;
    }
    let input = |row: &Message| {
        let usage = &row.usage;
        (
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
    };
    let left = old.iter().zip(old_keys).filter(|row| is_cut(*row));
    let left: HashSet<_> = left.map(|(row, _)| input(row)).collect();
    for (row, key) in old.iter().zip(old_keys) {
        let Some(new) = places.get(key).and_then(|place| new.get_mut(*place)) else {
            continue;
        };
        // An answer without a row in the cut log lies in the row before it.
        let is_of_other = row.usage == TokenUsage::default() && left.contains(&input(new));
        if is_of_other || row.usage.output_tokens > new.usage.output_tokens {
            new.usage = row.usage;
        }
    }
}

/// Removes the usage of others' rows that belong to an answer that was counted before. Ours have that of an answer in one row.
fn count_answers_once(rows: &mut [Message]) {
    let mut answers = AnswerCounter::default();
    if rows.iter().any(|row| row.seq > 0) {
        for row in rows.iter_mut() {
            match row.seq {
                0 => row.usage = answers.count_row(row),
                _ => answers.add_known(row),
            }
        }
    }
}

/// Removes messages that others appended to a session of ours although it had them, or a log has them, with their calls. Returns the numbers
/// of rows before the first of them.
fn remove_repeated_rows(
    session: &mut SessionColumns,
    is_logged: impl Fn(&str) -> bool,
) -> UnchangedRows {
    let own = session.messages.iter().filter(|row| row.seq > 0);
    let own: HashSet<String> = own.map(|row| row.uuid.clone()).collect();
    let is_others = |row: &&Message| row.seq == 0 && !row.uuid.is_empty();
    let others = session.messages.iter().filter(is_others);
    let others = others.filter(|row| !own.contains(&row.uuid) && is_logged(&row.uuid));
    let logged: HashSet<String> = match own.is_empty() {
        true => HashSet::new(),
        false => others.map(|row| row.uuid.clone()).collect(),
    };
    let is_repeated = |row: &Message| {
        let is_empty = row.text.is_empty() && row.json.is_empty();
        is_others(&row) && (own.contains(&row.uuid) || logged.contains(&row.uuid))
            || !own.is_empty()
                && row.seq == 0
                && is_blank(&row.kind, &row.uuid, &row.usage, is_empty)
    };
    let Some(messages) = session.messages.iter().position(is_repeated) else {
        return UnchangedRows {
            messages: usize::MAX,
            tool_calls: usize::MAX,
        };
    };
    session.messages.retain(|row| !is_repeated(row));
    let mut known = HashSet::new();
    let mut is_kept = |row: &ToolCall| {
        let id = &row.tool_use_id;
        !is_call_of(&logged, &row.message_uuid, &row.result_uuid)
            && (id.is_empty() || known.insert(id.clone()))
    };
    let kept: Vec<bool> = session.tool_calls.iter().map(&mut is_kept).collect();
    let first_repeated = kept.iter().position(|is_kept| !is_kept);
    let mut kept = kept.into_iter();
    session.tool_calls.retain(|_| kept.next().unwrap_or(true));
    UnchangedRows {
        messages,
        tool_calls: first_repeated.unwrap_or(usize::MAX),
    }
}

/// Returns whether a row is that of a record whose bytes were damaged: it has neither id nor content.
fn is_damaged_row(row: &Message) -> bool {
    row.seq > 0 && row.uuid.is_empty() && row.text.is_empty() && row.json.is_empty()
}

/// Gives a damaged row and its sound version, which has an id, the same key.
fn match_damaged_rows(
    (new, new_keys): (&[Message], &mut [RowKey]),
    (old, old_keys): (&[Message], &mut [RowKey]),
) {
    let is_damaged = |row: &&Message| is_damaged_row(row);
    let damaged = new.iter().filter(is_damaged);
    let damaged = damaged.chain(old.iter().filter(is_damaged));
    let mut damaged: HashSet<u32> = damaged.map(|row| row.seq).collect();
    if damaged.is_empty() {
        return;
    }
    // Numbers that are not those of one row.
    for rows in [new, old] {
        let mut seen = HashSet::new();
        for row in rows {
            if !seen.insert(row.seq) {
                damaged.remove(&row.seq);
            }
        }
    }
    for (rows, keys) in [(new, new_keys), (old, old_keys)] {
        for (row, key) in rows.iter().zip(keys) {
            if damaged.contains(&row.seq) {
                *key = RowKey::Seq(row.seq, 1);
            }
        }
    }
}

/// Keys of old rows. One without id and number is that of a new row without id that has the same content, if there is one.
fn old_message_keys(
    old: &[Message],
    new_keys: &[RowKey],
    new: &[Message],
    comparable_id: ComparableId,
) -> Vec<RowKey> {
    let mut by_content: HashMap<RowKey, RowKey> = HashMap::new();
    if old.iter().any(|row| row.uuid.is_empty() && row.seq == 0) {
        let numbered = new
            .iter()
            .zip(new_keys)
            .filter(|(_, key)| matches!(key, RowKey::Seq(..)));
        let (rows, keys): (Vec<Message>, Vec<&RowKey>) = numbered
            .map(|(row, key)| {
                (
                    Message {
                        seq: 0,
                        ..row.clone()
                    },
                    key,
                )
            })
            .unzip();
        by_content = message_keys(&rows, comparable_id)
            .into_iter()
            .zip(keys.into_iter().cloned())
            .collect();
    }
    let keys = message_keys(old, comparable_id);
    let named = named_otherwise(old, &keys, new, new_keys);
    let new_known: HashSet<&RowKey> = new_keys.iter().collect();
    let keys = keys.into_iter().zip(old);
    keys.map(
        |(key, row)| match named.get(&(row.seq, row.uuid.is_empty())) {
            Some(new) if !new_known.contains(&key) => (*new).clone(),
            _ => by_content.get(&key).cloned().unwrap_or(key),
        },
    )
    .collect()
}

/// Returns the new keys, by number, of old rows that have no id where the new ones have, or the other way round: the id of a record is in
/// the next line, which a log that grows or is cut can lack.
fn named_otherwise<'k>(
    old: &[Message],
    old_keys: &[RowKey],
    new: &[Message],
    new_keys: &'k [RowKey],
) -> HashMap<(u32, bool), &'k RowKey> {
    let by_place: HashMap<(u32, bool), &Message> = old
        .iter()
        .filter(|row| row.seq > 0)
        .map(|row| ((row.seq, row.uuid.is_empty()), row))
        .collect();
    let known: HashSet<&RowKey> = old_keys.iter().collect();
    let rows = new.iter().zip(new_keys).filter_map(|(row, key)| {
        let place = (row.seq, !row.uuid.is_empty());
        let was = by_place.get(&place)?;
        let is_same = was.kind == row.kind
            && was.timestamp == row.timestamp
            && (!known.contains(key) || was.text == row.text);
        is_same.then_some((place, key))
    });
    rows.collect()
}

fn merge_calls(
    new: &mut Vec<ToolCall>,
    old: Vec<ToolCall>,
    comparable_id: ComparableId,
) -> RowPlaces {
    let keys = call_keys(new, comparable_id);
    let old_keys = call_keys(&old, comparable_id);
    merge_rows(new, old, &keys, old_keys, |new, old| {
        // Only the result is there: the call's event is damaged or evicted.
        if new.name.is_empty() && !old.name.is_empty() {
            new.name = old.name;
            new.message_uuid = old.message_uuid;
            new.timestamp = old.timestamp;
        }
        if new.result_uuid.is_empty() {
            new.result_uuid = old.result_uuid;
        }
        if new.result.is_empty() && !old.result.is_empty() {
            new.is_error |= old.is_error;
        }
        // Contents of the new row, or else of the old one; returns whether they are the old ones.
        let keep = |new: &mut String, old: String| {
            let same = new.is_empty() || *new == old;
            if same {
                *new = old;
            }
            same
        };
        let same_args = keep(&mut new.args, old.args);
        keep(&mut new.result, old.result) && same_args
    })
}

/// Keeps logs that the new data lacks, or has a shorter version of.
fn merge_logs(
    new: &mut Vec<LogFile>,
    old: Vec<LogFile>,
    places: &RowPlaces,
    comparable_id: ComparableId,
) {
    let move_rows = |log: &mut LogFile, places: &[usize]| {
        for (_, row) in &mut log.rows {
            *row = places
                .get(*row as usize)
                .map_or(u32::MAX, |place| *place as u32);
        }
    };
    new.iter_mut().for_each(|log| move_rows(log, &places.new));
    let mut known_paths: HashMap<String, usize> = HashMap::new();
    for (number, log) in new.iter().enumerate() {
        known_paths.entry(log.path.clone()).or_insert(number);
        // Redacted with another key.
        known_paths
            .entry(comparable_id(&log.path))
            .or_insert(number);
    }
    for mut log in old {
        move_rows(&mut log, &places.old);
        let number = known_paths.get(&log.path);
        let number = number.or_else(|| known_paths.get(&comparable_id(&log.path)));
        let number = number.copied();
        match number.and_then(|number| new.get_mut(number)) {
            Some(known)
                if log.bytes.len() > known.bytes.len() && log.bytes.starts_with(&known.bytes) =>
            {
                *known = log;
            }
            Some(_) => {}
            None => {
                known_paths.insert(log.path.clone(), new.len());
                new.push(log);
            }
        }
    }
}
