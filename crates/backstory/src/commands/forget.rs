//! `forget`.

use std::io::{IsTerminal, Write};

use backstory_memory::{Forget, ForgetReport, SessionHead};
use serde_json::{Value, json};

use super::sessions::project_filter;
use super::sweep::drain_spool;
use crate::cli::ForgetArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{counted, grouped, harmless, print_json, rfc3339, short_bytes, stdout, talk};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ForgetArgs) -> Result<(), Error> {
    let mut memory = setting.memory_to_write()?;
    drain_spool(setting, &mut memory)?;
    let project = arguments.project.as_deref().map(project_filter);
    let which = match (&arguments.session, &project, &arguments.query) {
        (Some(session), ..) => Forget::Session(session),
        (_, Some(project), _) => Forget::Project(project),
        (.., query) => Forget::Query(query.as_deref().unwrap_or_default()),
    };
    let sessions = memory.to_forget(which)?;
    if sessions.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "no session matches"));
    }
    if arguments.dry_run {
        return tell(&sessions, None, arguments.json);
    }
    if !arguments.yes {
        confirm(&sessions)?;
    }
    let report = memory.forget(&sessions)?;
    tell(&sessions, Some(&report), arguments.json)?;
    if !report.proof.remains.is_empty() {
        return Err(Error::new(
            ErrorKind::Internal,
            format!(
                "forgotten, but something of it is left in {}",
                report.proof.remains.join(", ")
            ),
        ));
    }
    if report.unclean {
        return Err(Error::new(
            ErrorKind::Internal,
            "forgotten, but another process keeps old states of the files",
        )
        .hint("stop it and run `backstory sweep`, which cleans up"));
    }
    Ok(())
}

fn confirm(sessions: &[SessionHead]) -> Result<(), Error> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Error::usage("forgetting cannot be undone, and there is nobody to ask")
                .hint("--yes forgets without asking, --dry-run lists what would go"),
        );
    }
    for session in sessions {
        talk(&line(session));
    }
    talk(&format!(
        "forget {} for good? [y/N]",
        counted(sessions.len() as u64, "session")
    ));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Error::usage("nothing was forgotten"))
    }
}

fn tell(sessions: &[SessionHead], report: Option<&ForgetReport>, json: bool) -> Result<(), Error> {
    if json {
        return print_json(&report_json(sessions, report));
    }
    let mut out = stdout();
    match report {
        None => {
            for session in sessions {
                writeln!(out, "{}", line(session))?;
            }
            writeln!(
                out,
                "{} would be forgotten",
                counted(sessions.len() as u64, "session")
            )?;
        }
        Some(report) => {
            let proof = &report.proof;
            writeln!(
                out,
                "forgot {}, which freed {}",
                counted(sessions.len() as u64, "session"),
                short_bytes(report.freed_bytes)
            )?;
            writeln!(
                out,
                "{} strings were looked for in {} files and {} blocks: found in {}",
                grouped(proof.strings),
                grouped(proof.files_searched),
                grouped(proof.blocks_searched),
                proof.remains.len()
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

fn line(session: &SessionHead) -> String {
    format!(
        "{} {} {}",
        session.session,
        session.agent,
        harmless(session.title.as_deref().unwrap_or("untitled"))
    )
}

fn report_json(sessions: &[SessionHead], report: Option<&ForgetReport>) -> Value {
    let sessions = sessions.iter().map(|session| {
        json!({
            "session": session.session,
            "agent": session.agent,
            "title": session.title,
            "ended_at": rfc3339(session.ended_at),
        })
    });
    json!({
        "sessions": sessions.collect::<Vec<_>>(),
        "dry_run": report.is_none(),
        "freed_bytes": report.map_or(0, |report| report.freed_bytes),
        "final_usage_bytes": report.map(|report| report.final_usage_bytes),
        "proof": report.map(|report| json!({
            "files_searched": report.proof.files_searched,
            "blocks_searched": report.proof.blocks_searched,
            "strings": report.proof.strings,
            "found": report.proof.remains.len(),
            "remains": report.proof.remains,
        })),
    })
}
