//! What is wrong in words, and what to do about it.

use backstory_memory::examine::{Finding, Repair};
use backstory_memory::{StoreError, UnreadLog};

use crate::error::{Error, RENEW_KEYS};
use crate::output::{counted, grouped, local_time, one_line};
use crate::setting::Setting;
use crate::shell;

/// The remedy for damage that no log can repair.
const RESTORE: &str = "restore backstory.db from a backup";

/// What to do about a database that is not one any more.
const REBUILD: &str = "copy the folder of the store first, then restore backstory.db from a backup, or move it away and run \
     `backstory sweep`, which imports the logs that agents still have; sessions whose logs the agent deleted exist only here";

/// Returns a finding as a sentence.
pub(super) fn sentence(setting: &Setting, finding: Finding) -> String {
    let database = setting.store.join("backstory.db");
    let database = database.display();
    match finding {
        Finding::LostTables => format!(
            "{database} has no tables, but the index was made from it: its journal backstory.db-wal was removed or emptied; {REBUILD}"
        ),
        Finding::UnreadableStore(error, sessions) => store_problem(setting, error, sessions),
        Finding::Damage(damage, repair) => {
            let remedy = match repair {
                Repair::NextSweep => {
                    "the next `backstory sweep` reads it again from the agent's log"
                }
                Repair::NewKeys => RENEW_KEYS,
                Repair::Recreated => "the next `backstory sweep` makes it anew",
                Repair::Backup => RESTORE,
            };
            format!("{damage}; {remedy}")
        }
        Finding::DamagedVectors(error) => {
            format!("{error}; `backstory embed` makes them anew")
        }
        Finding::DamagedDatabase(damage) => format!("the database is damaged: {damage}"),
        Finding::PartlyReadable(sessions) => format!(
            "{database} is damaged as said above; {} can still be listed; {REBUILD}",
            counted(sessions, "session")
        ),
        Finding::Orphans(kind, count) => format!("{kind}: {}; {RESTORE}", grouped(count)),
        Finding::DamagedIndex(damage) => format!("{damage}; the next sweep makes it anew"),
        Finding::MissingModel(model) => format!("the model {model} is in use but not here"),
        Finding::NotPrivate(reason) => format!(
            "{} is not private, so that nothing can be written to it: {reason}",
            setting.store.display()
        ),
        Finding::UnreadableCatalogue(error) => error.to_string(),
        Finding::RefusedPattern(problem) => {
            let path = problem.path.display().to_string();
            let remedy = file_remedy(&problem.reason, &path, "mend or remove the file");
            format!(
                "{path} of the pattern catalogue is not read: {}; {remedy}",
                problem.reason
            )
        }
        Finding::UnreadableHooks {
            agent,
            file,
            reason,
        } => {
            let file = file.display().to_string();
            let remedy = file_remedy(&reason, &file, "mend the file by hand");
            format!("{file}, which has the hooks of {agent}, cannot be read: {reason}; {remedy}")
        }
        Finding::RefusedCapture(problem) => {
            format!("{}: {}", problem.path.display(), problem.reason)
        }
        Finding::FailedItems(count) => format!(
            "{} that hooks left to do failed; `backstory queue --state failed` tells why",
            counted(count, "item")
        ),
        Finding::UnreadLog(log) => unread_log(&log),
        Finding::UnreadableSource(problem) => format!(
            "cannot look at {}: {}",
            problem.path.display(),
            problem.reason
        ),
        Finding::UrgentDeletion(deletion, days) => format!(
            "{} deletes a log that is not kept yet in {}: sweep now",
            deletion.agent.title,
            counted(days.max(0).unsigned_abs(), "day")
        ),
        Finding::Failed(error) => Error::from(error).with_hints(),
    }
}

fn unread_log(log: &UnreadLog) -> String {
    let path = log.path.display().to_string();
    format!(
        "not read, or only in part, since {}: {}: {}",
        local_time(Some(log.since)),
        one_line(&path),
        one_line(&log.reason)
    )
}

/// Returns what is wrong with a store that cannot be read, what of it can be, and what to do.
fn store_problem(
    setting: &Setting,
    error: backstory_memory::Error,
    sessions: Option<usize>,
) -> String {
    let database = setting.store.join("backstory.db");
    let read = match sessions {
        Some(count) => format!(
            "{} can still be listed with `backstory sessions`",
            counted(count as u64, "session")
        ),
        None => "nothing of it can be read".to_string(),
    };
    let backstory_memory::Error::Store(refused) = &error else {
        return Error::from(error).with_hints();
    };
    match refused {
        StoreError::Damaged(reason) => {
            format!(
                "{} is damaged: {reason}; {read}; {REBUILD}",
                database.display()
            )
        }
        StoreError::Database(reason) => format!(
            "{} cannot be read: {reason}; stop other processes that use it and run this again; copy the folder of the store \
             before you change anything in it",
            database.display()
        ),
        StoreError::Lost { .. } => format!("{error}; {read}; {REBUILD}"),
        StoreError::WrongType { path, .. } if *path == database => {
            format!("{error}; {read}; {REBUILD}")
        }
        StoreError::NotPrivate { .. }
        | StoreError::TooNew { .. }
        | StoreError::Full
        | StoreError::WrongType { .. } => Error::from(error).with_hints(),
        // Their hint is to run this command.
        _ => error.to_string(),
    }
}

/// Returns what to do about a file that was refused.
fn file_remedy(reason: &str, path: &str, otherwise: &str) -> String {
    match reason.contains("others can write it") {
        true => format!("chmod go-w {}", shell::quoted(path)),
        false => otherwise.to_string(),
    }
}
