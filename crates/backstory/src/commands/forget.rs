//! `forget`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use backstory_memory::upkeep::{
    Forget, ForgetPlaces, ForgetPlan, ForgetRecord, ForgetReport, Leftover, ResumedForget,
};
use backstory_memory::{Memory, SessionHead};

use super::sessions::project_filter;
use super::sweep::drain_spool;
use crate::cli::ForgetArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{counted, one_line, print_json, say, short_bytes, stdout, talk, warn};
use crate::setting::Setting;
use crate::shell;

pub(super) fn run(setting: &Setting, arguments: &ForgetArgs) -> Result<(), Error> {
    if arguments.dry_run {
        return print_dry_run(setting, arguments);
    }
    let memory = setting.memory_to_write()?;
    if arguments.renew_keys {
        return renew_keys(&memory);
    }
    let project = arguments.project.as_deref().map(project_filter);
    let which = selection(arguments, project.as_deref());
    // What the arguments mean while an interrupted run has not been finished yet.
    let asked_before = match memory.upkeep().has_unfinished_forget()? {
        true => find_sessions(&memory, which).unwrap_or_default(),
        false => Vec::new(),
    };
    let resumed = memory.upkeep().resume_forget()?;
    if let Some(resumed) = resumed.as_ref().filter(|_| !arguments.json) {
        print_resumed(resumed)?;
    }
    drain_spool(setting, &memory)?;
    let sessions = match find_sessions(&memory, which) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let Some(resumed) = &resumed else {
                return Err(error);
            };
            if arguments.json {
                print_json(&ForgetRecord::new(&[], None, Some(resumed)))?;
            }
            // The command of the interrupted run, run again: all that it was to forget is gone now.
            let is_same = resumed.covers(which, &asked_before);
            return Error::join_all(
                (!is_same)
                    .then_some(error)
                    .into_iter()
                    .chain(report_errors(&resumed.report)),
            );
        }
        sessions => sessions?,
    };
    let places = forget_places(setting);
    let plan = memory.upkeep().plan_forget(&sessions, &places)?;
    let allowed = if arguments.yes {
        plan.published
    } else {
        confirm(&sessions, &plan)?
    };
    let report = memory.upkeep().forget(&sessions, &places, &allowed)?;
    let printed = if arguments.json {
        print_json(&ForgetRecord::new(
            &sessions,
            Some(&report),
            resumed.as_ref(),
        ))
    } else {
        print_report(&sessions, &report)
    };
    // A report that nobody reads must not hide that something is left.
    let resumed = resumed.iter().map(|resumed| &resumed.report);
    Error::join_all(resumed.chain([&report]).flat_map(report_errors))?;
    printed
}

/// Replaces damaged keys.
fn renew_keys(memory: &Memory) -> Result<(), Error> {
    match memory.upkeep().renew_keys()?.as_slice() {
        [] => say("no key is damaged; nothing was changed"),
        damaged => say(&format!("replaced: {}", damaged.join(", "))),
    }
}

/// Returns the selection that was typed, with its project as a filter.
fn selection<'a>(arguments: &'a ForgetArgs, project: Option<&'a str>) -> Forget<'a> {
    match (&arguments.session, project, &arguments.query) {
        (Some(session), ..) => Forget::Session(session),
        (_, Some(project), _) => Forget::Project(project),
        (.., query) => Forget::Query(query.as_deref().unwrap_or_default()),
    }
}

/// Returns the sessions that were asked for; an error when there are none.
fn find_sessions(memory: &Memory, which: Forget<'_>) -> Result<Vec<SessionHead>, Error> {
    let sessions = memory.upkeep().to_forget(which)?;
    match sessions.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, "no session matches")),
        false => Ok(sessions),
    }
}

fn forget_places(setting: &Setting) -> ForgetPlaces {
    ForgetPlaces {
        catalogue: Some(setting.catalogue()),
        user_home: Some(setting.home.clone()),
        here: std::env::current_dir().ok(),
        spool: Some(setting.spool()),
    }
}

/// Prints what would be forgotten and rewritten. Writes nothing: what waits in the spool stays there.
fn print_dry_run(setting: &Setting, arguments: &ForgetArgs) -> Result<(), Error> {
    let memory = setting.memory_untouched()?;
    let waiting = setting.spool().len();
    if waiting > 0 {
        warn(&format!(
            "{} in the spool not looked at: a dry run does not store them",
            match waiting {
                1 => "1 capture is".to_string(),
                count => format!("{count} captures are"),
            }
        ));
    }
    let project = arguments.project.as_deref().map(project_filter);
    let sessions = find_sessions(&memory, selection(arguments, project.as_deref()))?;
    let plan = memory
        .upkeep()
        .plan_forget(&sessions, &forget_places(setting))?;
    warn_of_refused(&plan);
    print_plan(&sessions, &plan, arguments.json)
}

/// Returns an error for everything that is left.
fn report_errors(report: &ForgetReport) -> Vec<Error> {
    let mut errors = Vec::new();
    if report.unclean {
        errors.push(
            Error::new(
                ErrorKind::Internal,
                "forgotten, but another process keeps old states of the files",
            )
            .hint("stop it and run `backstory sweep`, which cleans up"),
        );
    }
    let remains = report.unexpected_remains();
    if !remains.is_empty() {
        errors.push(
            Error::new(
                ErrorKind::Internal,
                format!(
                    "text of the forgotten sessions is still in {}",
                    remains.join(", ")
                ),
            )
            .hint("`backstory sweep` cleans up files of the store; edit other files yourself"),
        );
    }
    let left = report.left.iter();
    let left = left.map(|left| format!("{}: {}", left.path.display(), left.reason));
    let missing = report.missing.iter();
    let missing = missing
        .map(|target| format!("{target}: a pattern was published there, and it was not found"));
    let files: Vec<String> = left.chain(missing).collect();
    if !files.is_empty() {
        let mut error = Error::new(
            ErrorKind::NotFound,
            format!(
                "the store forgot, but text may be left in {}",
                files.join(", ")
            ),
        );
        for left in &report.left {
            error = error.hints(writable_hint(left));
        }
        errors.push(error.hint(
            "edit these files yourself, wherever they are now; `backstory patterns publish` writes a published block anew",
        ));
    }
    if !report.proof.unsearched.is_empty() {
        let pieces = report.proof.unsearched.iter();
        let pieces: Vec<String> = pieces.map(ToString::to_string).collect();
        errors.push(Error::new(
            ErrorKind::NotFound,
            format!(
                "forgotten, but not all could be searched: {}",
                pieces.join("; ")
            ),
        )
        .hint("the next `backstory sweep` reads it again if the agent's log is still there; `backstory doctor --deep` checks everything"));
    }
    errors
}

/// Returns how to make a file trusted that was refused because others can write it.
fn writable_hint(left: &Leftover) -> Option<String> {
    let is_writable = left.reason.contains("others can write it");
    is_writable.then(|| {
        format!(
            "nobody else may write it: chmod go-w {}",
            shell::quoted(&left.path.to_string_lossy())
        )
    })
}

/// Warns of files that the run will not change.
fn warn_of_refused(plan: &ForgetPlan) {
    for left in &plan.refused {
        let path = one_line(&left.path.display().to_string());
        let hint = writable_hint(left)
            .unwrap_or_else(|| "mend it, or edit it yourself afterwards".to_string());
        warn(&format!(
            "{path} may quote it and stays as it is: {}; {hint}",
            left.reason
        ));
    }
}

/// Asks whether to forget, and returns the published files that may be changed.
fn confirm(sessions: &[SessionHead], plan: &ForgetPlan) -> Result<Vec<PathBuf>, Error> {
    warn_of_refused(plan);
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
        return print_json(&ForgetRecord::planned(sessions, plan));
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
    if !plan.agent_logs.is_empty() {
        writeln!(out, "The agent's own log would keep the text:")?;
    }
    for path in &plan.agent_logs {
        writeln!(out, "  {}", one_line(&path.display().to_string()))?;
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

/// Prints what an interrupted run had begun and this one finished.
fn print_resumed(resumed: &ResumedForget) -> Result<(), Error> {
    if resumed.sessions.is_empty() {
        talk("finished cleaning up what an interrupted run had left in files of the store");
    } else {
        talk("finished forgetting what an interrupted run had begun to forget:");
    }
    for session in &resumed.sessions {
        talk(&format!("  {}", line(session)));
    }
    print_report(&resumed.sessions, &resumed.report)
}

fn print_report(sessions: &[SessionHead], report: &ForgetReport) -> Result<(), Error> {
    let mut out = stdout();
    let proof = &report.proof;
    let freed = short_bytes(report.freed_bytes);
    match sessions.len() {
        0 => writeln!(out, "Cleaned up, freed {freed}")?,
        count => writeln!(
            out,
            "Forgot {}, freed {freed}",
            counted(count as u64, "session")
        )?,
    }
    for (title, is_removed) in [("Rewrote:", false), ("Removed:", true)] {
        let files = report.rewritten.iter();
        let mut files = files
            .filter(|file| file.is_removed == is_removed)
            .peekable();
        if files.peek().is_some() {
            writeln!(out, "{title}")?;
        }
        for file in files {
            let path = one_line(&file.path.display().to_string());
            writeln!(out, "  {:<15} {path}", file.place.name())?;
        }
    }
    let searched = format!(
        "{}, {} searched",
        counted(proof.files_searched, "file"),
        counted(proof.blocks_searched, "block")
    );
    if proof.strings == 0 {
        // Nobody knows any more what to look for.
    } else if proof.remains.is_empty() {
        // A published file that was kept or not found may still quote it.
        let is_everywhere = report.left.is_empty() && report.missing.is_empty();
        let place = match (proof.unsearched.is_empty(), is_everywhere) {
            (false, _) => " in what could be read",
            (true, true) => "",
            (true, false) => " in the store",
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
