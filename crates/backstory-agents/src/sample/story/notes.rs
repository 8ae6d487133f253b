//! What happens in `/home/ada/notes-cli`, a program for notes in the terminal.

use crate::sample::step::Step::{
    self, Answer, Edit, Glob, Grep, Prompt, Read, Run, Say, Think, Write,
};

const COMMANDS: &str = r"pub enum Command {
    Add { text: String, tags: Vec<String> },
    List { limit: usize },
}
";

pub(super) const SEARCH_BY_TAG: &[Step<'static>] = &[
    Prompt(
        "add `notes search` that finds notes by words and by tag, e.g. notes search milk --tag home",
    ),
    Think("Look at how commands are defined, then add one and a test for it."),
    Glob {
        pattern: "src/**/*.rs",
        paths: &["src/main.rs", "src/command.rs", "src/notebook.rs"],
    },
    Read {
        path: "src/command.rs",
        contents: COMMANDS,
    },
    Say(
        "Commands are one enum, so this is a new variant and a function that filters the notebook.",
    ),
    Edit {
        path: "src/command.rs",
        before: COMMANDS,
        old: "    List { limit: usize },",
        new: "    List { limit: usize },\n    Search { words: Vec<String>, tag: Option<String> },",
    },
    Write {
        path: "src/search.rs",
        contents: "//! Which notes match.\n\nuse crate::notebook::Note;\n\n/// Whether the note has the tag, if one is asked for, and all of the words.\npub fn matches(note: &Note, words: &[String], tag: Option<&str>) -> bool {\n    let text = note.text.to_lowercase();\n    tag.is_none_or(|tag| note.tags.iter().any(|own| own == tag))\n        && words.iter().all(|word| text.contains(&word.to_lowercase()))\n}\n",
    },
    Run {
        command: "cargo test search",
        output: "error[E0432]: unresolved import `crate::search`\n --> src/main.rs:4:5\n  |\n4 | use crate::search::matches;\n  |     ^^^^^^^^^^^^^ could not find `search` in the crate root\n\nerror: could not compile `notes` (bin \"notes\") due to 1 previous error\n",
        exit_code: 101,
    },
    Say("The module is not declared yet."),
    Run {
        command: "sed -i 's/^mod notebook;/mod notebook;\\nmod search;/' src/main.rs && cargo test search",
        output: "running 3 tests\ntest search::finds_by_word ... ok\ntest search::finds_by_tag ... ok\ntest search::needs_all_words ... ok\n\ntest result: ok. 3 passed; 0 failed; finished in 0.02s\n",
        exit_code: 0,
    },
    Answer(
        "`notes search milk --tag home` works: all words must occur, in any case, and the tag must match if one is given. It is in `src/search.rs` with three tests.",
    ),
    Prompt("nice. mention it in the readme too"),
    Run {
        command: "grep -n 'notes list' README.md",
        output: "31:    notes list --limit 10\n",
        exit_code: 0,
    },
    Edit {
        path: "README.md",
        before: "    notes add \"buy milk\" --tag home\n    notes list --limit 10\n",
        old: "    notes list --limit 10",
        new: "    notes list --limit 10\n    notes search milk --tag home",
    },
    Answer("Added one line to the examples in the README."),
];

const HEADING: &str = "pub fn heading(note: &Note) -> String {\n    note.created.strftime(\"%A, %-d %B\").to_string()\n}\n";

pub(super) const WRONG_DAY: &[Step<'static>] = &[
    Prompt("a note I write after 11 in the evening is listed under the next day. why?"),
    Grep {
        pattern: "strftime|Timestamp::now",
        matches: &[
            "src/notebook.rs:27:        created: Timestamp::now(),",
            "src/print.rs:12:    note.created.strftime(\"%A, %-d %B\").to_string()",
        ],
    },
    Read {
        path: "src/print.rs",
        contents: HEADING,
    },
    Say(
        "The time is stored in UTC, which is right, but the heading is printed in UTC as well. In your time zone the day changes an hour or two too early.",
    ),
    Edit {
        path: "src/print.rs",
        before: HEADING,
        old: "    note.created.strftime(\"%A, %-d %B\").to_string()",
        new: "    let local = note.created.to_zoned(TimeZone::system());\n    local.strftime(\"%A, %-d %B\").to_string()",
    },
    Run {
        command: "TZ=Europe/Amsterdam cargo test -q heading",
        output: "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; finished in 0.01s\n",
        exit_code: 0,
    },
    Answer(
        "Notes are stored in UTC and were printed in UTC too, so the day changed early. The heading now uses the system's time zone; what is stored stays as it was, so old notes are right again as well.",
    ),
];

const RANDOM_NOTE: &str = "pub fn random(notebook: &Notebook) -> &Note {\n    let position = fastrand::usize(..notebook.notes.len());\n    &notebook.notes[position]\n}\n";

pub(super) const EMPTY_NOTEBOOK: &[Step<'static>] = &[
    Prompt("`notes random` panics in a fresh notebook"),
    Run {
        command: "cargo run -q -- --notebook /tmp/empty random",
        output: "thread 'main' panicked at src/notebook.rs:52:20:\nempty range: ..0\n",
        exit_code: 101,
    },
    Read {
        path: "src/notebook.rs",
        contents: RANDOM_NOTE,
    },
    Edit {
        path: "src/notebook.rs",
        before: RANDOM_NOTE,
        old: "pub fn random(notebook: &Notebook) -> &Note {\n    let position = fastrand::usize(..notebook.notes.len());\n    &notebook.notes[position]",
        new: "pub fn random(notebook: &Notebook) -> Option<&Note> {\n    fastrand::choice(&notebook.notes)",
    },
    Run {
        command: "cargo run -q -- --notebook /tmp/empty random; echo \"exit $?\"",
        output: "This notebook is empty. Add a note with: notes add \"...\"\nexit 0\n",
        exit_code: 0,
    },
    Answer(
        "Fixed: an empty notebook has no random note, so `random` now returns an option and the command says that the notebook is empty instead of panicking.",
    ),
];
