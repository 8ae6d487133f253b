//! Edits of one file, and who its lines are by: `1a` is line `a` by the first edit, `-a` is by nobody.

use std::path::PathBuf;

use backstory_event::{FileEdit, Hunk, HunkLine, Substitution};

use super::*;

fn place(name: &str) -> Place {
    Place {
        base: PathBuf::from("/s"),
        name: name.to_string(),
    }
}

fn lines(text: &str) -> String {
    text.split_whitespace()
        .map(|line| format!("{line}\n"))
        .collect()
}

fn edit(before: Option<&str>, change: Change) -> FileEdit {
    FileEdit {
        path: "f".into(),
        moved_to: None,
        before: before.map(lines),
        change,
    }
}

fn wrote(text: &str) -> FileEdit {
    edit(None, Change::Written(lines(text)))
}

fn string(before: Option<&str>, old: &str, new: &str) -> FileEdit {
    let all = false;
    let (old, new) = (lines(old), lines(new));
    edit(
        before,
        Change::Strings(vec![Substitution { old, new, all }]),
    )
}

/// `a -b +c` keeps, removes and adds.
fn hunk(text: &str) -> FileEdit {
    let line = |word: &str| match (word.strip_prefix('-'), word.strip_prefix('+')) {
        (Some(gone), _) => HunkLine::Removed(gone.into()),
        (_, Some(new)) => HunkLine::Added(new.into()),
        _ => HunkLine::Kept(word.into()),
    };
    let hunk = Hunk {
        lines: text.split_whitespace().map(line).collect(),
        ..Hunk::default()
    };
    edit(None, Change::Hunks(vec![hunk]))
}

#[track_caller]
fn check(edits: Vec<FileEdit>, now: &str, expect: &str) {
    let step = |edit| Step::on(place("f"), None, edit);
    check_steps(
        &edits.into_iter().map(step).collect::<Vec<_>>(),
        now,
        expect,
    );
}

#[track_caller]
fn check_steps(steps: &[Step], now: &str, expect: &str) {
    let text = lines(now);
    let told = replay(steps, &place("f"), &[], &text);
    let told: Vec<String> = text
        .lines()
        .zip(told)
        .map(|(text, line)| match line.by {
            Some(by) => format!("{}{text}", by + 1),
            None => format!("-{text}"),
        })
        .collect();
    assert_eq!(told.join(" "), expect);
}

#[test]
fn lines_that_an_edit_keeps_keep_their_writer() {
    check(
        vec![wrote("aa bb cc"), wrote("aa xx cc")],
        "aa xx cc",
        "1aa 2xx 1cc",
    );
    check(
        vec![wrote("aa bb cc"), hunk("aa -bb +xx cc")],
        "aa xx cc",
        "1aa 2xx 1cc",
    );
    check(
        vec![wrote("aa bb cc"), hunk("-aa -bb +aa +xx")],
        "aa xx cc",
        "1aa 2xx 1cc",
    );
    check(
        vec![wrote("aa bb cc"), string(None, "aa bb", "aa xx")],
        "aa xx cc",
        "1aa 2xx 1cc",
    );
}

#[test]
fn who_writes_a_text_back_is_its_writer() {
    check(
        vec![wrote("aa bb"), hunk("aa -bb +xx"), hunk("aa -xx +bb")],
        "aa bb",
        "1aa 3bb",
    );
    check(
        vec![wrote("aa bb"), wrote("aa"), wrote("aa bb")],
        "aa bb",
        "1aa 3bb",
    );
}

#[test]
fn what_people_write_is_by_nobody() {
    check(vec![wrote("aa bb")], "aa xx bb yy", "1aa -xx 1bb -yy");
    check(
        vec![string(Some("aa bb cc"), "bb", "xx")],
        "aa xx cc",
        "-aa 1xx -cc",
    );
    // The log tells what was there before the second edit.
    let second = string(Some("aa hand bb"), "bb", "xx");
    check(vec![wrote("aa bb"), second], "aa hand xx", "1aa -hand 2xx");
}

#[test]
fn an_edit_that_nearly_fits_mends_the_text() {
    let edits = vec![wrote("aa bb cc dd ee"), hunk("aa hand cc -dd +xx ee")];
    check(edits, "aa hand cc xx ee", "1aa -hand 1cc 2xx 1ee");
}

#[test]
fn an_edit_of_an_unknown_text_counts_where_it_is_found() {
    check(
        vec![hunk("aa -bb +xx +yy cc")],
        "zz aa xx yy cc",
        "-zz -aa 1xx 1yy -cc",
    );
    check(
        vec![string(None, "bb", "xx yy")],
        "aa xx hand yy",
        "-aa 1xx -hand 1yy",
    );
    // Twice the same: nobody knows which.
    check(
        vec![hunk("aa +xx bb")],
        "aa xx bb aa xx bb",
        "-aa -xx -bb -aa -xx -bb",
    );
    // Found in the text that a later log tells.
    let second = string(Some("aa xx bb cc"), "cc", "yy");
    check(
        vec![hunk("aa +xx bb"), second],
        "aa xx bb yy",
        "-aa 1xx -bb 2yy",
    );
}

#[test]
fn a_file_that_is_deleted_begins_anew() {
    let gone = edit(None, Change::Deleted);
    check(vec![wrote("aa bb"), gone.clone(), wrote("aa")], "aa", "3aa");
    check(vec![wrote("aa bb"), gone], "aa", "-aa");
}

#[test]
fn a_moved_file_takes_its_lines_along() {
    let moved = FileEdit {
        moved_to: Some("f".into()),
        ..hunk("aa +xx")
    };
    let steps = vec![
        Step::on(place("old"), None, wrote("aa bb")),
        Step::on(place("old"), Some(place("f")), moved),
        Step::on(place("f"), None, hunk("-bb +yy")),
    ];
    check_steps(&steps, "aa xx yy", "1aa 2xx 3yy");
}

#[test]
fn other_worktrees_tell_what_was_merged() {
    let worktree = Place {
        base: PathBuf::from("/s/.worktrees/w"),
        ..place("f")
    };
    let steps = vec![
        Step::on(place("f"), None, wrote("aa bb")),
        Step::on(worktree, None, string(Some("aa bb"), "bb", "xx")),
    ];
    check_steps(&steps, "aa xx", "1aa 2xx");
}

#[test]
fn carriage_returns_make_no_difference() {
    let mut crlf = wrote("aa bb");
    crlf.change = Change::Written("aa\r\nbb\r\n".into());
    check(vec![crlf, hunk("aa -bb +xx")], "aa xx", "1aa 2xx");
}

#[test]
fn any_edits_are_fine() {
    let mut state = 7u64;
    let mut roll = |sides: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % sides
    };
    const WORDS: [&str; 7] = ["aa", "bb", "cc", "-aa", "-bb", "+cc", "+dd"];
    for _ in 0..3000 {
        let mut text = |words: &[&str]| {
            let words = (0..roll(8)).map(|_| words[roll(words.len() as u64) as usize]);
            words.collect::<Vec<_>>().join(" ")
        };
        let (before, plain) = (text(&WORDS[..3]), text(&WORDS[..3]));
        let edits = [text(&WORDS), text(&WORDS), text(&WORDS)].map(|words| hunk(&words));
        let mut edits = edits.to_vec();
        edits.push(string(None, &plain, &before));
        edits.insert(roll(4) as usize, string(Some(&before), &plain, "dd"));
        if let Change::Hunks(hunks) = &mut edits[0].change
            && let Some(hunk) = hunks.first_mut()
        {
            hunk.line = Some([0, 3, usize::MAX][roll(3) as usize]);
            hunk.at_end = roll(2) == 0;
        }
        let steps: Vec<Step> = edits
            .into_iter()
            .map(|edit| Step::on(place("f"), None, edit))
            .collect();
        let now = lines(&before);
        assert_eq!(
            replay(&steps, &place("f"), &[], &now).len(),
            now.lines().count()
        );
    }
}
