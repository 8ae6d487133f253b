//! Hostile edits: what they cost is bounded by their size, and ordinary ones are still located.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use backstory_event::{Change, FileEdit, Hunk, HunkLine, Substitution};

use super::{Interner, Lane};

fn edit(change: Change) -> FileEdit {
    FileEdit {
        path: "a.py".to_string(),
        moved_to: None,
        before: None,
        change,
    }
}

fn written(lines: impl Iterator<Item = String>) -> FileEdit {
    edit(Change::Written(lines.map(|line| line + "\n").collect()))
}

fn hunk(line: Option<usize>, removed: &[&str], added: &[&str]) -> Hunk {
    let removed = removed
        .iter()
        .map(|line| HunkLine::Removed(line.to_string()));
    let added = added.iter().map(|line| HunkLine::Added(line.to_string()));
    Hunk {
        line,
        lines: removed.chain(added).collect(),
        ..Hunk::default()
    }
}

/// The steps that wrote the lines of a file.
fn authors(lane: &Lane) -> Vec<Option<u32>> {
    lane.text
        .as_ref()
        .unwrap()
        .iter()
        .map(|line| line.by)
        .collect()
}

fn check_rewrites(
    name: &str,
    count: usize,
    first: impl Fn(usize) -> String,
    then: impl Fn(usize) -> String,
) {
    let mut interner = Interner::default();
    let mut lane = Lane::default();
    lane.apply(&written((0..count).map(first)), 1, &mut interner);
    lane.apply(&written((0..count).map(then)), 2, &mut interner);
    let lines = lane.text.as_ref().unwrap();
    assert_eq!(lines.len(), count, "{name}");
    assert!(lines.iter().any(|line| line.by == Some(2)), "{name}");
}

/// With a comparison that is quadratic in the number of lines the long ones take minutes.
#[test]
fn rewriting_a_long_file_takes_no_quadratic_time() {
    let line = |name: &'static str| move |at: usize| format!("{name} {at}");
    check_rewrites("no line in common", 50_000, line("old"), line("new"));
    check_rewrites("every second line", 50_000, line("old"), |at| {
        format!("{} {at}", if at.is_multiple_of(2) { "old" } else { "new" })
    });
    check_rewrites(
        "braces between",
        5_000,
        |at| {
            if at.is_multiple_of(2) {
                "}".to_string()
            } else {
                format!("old {at}")
            }
        },
        |at| {
            if at.is_multiple_of(2) {
                "}".to_string()
            } else {
                format!("new {at}")
            }
        },
    );
    check_rewrites("reversed", 5_000, line("old"), |at| {
        format!("old {}", 4_999 - at)
    });
    check_rewrites("permuted", 5_000, line("old"), |at| {
        format!("old {}", at * 7_919 % 5_000)
    });
    check_rewrites(
        "few different lines",
        5_000,
        |at| format!("line {}", at * at % 23),
        |at| format!("line {}", at * at % 19),
    );
}

#[test]
fn lines_that_stay_keep_their_author_when_every_second_one_changes() {
    let mut interner = Interner::default();
    let mut lane = Lane::default();
    let old = |at: usize| format!("old {at}");
    lane.apply(&written((0..1000).map(old)), 1, &mut interner);
    let new = |at: usize| format!("{} {at}", if at.is_multiple_of(2) { "old" } else { "new" });
    lane.apply(&written((0..1000).map(new)), 2, &mut interner);
    let expected: Vec<Option<u32>> = (0..1000).map(|at| Some(1 + at % 2)).collect();
    assert_eq!(authors(&lane), expected);
}

#[test]
fn a_numbered_hunk_goes_to_the_nearest_place() {
    let mut interner = Interner::default();
    for (line, expected) in [(1, 0), (2, 0), (4, 3), (5, 3), (6, 6), (9, 6), (900, 6)] {
        let mut lane = Lane::default();
        let text = ["x", "a", "b", "x", "c", "d", "x", "e"].map(str::to_string);
        lane.apply(&written(text.into_iter()), 1, &mut interner);
        let change = Change::Hunks(vec![hunk(Some(line), &["x"], &["y"])]);
        lane.apply(&edit(change), 2, &mut interner);
        let at = authors(&lane).iter().position(|by| *by == Some(2));
        assert_eq!(at, Some(expected), "line {line}");
    }
}

/// A file of 5,000 lines, then edits that cost as much as edits can.
fn check_cost(name: &str, change: impl Fn(usize) -> Change) {
    let mut interner = Interner::default();
    let mut lane = Lane::default();
    let text = (0..5_000_usize)
        .map(|at| format!("line {}", if at.is_multiple_of(2) { 0 } else { at % 997 }));
    lane.apply(&written(text), 1, &mut interner);
    for step in 2..100 {
        lane.apply(&edit(change(step)), step as u32, &mut interner);
    }
    let text: Vec<u32> = lane
        .text
        .as_ref()
        .unwrap()
        .iter()
        .map(|line| line.id)
        .collect();
    lane.synchronise(&text, &interner);
    let (made, most) = interner.comparisons();
    assert!(made <= most, "{name}: {made} of {most}");
    // Else nothing of this would have been tested.
    assert!(made > most / 2, "{name}: {made} of {most}");
}

#[test]
fn hostile_edits_cost_no_more_than_their_size_allows() {
    let many = |number: usize, change: fn(usize) -> Hunk| {
        Change::Hunks((0..10).map(|at| change(number * 10 + at)).collect())
    };
    check_cost("numbered hunks that are nowhere", |step| {
        many(step, |_| {
            hunk(Some(1), &["line 0", "line 1", "nowhere"], &["line 0"])
        })
    });
    check_cost("hunks that are nowhere", |step| {
        many(step, |_| {
            hunk(None, &["line 0", "line 1", "nowhere"], &["line 0"])
        })
    });
    check_cost("hunks below lines that are nowhere", |step| {
        many(step, |_| Hunk {
            after: vec!["nowhere".to_string(); 5],
            ..hunk(None, &["line 0"], &["line 1"])
        })
    });
    check_cost("loose lines that fit nearly everywhere", |step| {
        many(step, |at| {
            let end = format!("end {at}");
            hunk(Some(1), &["line 0", &end], &["line 0", "line 1", &end])
        })
    });
    check_cost("strings", |step| {
        let string = |at| Substitution {
            old: format!("line {}\nnowhere {at}", at % 997),
            new: "x".to_string(),
            all: false,
        };
        Change::Strings((step * 10..step * 10 + 10).map(string).collect())
    });
}

#[test]
fn replacing_a_string_everywhere_cannot_grow_a_file_without_bound() {
    let mut interner = Interner::default();
    let mut lane = Lane::default();
    lane.apply(
        &written(std::iter::once("a".repeat(1000))),
        1,
        &mut interner,
    );
    let strings = |new: String| {
        edit(Change::Strings(vec![Substitution {
            old: "a".to_string(),
            new,
            all: true,
        }]))
    };
    for step in 2..40 {
        lane.apply(&strings("aa".to_string()), step, &mut interner);
    }
    lane.apply(&strings("a".repeat(1 << 20)), 40, &mut interner);
    assert!(lane.whole(&interner).unwrap().len() <= 8 << 20);
    assert!(lane.loose() > 0);
}
