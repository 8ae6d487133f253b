//! `show` and `tail`.

use std::io::{IsTerminal, Write};

use backstory_event::{Seq, TimeMs, TurnNo};
use backstory_memory::upkeep::AnswerRows;
use backstory_memory::upkeep::WithDamage;
use backstory_memory::{
    Damage, EventLog, EventRange, EventView, Kind, Memory, Session, SessionRow, StoreError,
    StoredLog,
};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

use super::damage::report_damage;
use crate::cli::{Format, ShowArgs, TailArgs};
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, GREEN, RED, harmless, local_time, one_line, stdout, stream_json, talk,
};
use crate::setting::{Setting, now};

/// How many lines of a tool's output, of reasoning or of injected text are shown.
const SHORT_LINES: usize = 12;
/// How many characters of a line of those are shown.
const SHORT_CHARACTERS: usize = 200;

/// How many events are completed at once before they are written.
const EVENTS_AT_ONCE: usize = 1000;

/// Commands from this length on may have been cut.
const LONG_COMMAND: usize = 390;

pub(super) fn run(setting: &Setting, arguments: &ShowArgs) -> Result<(), Error> {
    let memory = setting.memory()?;
    let (session, turn) = memory.sessions().find_turn(&arguments.session)?;
    let format = if arguments.json {
        Format::Json
    } else {
        arguments.format
    };
    if format == Format::Original {
        return original(&memory, &session, turn);
    }
    EventLog::of_store(&setting.store).append_opened(&session.row().session, turn, now());
    if arguments.turns {
        if format != Format::Json {
            return Err(Error::usage("--turns prints JSON only").hint("add --json"));
        }
        return print_turns_json(&memory, &session, turn);
    }
    let range = turn.map_or(EventRange::All, EventRange::Turn);
    let events = session.event_views(range)?;
    let damage = session_damage(&memory, &session)?;
    tell_evicted(session.row(), &events);
    match format {
        Format::Json => print_events_json(&memory, &session, &events, &damage),
        Format::Markdown => print_markdown(session.row(), &events),
        _ => print_text(session.row(), &events, arguments.full),
    }?;
    report_damage(&damage)
}

pub(super) fn tail(setting: &Setting, arguments: &TailArgs) -> Result<(), Error> {
    #[cfg(feature = "columnar")]
    if let Some(path) = super::columnar::session_file(&arguments.session) {
        return super::columnar::tail(path, arguments);
    }
    #[cfg(feature = "columnar")]
    super::columnar::check_no_file(arguments)?;
    let memory = setting.memory()?;
    let session = memory.sessions().find(&arguments.session)?;
    let events = session.tail(arguments.count)?;
    tell_evicted(session.row(), &events);
    let damage = session_damage(&memory, &session)?;
    if arguments.json {
        print_events_json(&memory, &session, &events, &damage)
    } else {
        print_text(session.row(), &events, arguments.full)
    }?;
    report_damage(&damage)
}

/// Verifies what a session is shown from.
fn session_damage(memory: &Memory, session: &Session<'_>) -> Result<WithDamage<()>, Error> {
    let rows = AnswerRows::Session(session.row().id);
    Ok(memory.upkeep().with_damage((), Some(&rows))?)
}

/// Says so when there is less to show than there was.
fn tell_evicted(session: &SessionRow, events: &[EventView<'_>]) {
    let first = events.first().map(|event| event.seq);
    if session.evicted > Seq::ZERO && first.is_none_or(|first| first == session.evicted.next()) {
        talk(&evicted(session));
    }
}

fn evicted(session: &SessionRow) -> String {
    format!(
        "the text of its first {} events was evicted on {}; `backstory digest {}` tells what it was",
        session.evicted,
        local_time(session.evicted_at),
        session.session
    )
}

/// Gives the files of a session back as they are stored.
fn original(memory: &Memory, session: &Session<'_>, turn: Option<TurnNo>) -> Result<(), Error> {
    if turn.is_some() {
        return Err(Error::usage(
            "--format original gives whole files, not turns",
        ));
    }
    let row = session.row();
    if row.evicted > Seq::ZERO {
        return Err(Error::new(ErrorKind::NotFound, evicted(row)).hint(format!(
            "while its log is there, `backstory retain --restore {}` brings it back",
            row.session
        )));
    }
    let parent = row
        .parent
        .as_deref()
        .map(|parent| memory.sessions().row(parent));
    if let Some(Ok(parent)) = parent
        && parent.evicted > Seq::ZERO
    {
        talk(&format!(
            "records that it repeats of {}, which was evicted, may be blank",
            parent.session
        ));
    }
    let logs = session.own_logs()?;
    if logs.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("no stored file holds session {}", row.session),
        ));
    }
    if logs.len() > 1 {
        let files: Vec<&str> = logs.iter().map(|log| log.path.as_str()).collect();
        talk(&format!(
            "the session lies in several files, given one after the other: {}",
            files.join(", ")
        ));
    }
    let mut damage = session_damage(memory, session)?;
    // A file or a pipe gets every byte; a terminal would obey some of them.
    let damaged = if std::io::stdout().is_terminal() {
        talk("hidden characters are left out on a terminal; redirect the output to get every byte");
        print_original(session, &logs, &mut stdout())?
    } else {
        print_original(session, &logs, &mut std::io::stdout().lock())?
    };
    memory.upkeep().add_damage(&mut damage, damaged.as_slice());
    report_damage(&damage)
}

/// Prints the stored bytes of logs up to the first damaged piece, which is returned: what follows would stand in the wrong place.
fn print_original(
    session: &Session<'_>,
    logs: &[StoredLog],
    out: &mut impl Write,
) -> Result<Option<Damage>, Error> {
    let mut damaged = None;
    for log in logs {
        match session.copy_log(log, out) {
            Err(backstory_memory::Error::Store(StoreError::DamagedPiece(piece))) => {
                damaged = Some(*piece);
                break;
            }
            given => given?,
        }
    }
    out.flush()?;
    Ok(damaged)
}

/// A session as JSON, with its events or turns themselves in place of their number.
struct SessionAnswer<T> {
    session: Map<String, Value>,
    /// `events` or `turns`.
    key: &'static str,
    parts: T,
}

impl<T: Serialize> Serialize for SessionAnswer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.session.len()))?;
        for (key, value) in &self.session {
            if key == self.key {
                map.serialize_entry(key, &self.parts)?;
            } else {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// Events that are completed while they are written: a long session has hundreds of thousands.
struct EventRecords<'a> {
    session: &'a Session<'a>,
    events: &'a [EventView<'a>],
}

impl Serialize for EventRecords<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.events.len()))?;
        for events in self.events.chunks(EVENTS_AT_ONCE) {
            let records = self.session.event_records(events);
            for record in records.map_err(S::Error::custom)? {
                list.serialize_element(&record)?;
            }
        }
        list.end()
    }
}

fn print_events_json(
    memory: &Memory,
    session: &Session<'_>,
    events: &[EventView<'_>],
    damage: &WithDamage<()>,
) -> Result<(), Error> {
    let events = EventRecords { session, events };
    print_session(memory, session.row(), "events", events, damage)
}

fn print_turns_json(
    memory: &Memory,
    session: &Session<'_>,
    turn: Option<TurnNo>,
) -> Result<(), Error> {
    let turns = session.turns(turn, now())?;
    let damage = session_damage(memory, session)?;
    print_session(memory, session.row(), "turns", turns, &damage)?;
    report_damage(&damage)
}

fn print_session(
    memory: &Memory,
    row: &SessionRow,
    key: &'static str,
    parts: impl Serialize,
    damage: &WithDamage<()>,
) -> Result<(), Error> {
    let record = memory.sessions().open(row.clone()).record(now())?;
    let answer = serde_json::to_value(damage.map(|()| record));
    let Value::Object(session) = answer.map_err(std::io::Error::from)? else {
        return Ok(());
    };
    stream_json(&SessionAnswer {
        session,
        key,
        parts,
    })
}

fn print_text(session: &SessionRow, events: &[EventView<'_>], full: bool) -> Result<(), Error> {
    let mut out = stdout();
    let title = one_line(session.title.as_deref().unwrap_or("untitled"));
    writeln!(out, "{BOLD}{title}{BOLD:#}")?;
    let project = session
        .project
        .as_deref()
        .map_or(String::new(), |project| format!(" · {}", one_line(project)));
    let branch = session
        .branch
        .as_deref()
        .map_or(String::new(), |branch| format!(" ({})", one_line(branch)));
    writeln!(
        out,
        "{DIM}{} · {}{project}{branch} · {} to {}{DIM:#}",
        one_line(&session.session),
        session.agent,
        local_time(session.started_at),
        local_time(session.ended_at),
    )?;
    if let Some(parent) = &session.parent {
        let kind = session.parent_kind.as_deref().unwrap_or("child");
        let from = session.parent_seq.map_or(String::new(), |seq| {
            format!(", goes on from its event {seq}")
        });
        writeln!(out, "{DIM}{kind} of {}{from}{DIM:#}", one_line(parent))?;
    }
    for event in events {
        print_event(&mut out, event, full)?;
    }
    out.flush()?;
    Ok(())
}

fn print_event(out: &mut impl Write, event: &EventView<'_>, full: bool) -> Result<(), Error> {
    let row = &event.event;
    // A command says more than the call around it; a long one is cut in its column, so the call is shown then.
    let command = row
        .body
        .command
        .as_deref()
        .filter(|command| command.len() < LONG_COMMAND);
    let text = harmless(command.unwrap_or(event.text()));
    let heading = Heading {
        kind: row.kind,
        turn: Some(event.turn),
        at: row.at,
        model: row.model.as_deref(),
        tool: row.tool.as_deref().unwrap_or_default(),
        notes: result_notes(event),
        is_error: row.error,
    };
    print_heading(out, &heading)?;
    if let Some(damage) = &event.damage {
        writeln!(out, "  {RED}[{damage}]{RED:#}")?;
    }
    print_body(out, &text, full || is_shown_whole(row.kind))
}

/// Returns whether the text of an event is never shortened.
pub(super) fn is_shown_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Prompt | Kind::Reply)
}

/// Facts about an event that stand above its text.
pub(super) struct Heading<'a> {
    pub(super) kind: Kind,
    pub(super) turn: Option<TurnNo>,
    pub(super) at: Option<TimeMs>,
    pub(super) model: Option<&'a str>,
    pub(super) tool: &'a str,
    /// Exit code and duration of a tool result.
    pub(super) notes: String,
    pub(super) is_error: bool,
}

pub(super) fn print_heading(out: &mut impl Write, heading: &Heading<'_>) -> Result<(), Error> {
    let time = local_time(heading.at);
    let tool = one_line(heading.tool);
    let notes = &heading.notes;
    match heading.kind {
        Kind::Prompt => {
            let turn = heading.turn.map(|turn| format!("#{turn} "));
            let turn = turn.unwrap_or_default();
            writeln!(
                out,
                "\n{GREEN}{BOLD}▌ you{BOLD:#}{GREEN:#}  {DIM}{turn}{time}{DIM:#}"
            )?;
        }
        Kind::Reply => writeln!(
            out,
            "\n{BOLD}● {}{BOLD:#}  {DIM}{time}{DIM:#}",
            one_line(heading.model.unwrap_or("agent"))
        )?,
        Kind::Reasoning => writeln!(out, "\n{DIM}◦ thinks{DIM:#}")?,
        Kind::ToolCall => writeln!(out, "\n{BOLD}▸ {tool}{BOLD:#}  {DIM}{time}{DIM:#}")?,
        Kind::ToolResult if heading.is_error => writeln!(out, "  {RED}✗ {notes}{RED:#}")?,
        Kind::ToolResult => writeln!(out, "  {DIM}✓ {notes}{DIM:#}")?,
        Kind::Summary => writeln!(out, "\n{DIM}◆ summary{DIM:#}")?,
        Kind::System => writeln!(out, "\n{DIM}◇ system{DIM:#}")?,
    }
    Ok(())
}

fn result_notes(event: &EventView<'_>) -> String {
    let row = &event.event;
    let mut notes = Vec::new();
    if let Some(code) = row.exit_code {
        notes.push(format!("exit {code}"));
    }
    if let Some(duration) = row.duration_ms {
        notes.push(format!("{:.1} s", duration as f64 / 1000.0));
    }
    notes.join(", ")
}

pub(super) fn print_body(out: &mut impl Write, text: &str, whole: bool) -> Result<(), Error> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = if whole {
        lines.len()
    } else {
        SHORT_LINES.min(lines.len())
    };
    for line in &lines[..shown] {
        match line.char_indices().nth(SHORT_CHARACTERS) {
            Some((end, _)) if !whole => writeln!(out, "  {}{DIM}…{DIM:#}", &line[..end])?,
            _ => writeln!(out, "  {line}")?,
        }
    }
    if shown < lines.len() {
        writeln!(out, "  {DIM}… {} more lines{DIM:#}", lines.len() - shown)?;
    }
    Ok(())
}

fn print_markdown(session: &SessionRow, events: &[EventView<'_>]) -> Result<(), Error> {
    let mut out = stdout();
    writeln!(
        out,
        "# {}\n",
        one_line(session.title.as_deref().unwrap_or("untitled"))
    )?;
    writeln!(
        out,
        "- session: `{}`\n- agent: {}",
        one_line(&session.session),
        session.agent
    )?;
    if let Some(project) = &session.project {
        writeln!(out, "- project: `{}`", one_line(project))?;
    }
    for event in events {
        let row = &event.event;
        let tool = one_line(row.tool.as_deref().unwrap_or("tool"));
        match row.kind {
            _ if event.damage.is_some() => writeln!(out, "\n_[damaged]_")?,
            Kind::Prompt => writeln!(out, "\n## {} · you\n\n{}", event.turn, event.text())?,
            Kind::Reply => writeln!(out, "\n{}", event.text())?,
            Kind::ToolCall => writeln!(out, "\n**{tool}**\n\n{}", fenced(event.text()))?,
            Kind::ToolResult => writeln!(out, "\n{}", fenced(event.text()))?,
            kind => writeln!(
                out,
                "\n> _{}_\n>\n> {}",
                kind.name(),
                event.text().replace('\n', "\n> ")
            )?,
        }
    }
    out.flush()?;
    Ok(())
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
