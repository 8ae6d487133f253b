//! `forget`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use backstory_memory::{Forget, ForgetPlaces, ForgetPlan, ForgetReport, SessionHead};
use serde_json::{Value, json};

use super::sessions::project_filter;
use super::sweep::drain_spool;
use crate::cli::ForgetArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{counted, one_line, print_json, rfc3339, short_bytes, stdout, talk, warn};
use crate::setting::Setting;

pub(super) fn run(setting: &Setting, arguments: &ForgetArgs) -> Result<(), Error> {
    let mut memory = setting.memory_to_write()?;
    let resumed = !arguments.dry_run && memory.resume_forget()?;
    if resumed {
        talk("finished forgetting what an interrupted run had begun to forget");
    }
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
    let places = ForgetPlaces {
        catalogue: Some(setting.catalogue()),
        user_home: Some(setting.home.clone()),
        here: std::env::current_dir().ok(),
        spool: Some(setting.spool()),
    };
    let plan = memory.plan_forget(&sessions, &places)?;
    if arguments.dry_run {
        return print_plan(&sessions, &plan, arguments.json);
    }
    let allowed = if arguments.yes {
        plan.published
    } else {
        confirm(&sessions, &plan)?
    };
    let report = memory.forget(&sessions, &places, &allowed)?;
    let printed = print_report(&sessions, &report, arguments.json);
    // A report that nobody reads must not hide that something is left.
    check_report(&report)?;
    printed
}

/// Fails when something is left.
fn check_report(report: &ForgetReport) -> Result<(), Error> {
    // What was left on purpose is named below, with the reason.
    let is_left = |place: &&String| {
        let mut left = report.left.iter();
        left.any(|left| left.path.display().to_string() == **place)
    };
    let remains = report.proof.remains.iter().filter(|place| !is_left(place));
    let remains: Vec<&str> = remains.map(String::as_str).collect();
    if !remains.is_empty() {
        return Err(Error::new(
            ErrorKind::Internal,
            format!(
                "text of the forgotten sessions is still in {}",
                remains.join(", ")
            ),
        )
        .hint("run `backstory forget` again; if it stays, remove these files"));
    }
    if !report.left.is_empty() {
        let files = report.left.iter();
        let files: Vec<String> = files
            .map(|left| format!("{}: {}", left.path.display(), left.reason))
            .collect();
        return Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "the store forgot, but text may be left in {}",
                files.join(", ")
            ),
        )
        .hint(
            "edit these files yourself; `backstory patterns publish` writes a published block anew",
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

/// Asks whether to forget, and returns the published files that may be changed.
fn confirm(sessions: &[SessionHead], plan: &ForgetPlan) -> Result<Vec<PathBuf>, Error> {
    if !std::io::stdin().is_terminal() {
        for path in &plan.published {
            warn(&format!(
                "{} has a published block that quotes it",
                path.display()
            ));
        }
        return Err(
            Error::usage("forgetting cannot be undone, and there is nobody to ask")
                .hint("--yes forgets without asking, --dry-run lists what would go"),
        );
    }
    for session in sessions {
        talk(&line(session));
    }
    let count = counted(sessions.len() as u64, "session");
    if !ask(&format!("forget {count} for good?"))? {
        return Err(Error::usage("nothing was forgotten"));
    }
    let mut allowed = Vec::new();
    for path in &plan.published {
        if ask(&format!(
            "{} has a published block that quotes it. Rewrite the block?",
            path.display()
        ))? {
            allowed.push(path.clone());
        }
    }
    Ok(allowed)
}

fn ask(question: &str) -> Result<bool, Error> {
    talk(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn print_plan(sessions: &[SessionHead], plan: &ForgetPlan, json: bool) -> Result<(), Error> {
    if json {
        let mut value = report_json(sessions, None);
        value["catalogue"] = json!(plan.catalogue);
        value["published"] = json!(plan.published);
        value["missing"] = json!(plan.missing);
        return print_json(&value);
    }
    let mut out = stdout();
    for session in sessions {
        writeln!(out, "{}", line(session))?;
    }
    let count = counted(sessions.len() as u64, "session");
    writeln!(out, "{count} would be forgotten")?;
    for path in plan.catalogue.iter().chain(&plan.published) {
        writeln!(out, "{} would be rewritten", path.display())?;
    }
    print_missing(&plan.missing);
    out.flush()?;
    Ok(())
}

fn print_missing(targets: &[String]) {
    for target in targets {
        warn(&format!(
            "a pattern was published in {target}, which was not found on this machine"
        ));
    }
}

fn print_report(sessions: &[SessionHead], report: &ForgetReport, json: bool) -> Result<(), Error> {
    print_missing(&report.missing);
    if json {
        return print_json(&report_json(sessions, Some(report)));
    }
    let mut out = stdout();
    let proof = &report.proof;
    writeln!(
        out,
        "Forgot {}, freed {}",
        counted(sessions.len() as u64, "session"),
        short_bytes(report.freed_bytes)
    )?;
    let searched = format!(
        "{}, {} searched",
        counted(proof.files_searched, "file"),
        counted(proof.blocks_searched, "block")
    );
    if proof.remains.is_empty() {
        // A published file that was kept or not found may still quote it.
        let place = match report.left.is_empty() && report.missing.is_empty() {
            true => "",
            false => " in the store",
        };
        writeln!(out, "Verified: no trace left{place} ({searched})")?;
    } else {
        writeln!(out, "Found in {} ({searched})", proof.remains.join(", "))?;
    }
    if !report.agent_logs.is_empty() {
        writeln!(
            out,
            "The agent's own log still has the text; delete it to be rid of it:"
        )?;
    }
    for path in &report.agent_logs {
        writeln!(out, "  {}", one_line(&path.display().to_string()))?;
    }
    out.flush()?;
    Ok(())
}

fn line(session: &SessionHead) -> String {
    format!(
        "{} {} {}",
        one_line(&session.session),
        session.agent,
        one_line(session.title.as_deref().unwrap_or("untitled"))
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
        "agent_logs": report.map(|report| &report.agent_logs),
        "left": report.map(|report| report.left.iter().map(|left| json!({
            "path": left.path,
            "reason": left.reason,
        })).collect::<Vec<_>>()),
        "missing": report.map(|report| &report.missing),
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
