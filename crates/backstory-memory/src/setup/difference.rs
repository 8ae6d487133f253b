//! What would change in a file, for people.

use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

/// How many lines are shown around a change.
const AROUND: usize = 1;

/// The changed lines, each behind `-` or `+`, with their neighbours and where they are.
pub(super) fn difference(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let operations = capture_diff_slices(Algorithm::Myers, &before, &after);
    let mut text = String::new();
    for group in group_diff_ops(operations, AROUND) {
        let first = group
            .first()
            .map_or(0, |operation| operation.old_range().start);
        text.push_str(&format!("@@ line {} @@\n", first + 1));
        let mut show = |sign: char, lines: &[&str]| {
            for line in lines {
                text.push(sign);
                text.push_str(line);
                text.push('\n');
            }
        };
        for operation in group {
            let (tag, old, new) = operation.as_tag_tuple();
            if tag == DiffTag::Equal {
                show(' ', &before[old]);
            } else {
                show('-', &before[old]);
                show('+', &after[new]);
            }
        }
    }
    text
}
