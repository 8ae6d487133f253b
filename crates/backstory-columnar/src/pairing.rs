//! Pairing sessions whose ids have secrets with their old versions: several can have the same identity.

use std::collections::HashSet;

use crate::redaction::{redacted_id, unkeyed_markers};
use crate::rows::Message;

/// Rows whose text is compared. Later ones are compared by their ids.
const TEXT_ROWS: usize = 20;

/// Ids, times and texts of the records of a session, without secrets.
pub(crate) type RecordMarks = HashSet<String>;

/// Returns what a session is recognised by.
pub(crate) fn message_marks(rows: &[Message]) -> RecordMarks {
    let mut marks = RecordMarks::new();
    for (number, row) in rows.iter().enumerate() {
        let id = match row.uuid.is_empty() {
            true => format!("{} {}", row.kind, row.timestamp),
            false => redacted_id(&row.uuid),
        };
        if number < TEXT_ROWS && !row.text.is_empty() {
            // Of a text that was redacted, other parts of a line can be in the marker.
            let text = redacted_id(&row.text);
            marks.insert(format!("{id} {}", unkeyed_markers(&text)));
        }
        marks.insert(id);
    }
    marks
}

/// Pairs sessions of one identity with old ones by the records that they have in common, those with the most first. Where nothing is known
/// of the records, only one session on each side is a pair. Returns the places of each pair.
pub(crate) fn pair_sessions(new: &[RecordMarks], old: &[RecordMarks]) -> Vec<(usize, usize)> {
    if let ([new], [old]) = (new, old)
        && (new.is_empty() || old.is_empty())
    {
        return vec![(0, 0)];
    }
    let mut common = Vec::new();
    for (new_place, new) in new.iter().enumerate() {
        for (old_place, old) in old.iter().enumerate() {
            let count = new.intersection(old).count();
            if count > 0 {
                let different = new.len() + old.len() - 2 * count;
                common.push((std::cmp::Reverse(count), different, new_place, old_place));
            }
        }
    }
    common.sort_unstable();
    let (mut paired_new, mut paired_old) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::new();
    for (_, _, new, old) in common {
        if !paired_new.contains(&new) && !paired_old.contains(&old) {
            paired_new.insert(new);
            paired_old.insert(old);
            pairs.push((new, old));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_paired_by_what_they_have_in_common() {
        let marks = |records: &str| -> RecordMarks {
            records.split_whitespace().map(str::to_string).collect()
        };
        let pairs = |new: &[&str], old: &[&str]| {
            let all = |records: &[&str]| records.iter().map(|records| marks(records)).collect();
            let (new, old): (Vec<_>, Vec<_>) = (all(new), all(old));
            let mut pairs = pair_sessions(&new, &old);
            pairs.sort_unstable();
            pairs
        };
        assert_eq!(pairs(&["a b c", "d e"], &["d e", "a b"]), [(0, 1), (1, 0)]);
        assert_eq!(pairs(&["a b"], &["d e"]), []);
        assert_eq!(pairs(&["a b"], &[""]), [(0, 0)]);
        assert_eq!(pairs(&["a b", "c"], &[""]), []);
        // A fork has what its parent has.
        assert_eq!(
            pairs(&["a b c", "a b"], &["a b c", "a b"]),
            [(0, 0), (1, 1)]
        );
    }
}
