//! `tail` of an HDF5 file.

use std::io::Write;
use std::path::Path;

use backstory_columnar::{Message, Session, SessionFile};
use backstory_memory::TimeMs;
use serde_json::json;

use super::session_file::find_id;
use crate::cli::TailArgs;
use crate::commands::show::{Heading, is_shown_whole, print_body, print_heading};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, harmless, one_line, print_json, stdout};

/// Prints the end of a session in a file.
pub(in crate::commands) fn tail(path: &Path, arguments: &TailArgs) -> Result<(), Error> {
    let file = SessionFile::open(path)?;
    let id = match &arguments.session_in_file {
        Some(prefix) => find_id(&file, prefix)?,
        None => file
            .newest_session()?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "the file has no session"))?,
    };
    let session = file.session(&id)?;
    let messages = last_shown(&session, arguments.count)?;
    if arguments.json {
        return print_json(&json!({ "session": id, "messages": messages }));
    }
    let mut out = stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}", one_line(&id))?;
    for message in &messages {
        let time = TimeMs::new((message.timestamp * 1000.0) as i64);
        for block in message.content_blocks() {
            let heading = Heading {
                kind: block.kind,
                turn: None,
                at: (message.timestamp > 0.0).then_some(time),
                model: Some(message.model.as_str()).filter(|model| !model.is_empty()),
                tool: &block.tool,
                notes: String::new(),
                is_error: block.is_error,
            };
            print_heading(&mut out, &heading)?;
            let is_whole = arguments.full || is_shown_whole(block.kind);
            print_body(&mut out, &harmless(&block.text), is_whole)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns the last `count` messages that have something to print.
fn last_shown(session: &Session<'_>, count: u64) -> Result<Vec<Message>, Error> {
    let mut asked = count;
    loop {
        let mut messages = session.tail(asked)?;
        let is_all = (messages.len() as u64) < asked;
        messages.retain(|message| !message.content_blocks().is_empty());
        let surplus = (messages.len() as u64).saturating_sub(count);
        if is_all || messages.len() as u64 >= count {
            messages.drain(..surplus as usize);
            return Ok(messages);
        }
        asked = asked.saturating_mul(2);
    }
}
