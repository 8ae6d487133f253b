//! Damage behind an answer: the sound part is shown, then what is damaged is named and the command exits with 1.

use backstory_memory::upkeep::WithDamage;

use crate::error::{Error, ErrorKind};

/// Names what is damaged, after everything sound was shown.
pub(super) fn report_damage<T>(answer: &WithDamage<T>) -> Result<(), Error> {
    if answer.damage.is_empty() {
        return Ok(());
    }
    let error = Error::new(ErrorKind::NotFound, answer.damage.join("; "));
    Err(if answer.is_repairable {
        error.hint("the agent's log is still there: the next `backstory sweep` reads it again")
    } else {
        error.hint("restore the database from a backup; `backstory doctor --deep` lists everything that is damaged")
    })
}
