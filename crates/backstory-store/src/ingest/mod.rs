//! Taking in what readers understood: events once each, in order, with their session's counts and roll-ups.

mod chunk;
mod generation;
mod moved;
mod rewrite;
mod session;
mod unkept;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use backstory_event::{
    Action, Billing, Event, EventKey, Extension, Kind, Output, ProjectId, Response, Seq,
    SessionFacts, SessionId, SessionName, StreamId, TelemetryRecord, Title,
};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Transaction, TransactionBehavior};

pub use self::chunk::{Chunk, Counts, Project, Stored, Taken};
use self::generation::Moved;
pub use self::rewrite::Rewrite;
pub use self::session::TitleRank;
use self::session::{Session, parent_kind};
pub(crate) use self::session::{title_line, without_nul};
use self::unkept::Unkept;
use crate::blocks;
use crate::checksums::{self, Scope, hash_numbers};
use crate::error::Result;
use crate::meta;
use crate::open::Store;
use crate::repair::damaged_streams;
use crate::sources;
use crate::telemetry;
use crate::usage::{self, Counted, Replaced, Tally};

/// A transaction that takes in chunks. Dropped without [`Batch::commit`], nothing of it happened.
pub struct Batch<'a> {
    pub(crate) transaction: Transaction<'a>,
    hot: Hot<'a>,
    names: HashMap<String, i64>,
    /// The last billing with its tier and row.
    last_billing: Option<(Billing, usize, i64)>,
    /// Events that this batch stored: what follows them names them.
    known: HashMap<EventKey, (SessionId, Seq)>,
    sessions: HashMap<SessionName, Session>,
    streams: HashMap<String, (i64, StreamId)>,
    /// The first byte that this batch added to each stream.
    first_offsets: HashMap<StreamId, u64>,
    pub(crate) tally: Tally,
    pub(crate) unkept: Unkept<'a>,
    /// Events of the chunk at hand that an older generation of its file had.
    moved: Vec<Moved>,
    /// The stream that was looked at last, and whether it is a later generation of its file.
    generation: Option<(StreamId, bool)>,
    taken: Taken,
    /// What was added to the checksum of the event keys.
    keys_sum: i64,
    /// Streams that are read again because a block of theirs is damaged.
    damaged: HashSet<StreamId>,
}

/// The statements that run for every event; finding them in the cache each time would cost as much as running them.
struct Hot<'a> {
    know: CachedStatement<'a>,
    find: CachedStatement<'a>,
    insert: CachedStatement<'a>,
}

impl Store {
    /// Begins to take in chunks.
    pub fn batch(&self) -> Result<Batch<'_>> {
        let connection = &self.connection;
        let hot = Hot {
            know: connection.prepare_cached(
                "INSERT OR IGNORE INTO event_keys (key, session, seq) VALUES (?1, ?2, ?3)",
            )?,
            find: connection.prepare_cached("SELECT session, seq FROM event_keys WHERE key = ?1")?,
            insert: connection.prepare_cached(
                "INSERT INTO events (session, seq, turn, kind, at, stream, offset, length, part, model, tool, call, parent, error, \
                 exit_code, duration_ms, command) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            )?,
        };
        Ok(Batch {
            transaction: Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?,
            hot,
            names: HashMap::new(),
            last_billing: None,
            known: HashMap::new(),
            sessions: HashMap::new(),
            streams: HashMap::new(),
            first_offsets: HashMap::new(),
            tally: Tally::default(),
            unkept: Unkept::new(connection, &self.unlearned)?,
            moved: Vec::new(),
            generation: None,
            taken: Taken::default(),
            keys_sum: 0,
            damaged: damaged_streams(connection)?,
        })
    }
}

impl Batch<'_> {
    /// Takes in one chunk. Chunks of a file must come in order.
    pub fn take(&mut self, mut chunk: Chunk<'_>) -> Result<()> {
        if chunk.begins {
            let only_newest = chunk.rewritten && chunk.output.events.is_empty();
            let (source, stream) =
                sources::begin(&self.transaction, chunk.agent, chunk.path, only_newest)?;
            self.streams
                .insert(chunk.path.to_string(), (source, stream));
        }
        if let Some((source, stream)) = self.streams.get(chunk.path) {
            chunk.cursor.source = *source;
            chunk.cursor.stream = *stream;
        } else if chunk.cursor.stream == StreamId::default() {
            // A later chunk of a file that an earlier batch began.
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            (chunk.cursor.source, chunk.cursor.stream) = self
                .transaction
                .prepare_cached("SELECT id, stream FROM source_files WHERE path = ?1")?
                .query_row([chunk.path], row)?;
            self.streams.insert(
                chunk.path.to_string(),
                (chunk.cursor.source, chunk.cursor.stream),
            );
        }
        let stream = chunk.cursor.stream;
        let mut output = std::mem::take(&mut chunk.output);
        let file = (chunk.agent, chunk.path);
        self.unkept.forget(&self.transaction, file, &mut output)?;
        let state = &mut chunk.cursor.state;
        self.unkept.forget_state(&self.transaction, file, state)?;
        self.take_output(&chunk, output, stream)?;
        self.rewrite(stream, &chunk.rewrites)?;
        self.compare_moved(&chunk)?;
        if let Some(packed) = chunk.packed.take() {
            let start = chunk.cursor.stored - packed.length;
            self.first_offsets.entry(stream).or_insert(start);
            let packed = self.unkept.take_out(packed, start)?;
            blocks::append(&self.transaction, stream, start, packed)?;
            blocks::save_line(&self.transaction, stream, start, chunk.first_line)?;
        }
        if chunk.redactions > 0 {
            self.transaction
                .prepare_cached("UPDATE streams SET redactions = redactions + ?2 WHERE id = ?1")?
                .execute((stream, chunk.redactions as i64))?;
        }
        sources::save(&self.transaction, &chunk.cursor)
    }

    /// Stores all that was taken in.
    pub fn commit(self) -> Result<Taken> {
        for session in self.sessions.values().filter(|session| session.changed) {
            session.save(&self.transaction)?;
        }
        self.tally.save(&self.transaction)?;
        checksums::add_to_sum(&self.transaction, Scope::EventKeys, self.keys_sum)?;
        self.transaction.commit()?;
        Ok(self.taken)
    }

    fn take_output(&mut self, chunk: &Chunk<'_>, output: Output, stream: StreamId) -> Result<()> {
        for facts in &output.facts {
            self.take_facts(chunk, facts, stream)?;
        }
        let mut replaying = output.events.iter().any(|event| event.replay.is_some())
            && self.is_replaying(stream)?;
        let copies_before = self.taken.counts.replayed;
        for event in output.events {
            if let Some(stored) = self.take_event(chunk, event, stream, &mut replaying)? {
                self.taken.events.push(stored);
            }
        }
        for extension in &output.extensions {
            self.extend(extension, stream)?;
        }
        let has_copies = self.taken.counts.replayed > copies_before;
        // Which event an answer begins with may only be known at its end: the first one may be thinking without text.
        let mut events: HashMap<EventKey, Vec<EventKey>> = HashMap::new();
        if has_copies {
            for response in &output.responses {
                let events = events.entry(response.key).or_default();
                events.extend(response.event);
            }
        }
        for response in &output.responses {
            let original = match (response.replay, events.get(&response.key)) {
                (Some(replay), _) => Some(replay),
                (None, Some(events)) => self.find_original(response.key, events, stream)?,
                (None, None) => None,
            };
            if let Some(original) = original
                && (self.tally).is_copy(&self.transaction, response.key, original)?
            {
                continue;
            }
            self.take_response(chunk.agent, response, false)?;
        }
        for record in &output.telemetry {
            self.take_telemetry(chunk.agent, record, stream)?;
        }
        let insert = "INSERT OR IGNORE INTO skipped_records (stream, line, offset, length, reason) VALUES (?1, ?2, ?3, ?4, ?5)";
        for skipped in &output.skipped {
            self.taken.counts.skipped += 1;
            let row = (
                stream,
                skipped.line,
                skipped.offset,
                skipped.length,
                &skipped.reason,
            );
            self.transaction.prepare_cached(insert)?.execute(row)?;
        }
        Ok(())
    }

    /// Returns the key of the response that another log told with one of these events as the first: formats without ids of messages have
    /// other keys.
    fn find_original(
        &mut self,
        response: EventKey,
        events: &[EventKey],
        stream: StreamId,
    ) -> Result<Option<EventKey>> {
        for event in events {
            if let Some(event) = self.find(*event)?
                && let Some(original) =
                    (self.tally).key_of_event(&self.transaction, event, stream)?
            {
                return Ok(Some(original).filter(|original| *original != response));
            }
        }
        Ok(None)
    }

    /// Counts a response. One that is read again may replace the requests to the provider's tools that are known of it.
    pub(crate) fn take_response(
        &mut self,
        agent: &'static str,
        response: &Response,
        replaces_requests: bool,
    ) -> Result<()> {
        let model = self.name(&response.model)?;
        let branch = match &response.branch {
            Some(branch) => self.name(branch)?,
            None => 0,
        };
        let billing = self.billing(response)?;
        let session = self.session(agent, &response.session)?;
        session.seen(response.at);
        session.model(model);
        let (id, at) = (session.id, response.at.or(session.ended_at));
        let event = match response.event {
            Some(event)
                if response.replaces_event
                    || !self.tally.has_event(&self.transaction, response.key)? =>
            {
                self.find(event)?.filter(|(session, _)| *session == id)
            }
            _ => None,
        };
        let counted = Counted {
            session: id,
            slot: usage::slot(at),
            model,
            usage: response.usage,
            seq: event.map_or(Seq::ZERO, |(_, seq)| seq),
            branch,
            billing,
        };
        let replaced = Replaced {
            event: response.replaces_event,
            requests: replaces_requests,
        };
        (self.tally).add(&self.transaction, response.key, counted, replaced)
    }

    /// Returns the row of a response's billing, which is nearly always that of the one before.
    fn billing(&mut self, response: &Response) -> Result<i64> {
        let tier = usage::context_tier(&response.usage);
        if let Some((billing, known_tier, row)) = &self.last_billing
            && *known_tier == tier
            && *billing == response.billing
        {
            return Ok(*row);
        }
        let row = usage::billing_row(&self.transaction, &response.billing, &response.usage)?;
        self.last_billing = Some((response.billing.clone(), tier, row));
        Ok(row)
    }

    /// Stores where a telemetry record lies. One that follows a copied event belongs to the session that the event was copied from.
    pub(crate) fn take_telemetry(
        &mut self,
        agent: &'static str,
        record: &TelemetryRecord,
        stream: StreamId,
    ) -> Result<()> {
        let before = match record.after {
            Some(event) => self.find(event)?,
            None => None,
        };
        let session = self.session(agent, &record.session)?;
        let seq = match before {
            Some((origin, _)) if origin != session.id => return Ok(()),
            before => before.map_or(Seq::ZERO, |(_, seq)| seq),
        };
        session.changed = true;
        let id = session.id;
        let new_stream = std::mem::replace(&mut session.stream, stream) != stream;
        if new_stream {
            self.link_stream(id, stream)?;
        }
        telemetry::insert(&self.transaction, id, seq, stream, record.span)
    }

    /// Stores an event, or does nothing when it is known already.
    fn take_event(
        &mut self,
        chunk: &Chunk<'_>,
        event: Event,
        stream: StreamId,
        replaying: &mut bool,
    ) -> Result<Option<Stored>> {
        if *replaying && let Some(replay) = event.replay {
            if let Some((origin, seq)) = self.find(replay)? {
                // Known under this session's key too, so that a copy of the copy is known as well.
                self.know(event.key, origin, seq)?;
                self.unkept
                    .known(&self.transaction, origin, seq, event.span)?;
                self.move_from_damaged(origin, seq, &event, stream)?;
                let session = self.session(chunk.agent, &event.session)?;
                session.parent_seq = Some(seq);
                session.changed = true;
                self.taken.counts.replayed += 1;
                return Ok(None);
            }
            // Copies come first, so the first event that is none ends them; injected text differs even in copies.
            if event.kind != Kind::System {
                *replaying = false;
                let close = "UPDATE streams SET replaying = 0 WHERE id = ?1";
                self.transaction.prepare_cached(close)?.execute([stream])?;
            }
        }
        let session = self.session(chunk.agent, &event.session)?;
        let (id, seq) = (session.id, session.events.next());
        if !self.know(event.key, id, seq)? {
            self.taken.counts.replayed += 1;
            self.link_to_origin(chunk.agent, &event, stream)?;
            return Ok(None);
        }
        self.unkept.keep(event.span);
        let parent = match event.parent {
            Some(parent) => self
                .find(parent)?
                .filter(|(session, _)| *session == id)
                .map(|(_, seq)| seq),
            None => None,
        };
        let model = event
            .model
            .as_ref()
            .map(|model| self.name(model))
            .transpose()?;
        let tool = event
            .tool
            .as_ref()
            .map(|tool| self.name(tool))
            .transpose()?;
        let call = self.join_call(chunk.agent, &event, seq)?;
        let session = self.session(chunk.agent, &event.session)?;
        session.count(&event, model);
        let turn = session.turns;
        if !session.untold.is_empty() {
            let mut untold = std::mem::take(&mut session.untold);
            untold.told(&self.transaction, &event, call.unwrap_or(seq))?;
            self.session(chunk.agent, &event.session)?.untold = untold;
        }
        let session = self.session(chunk.agent, &event.session)?;
        let new_stream = std::mem::replace(&mut session.stream, stream) != stream;
        self.hot.insert.execute(rusqlite::params![
            id,
            seq,
            turn,
            event.kind,
            event.at,
            stream,
            event.span.offset,
            event.span.length,
            event.span.part,
            model,
            tool,
            call,
            parent,
            event.error.then_some(1),
            event.exit_code,
            event.duration_ms,
            moving_command(&event),
        ])?;
        if new_stream {
            self.link_stream(id, stream)?;
        }
        for touch in &event.touches {
            self.touch(id, seq, &touch.path, touch.action)?;
        }
        self.taken.counts.events += 1;
        Ok(Some(Stored {
            session: id,
            seq,
            turn,
            call,
            stream,
            event,
        }))
    }

    /// An event that is known already. When another session has it, this one is a copy that goes on from there.
    fn link_to_origin(
        &mut self,
        agent: &'static str,
        event: &Event,
        stream: StreamId,
    ) -> Result<()> {
        let Some((origin, seq)) = self.find(event.key)? else {
            return Ok(());
        };
        self.unkept
            .known(&self.transaction, origin, seq, event.span)?;
        self.move_from_damaged(origin, seq, event, stream)?;
        let session = self.session(agent, &event.session)?;
        if origin == session.id {
            return self.move_event((origin, seq), event, stream);
        }
        session.parent_seq = Some(seq);
        session.changed = true;
        if session.parent.is_none() {
            let query = "SELECT session FROM sessions WHERE id = ?1";
            let name: String = self
                .transaction
                .prepare_cached(query)?
                .query_row([origin], |row| row.get(0))?;
            self.session(agent, &event.session)?.parent = Some((name, "fork"));
        }
        Ok(())
    }

    /// Joins a tool result to its call; returns the call's seq.
    fn join_call(&mut self, agent: &'static str, event: &Event, seq: Seq) -> Result<Option<Seq>> {
        let Some(call) = &event.body.identity.tool_use_id else {
            return Ok(None);
        };
        let session = self.session(agent, &event.session)?;
        match event.kind {
            Kind::ToolCall => {
                session.open_calls.insert(call.clone(), seq);
                Ok(None)
            }
            Kind::ToolResult => Ok(session.open_calls.remove(call)),
            _ => Ok(None),
        }
    }

    /// Lengthens an event. One that a fork repeats lies in its parent's stream, where the fork's positions mean nothing.
    pub(crate) fn extend(&mut self, extension: &Extension, stream: StreamId) -> Result<()> {
        let Some((session, seq)) = self.find(extension.key)? else {
            return Ok(());
        };
        if self.unkept.is_evicted(&self.transaction, session, seq)? {
            return Ok(());
        }
        self.transaction
            .prepare_cached("UPDATE events SET length = MAX(length, ?3 - offset) WHERE session = ?1 AND seq = ?2 AND stream = ?4")?
            .execute((session, seq, extension.end, stream))?;
        match extension.is_of_content() {
            true => self.mark_text_changed(session, seq),
            false => Ok(()),
        }
    }

    fn take_facts(
        &mut self,
        chunk: &Chunk<'_>,
        facts: &SessionFacts,
        stream: StreamId,
    ) -> Result<()> {
        if let (Some(leaf), Some(title)) = (facts.leaf, &facts.title) {
            return self.title_by_event(leaf, title);
        }
        let Some(name) = &facts.session else {
            return Ok(());
        };
        let project = match facts.cwd.as_ref().and_then(|cwd| chunk.projects.get(cwd)) {
            Some(project) => Some(project_row(&self.transaction, project)?),
            None => None,
        };
        let session = self.session(chunk.agent, name)?;
        session.changed = true;
        session.project = session.project.or(project);
        // The folder where it began, the branch where it ended.
        if session.cwd.is_none() {
            session.cwd.clone_from(&facts.cwd);
        }
        if facts.branch.is_some() {
            session.branch.clone_from(&facts.branch);
        }
        if let Some(parent) = &facts.parent
            && *parent.session != **name
        {
            session.parent = Some((parent.session.clone(), parent_kind(parent.kind)));
        }
        if let Some(machine) = facts.machine {
            session.machine = machine;
        }
        session.learn_details(facts);
        if let Some((from, to)) = facts.period {
            session.seen(Some(from));
            session.seen(Some(to));
        }
        if let Some(title) = &facts.title {
            session.entitle(title);
        }
        let id = session.id;
        self.save_meta(id, facts, stream)?;
        self.link_stream(id, stream)
    }

    pub(crate) fn save_meta(
        &self,
        session: SessionId,
        facts: &SessionFacts,
        stream: StreamId,
    ) -> Result<()> {
        if let (Some(json), Some(span)) = (&facts.meta, facts.span) {
            meta::save(&self.transaction, session, stream, span, json)?;
        }
        Ok(())
    }

    /// A title whose session is known only by one of its events; kept until that event is there.
    fn title_by_event(&mut self, leaf: EventKey, title: &Title) -> Result<()> {
        let Title::Generated(text) = title else {
            return Ok(());
        };
        let insert = "INSERT INTO loose_titles (key, title) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET title = excluded.title";
        self.transaction
            .prepare_cached(insert)?
            .execute((leaf, without_nul(text)))?;
        Ok(())
    }

    fn link_stream(&mut self, session: SessionId, stream: StreamId) -> Result<()> {
        let insert = "INSERT OR IGNORE INTO session_streams (session, stream) VALUES (?1, ?2)";
        self.transaction
            .prepare_cached(insert)?
            .execute((session, stream))?;
        Ok(())
    }

    fn is_replaying(&self, stream: StreamId) -> Result<bool> {
        let query = "SELECT replaying FROM streams WHERE id = ?1";
        Ok(self
            .transaction
            .prepare_cached(query)?
            .query_row([stream], |row| row.get(0))?)
    }

    /// Remembers an event by its key; false when the key is known already.
    fn know(&mut self, key: EventKey, session: SessionId, seq: Seq) -> Result<bool> {
        let is_new = self.hot.know.execute((key, session, seq))? > 0;
        if is_new {
            let hash = hash_numbers(&[key.0, session.into(), seq.into()]);
            self.keys_sum = self.keys_sum.wrapping_add(hash);
            self.known.insert(key, (session, seq));
        }
        Ok(is_new)
    }

    pub(crate) fn find(&mut self, key: EventKey) -> Result<Option<(SessionId, Seq)>> {
        if let Some(known) = self.known.get(&key) {
            return Ok(Some(*known));
        }
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.hot.find.query_row([key], row).optional()?)
    }

    fn touch(&self, session: SessionId, seq: Seq, path: &str, action: Action) -> Result<()> {
        let path = without_nul(path);
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO paths (path) VALUES (?1)")?
            .execute([&*path])?;
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO touches (path, session, seq, action) \
                 SELECT id, ?2, ?3, ?4 FROM paths WHERE path = ?1",
            )?
            .execute((&*path, session, seq, action))?;
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<i64> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let insert = "INSERT INTO names (name) VALUES (?1) ON CONFLICT (name) DO UPDATE SET name = name RETURNING id";
        let id = self
            .transaction
            .prepare_cached(insert)?
            .query_row([without_nul(name)], |row| row.get(0))?;
        self.names.insert(name.to_string(), id);
        Ok(id)
    }

    pub(crate) fn session(&mut self, agent: &'static str, name: &Arc<str>) -> Result<&mut Session> {
        match self.sessions.entry(SessionName::new(agent, name.clone())) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                Ok(entry.insert(Session::load(&self.transaction, agent, name)?))
            }
        }
    }
}

impl Store {
    /// Gives titles that came before their session to it, as far as it is known by now.
    pub fn settle_titles(&self) -> Result<()> {
        let waiting = "SELECT EXISTS (SELECT 1 FROM loose_titles JOIN event_keys ON event_keys.key = loose_titles.key)";
        if !self.connection.query_row(waiting, [], |row| row.get(0))? {
            return Ok(());
        }
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        transaction.execute(
            "UPDATE sessions SET title = found.title, title_rank = ?1 FROM \
               (SELECT event_keys.session AS session, loose_titles.title AS title FROM loose_titles \
                JOIN event_keys ON event_keys.key = loose_titles.key ORDER BY event_keys.seq) AS found \
             WHERE sessions.id = found.session AND sessions.title_rank <= ?1",
            [TitleRank::Generated],
        )?;
        transaction.execute_batch(
            "INSERT INTO lag (session, consumer, from_seq) SELECT event_keys.session, consumers.id, sessions.events + 1 FROM loose_titles \
               JOIN event_keys ON event_keys.key = loose_titles.key JOIN sessions ON sessions.id = event_keys.session \
               JOIN consumers ON follows_titles WHERE true ON CONFLICT (session, consumer) DO UPDATE SET changes = changes + 1; \
             DELETE FROM loose_titles WHERE key IN (SELECT key FROM event_keys);",
        )?;
        Ok(transaction.commit()?)
    }
}

/// Returns the command of an event if it may move files, which is looked for in the rows; of others the stored bytes have it.
fn moving_command(event: &Event) -> Option<Cow<'_, str>> {
    let command = event.body.command.as_deref();
    command
        .filter(|command| command.contains("mv "))
        .map(without_nul)
}

/// The row of a project, made if need be: by its remote, for clones are one, else by its root.
pub(crate) fn project_row(connection: &Connection, project: &Project) -> Result<ProjectId> {
    let by_remote = "SELECT id FROM projects WHERE remote = ?1";
    if let Some(remote) = &project.remote
        && let Some(id) = connection
            .prepare_cached(by_remote)?
            .query_row([remote], |row| row.get(0))
            .optional()?
    {
        return Ok(id);
    }
    let insert = "INSERT INTO projects (root, remote) VALUES (?1, ?2) \
         ON CONFLICT (root) DO UPDATE SET remote = COALESCE(remote, excluded.remote) RETURNING id";
    Ok(connection
        .prepare_cached(insert)?
        .query_row((&project.root, &project.remote), |row| row.get(0))?)
}
