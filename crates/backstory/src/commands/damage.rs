//! Damage behind an answer: the sound part is shown, then what is damaged is named and the command exits with 1.

use backstory_memory::upkeep::WithDamage;
use backstory_memory::{AnswerRows, Damage, Memory};
use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::output::print_json;

/// Returns the damage of the rows that an answer is made of, together with what was met while it was made.
pub(super) fn find_damage(memory: &Memory, rows: &AnswerRows<'_>) -> Result<Vec<Damage>, Error> {
    Ok(memory.upkeep().find_damage(rows)?)
}

/// Prints an answer for machines, with its damage.
pub(super) fn print_answer(answer: impl Serialize, damage: &[Damage]) -> Result<(), Error> {
    print_json(&WithDamage::new(answer, damage))
}

/// Names what is damaged, after everything sound was shown, and has the next sweep repair it.
pub(super) fn report_damage(memory: &Memory, damage: &[Damage]) -> Result<(), Error> {
    if damage.is_empty() {
        return Ok(());
    }
    memory.upkeep().note_damage(damage);
    let pieces: Vec<String> = damage.iter().map(Damage::to_string).collect();
    let error = Error::new(ErrorKind::NotFound, pieces.join("; "));
    Err(
        if damage
            .iter()
            .any(|damage| memory.upkeep().can_be_read_again(damage))
        {
            error.hint("the agent's log is still there: the next `backstory sweep` reads it again")
        } else {
            error.hint("restore the database from a backup; `backstory doctor --deep` lists everything that is damaged")
        },
    )
}
