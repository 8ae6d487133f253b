//! `sweep --sample`: sessions that the program makes up, in a store of their own, to try everything with.

use std::io::Write;
use std::path::Path;

use backstory_agents::sample;
use backstory_memory::{ImportOptions, Memory, Places, SessionFilter, Sources};

use super::sweep::print_report;
use crate::cli::SweepArgs;
use crate::error::Error;
use crate::naming::short_id;
use crate::output::{BOLD, print_json, stdout};
use crate::setting::{Setting, now, program};

pub(super) fn run(setting: &Setting, arguments: &SweepArgs) -> Result<(), Error> {
    let folder = setting.store.join("sample");
    let (logs, store) = (folder.join("home"), folder.join("store"));
    // Made anew each time: sessions end now, and the store must hold nothing else.
    for old in [&logs, &store] {
        match std::fs::remove_dir_all(old) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let memory = Memory::open(&store)?;
    write_logs(&logs)?;
    let places = Places {
        home: &logs,
        variable: &|_| None,
    };
    let report = memory.import(&ImportOptions::new(Sources::known(&places)), &mut |_| {})?;
    if arguments.json {
        return print_json(&report);
    }
    print_report(&store, &report, false)?;
    let newest = memory.sessions().list(&SessionFilter {
        people_only: true,
        limit: 1,
        ..SessionFilter::default()
    })?;
    let id = newest.first().map_or_else(
        || "SESSION".to_string(),
        |row| short_id(&memory, &row.agent, &row.session),
    );
    let program = program();
    let mut out = stdout();
    writeln!(
        out,
        "\n{BOLD}Now try{BOLD:#}\n  export BACKSTORY_HOME='{}'",
        store.display()
    )?;
    for (command, what) in [
        ("sessions".to_string(), "what was done, newest first"),
        (
            "search flaky cart test".to_string(),
            "the turn that is about it",
        ),
        (format!("show {id}"), "one session, as it went"),
        (format!("digest {id}"), "what it was about and how it ended"),
        (format!("tail {id} -n 5"), "its last events"),
        (
            "changes".to_string(),
            "which functions each turn changed, and why",
        ),
        (
            "context --project shop".to_string(),
            "what a new session of that project would be told",
        ),
        (
            "usage daily".to_string(),
            "tokens by day; also by model, session, project",
        ),
        (
            format!("show {id} --format original"),
            "the log itself, byte for byte",
        ),
        (
            "doctor".to_string(),
            "where things are and whether all is well",
        ),
    ] {
        writeln!(out, "  {program} {command:<32} # {what}")?;
    }
    writeln!(
        out,
        "\nThen `unset BACKSTORY_HOME` and `{program} sweep` takes in your own logs."
    )?;
    out.flush()?;
    Ok(())
}

fn write_logs(home: &Path) -> Result<(), Error> {
    for file in sample::story(now()) {
        let path = home.join(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, file.bytes)?;
    }
    Ok(())
}
