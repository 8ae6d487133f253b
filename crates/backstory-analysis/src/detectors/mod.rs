//! Detectors: each looks through the notes of one session for one kind of thing that may recur. One file a detector, one line in
//! the registry.

mod churned_files;
mod common_errors;
mod compactions;
mod corrections;
mod denials;
mod failing_checks;
mod fixes;
mod interruptions;
mod missing_commands;
mod missing_paths;
mod procedures;
mod remedies;
mod retries;
mod slow_commands;
mod test_loops;
mod tool_errors;
mod worked_at_last;

use crate::AgentConventions;
use crate::digest::{Notes, Step};
use backstory_event::{Seq, TimeMs, TurnNo};

/// A detector.
pub struct Detector {
    /// Its name, part of the ids of its patterns.
    pub name: &'static str,
    /// Kind of its patterns.
    pub kind: PatternKind,
    /// Weight of its patterns: an error that can be put right tells more than a habit.
    pub weight: f64,
    /// Share of common words from which on two signatures mean the same, if not only when they are equal.
    pub alike: Option<f64>,
    /// Adds the signals of a session.
    pub detect: fn(&Notes, &AgentConventions, &mut Vec<Signal>),
}

/// Kind of a pattern: to be avoided, or to be done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// Something that keeps going wrong.
    Problem,
    /// Something that keeps going right.
    Success,
}

impl PatternKind {
    /// Returns the name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PatternKind::Problem => "problem",
            PatternKind::Success => "success",
        }
    }
}

/// Something that a detector noticed in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Signature: what it has in common with the same thing elsewhere.
    pub signature: String,
    /// Title, for people.
    pub title: String,
    /// Advice, if there is any.
    pub advice: String,
    /// The event where it happened.
    pub seq: Seq,
    /// Its turn.
    pub turn: TurnNo,
    /// Its time.
    pub at: Option<TimeMs>,
    /// Text of that event.
    pub text: String,
    /// True if nobody can act on it: slips in the use of the agent's own tools, habits, statistics.
    pub is_minor: bool,
}

impl Signal {
    fn at(step: &Step, signature: String, title: String, text: &str) -> Self {
        Signal {
            signature,
            title,
            advice: String::new(),
            seq: step.seq,
            turn: step.turn,
            at: step.at,
            text: text.to_string(),
            is_minor: false,
        }
    }

    fn minor(self) -> Self {
        Signal {
            is_minor: true,
            ..self
        }
    }

    fn advising(self, advice: String) -> Self {
        Signal { advice, ..self }
    }
}

/// All detectors.
pub const DETECTORS: &[Detector] = &[
    remedies::DETECTOR,
    failing_checks::DETECTOR,
    tool_errors::DETECTOR,
    common_errors::DETECTOR,
    missing_commands::DETECTOR,
    missing_paths::DETECTOR,
    retries::DETECTOR,
    test_loops::DETECTOR,
    churned_files::DETECTOR,
    corrections::DETECTOR,
    interruptions::DETECTOR,
    denials::DETECTOR,
    compactions::DETECTOR,
    slow_commands::DETECTOR,
    worked_at_last::DETECTOR,
    fixes::DETECTOR,
    procedures::DETECTOR,
];

#[cfg(test)]
mod tests {
    use backstory_event::Action;

    use super::*;
    use crate::conventions::KNOWN_AGENTS;
    use crate::digest::Story;

    /// Returns the signals that a detector finds in a session, by signature.
    fn check(name: &str, tell: impl FnOnce(&mut Story), expect: &[&str]) {
        let mut story = Story::default();
        tell(&mut story);
        let detector = DETECTORS
            .iter()
            .find(|detector| detector.name == name)
            .unwrap();
        let mut found = Vec::new();
        (detector.detect)(&story.notes, &KNOWN_AGENTS, &mut found);
        let signatures: Vec<&str> = found
            .iter()
            .map(|signal| signal.signature.as_str())
            .collect();
        assert_eq!(signatures, expect, "{name}");
        assert!(
            found
                .iter()
                .all(|signal| signal.seq > Seq::ZERO && !signal.title.is_empty())
        );
    }

    const WRITE: Action = Action::Write;

    #[test]
    fn errors_are_found_by_what_they_say() {
        let fails = |story: &mut Story| {
            story
                .prompt("go")
                .run("deploy --all", "error: lock held by ci-7 since 12:30", 1);
        };
        check(
            "tool_errors",
            fails,
            &["deploy: error: lock held by ci-7 since …"],
        );
        let missing = |story: &mut Story| {
            story
                .prompt("go")
                .run("rg x", "bash: line 1: rg: command not found", 127);
        };
        check("missing_commands", missing, &["rg"]);
        check("tool_errors", missing, &[]);
        let edit = |story: &mut Story| {
            story.prompt("go").tool(
                "Edit",
                "a.rs",
                WRITE,
                Some("String to replace not found in file."),
            );
        };
        check(
            "common_errors",
            edit,
            &["edits fail: the text to replace is not in the file"],
        );
        check("tool_errors", edit, &[]);
        let path = |story: &mut Story| {
            story.prompt("go").tool(
                "Read",
                "/shop/src/none.rs",
                Action::Read,
                Some("File does not exist."),
            );
        };
        check(
            "missing_paths",
            path,
            &["paths are tried that do not exist", "src/none.rs"],
        );
    }

    #[test]
    fn what_is_done_again_and_again_is_found() {
        let retry = |times: usize| {
            move |story: &mut Story| {
                story.prompt("go");
                for _ in 0..times {
                    story.run("make deploy", "error: lock held", 2);
                }
            }
        };
        check("retries", retry(2), &[]);
        check("retries", retry(4), &["make deploy"]);
        check(
            "test_loops",
            |story| {
                story.prompt("go");
                for _ in 0..3 {
                    story
                        .tool("Edit", "a.rs", WRITE, None)
                        .run("cargo test", "1 failed", 101);
                }
            },
            &["cargo test"],
        );
        check(
            "churned_files",
            |story| {
                story.prompt("go");
                for _ in 0..7 {
                    story.tool("Edit", "/home/ada/shop/src/a.rs", WRITE, None);
                }
            },
            &["shop/src/a.rs"],
        );
    }

    #[test]
    fn what_users_do_not_want_is_found() {
        check(
            "corrections",
            |story| {
                story
                    .prompt("add a flag")
                    .reply("Done.")
                    .prompt("no, don't rename public functions");
            },
            &["functions public rename"],
        );
        check(
            "interruptions",
            |story| {
                story.prompt("go").start("pnpm dev").interrupt();
            },
            &["`pnpm dev`"],
        );
        check(
            "denials",
            |story| {
                story.prompt("go").deny_command("git push");
            },
            &["`git push`"],
        );
        check(
            "denials",
            |story| {
                story.prompt("go").deny_edit("a.rs");
            },
            &["an edit"],
        );
    }

    #[test]
    fn what_worked_is_found() {
        check(
            "worked_at_last",
            |story| {
                story
                    .prompt("go")
                    .run(
                        "cargo test --wrong",
                        "error: unexpected argument '--wrong' found",
                        2,
                    )
                    .run("cargo test", "ok", 0);
            },
            &["cargo test: error: unexpected argument … found"],
        );
        check(
            "fixes",
            |story| {
                story
                    .prompt("go")
                    .run("cargo build", "error[E0432]: unresolved import `a`", 101);
                story
                    .tool("Edit", "src/lib.rs", WRITE, None)
                    .run("cargo build", "Finished", 0);
            },
            &["cargo build: error[e0432]: unresolved import … lib.rs"],
        );
        let passed = "test result: ok. 2 passed; 0 failed; 0 ignored";
        check(
            "procedures",
            |story| {
                story
                    .prompt("go")
                    .run("cargo fmt && cargo clippy", "Finished", 0)
                    .run("ls", "", 0)
                    .run("cargo test", passed, 0)
                    .run("git commit -m x", "[main 1234567] x", 0)
                    .run("git push", "", 0);
            },
            &["cargo fmt → cargo clippy → cargo test"],
        );
        check(
            "procedures",
            |story| {
                story
                    .prompt("go")
                    .run("git add -A", "", 0)
                    .run("git commit -m x", "[main 1234567] x", 0)
                    .run("git push", "", 0);
            },
            &[],
        );
        let unformatted = "Diff in /home/ada/shop/src/a.rs:1:";
        check(
            "remedies",
            |story| {
                story
                    .prompt("go")
                    .run("cargo fmt --check", unformatted, 1)
                    .run("mise run fmt", "", 0)
                    .run("cargo fmt --check", "", 0);
            },
            &["mise run fmt → cargo fmt"],
        );
        check(
            "remedies",
            |story| {
                story
                    .prompt("go")
                    .run("cargo fmt --check", unformatted, 1)
                    .tool("Edit", "a.rs", WRITE, None)
                    .run("cargo fmt --check", "", 0);
            },
            &[],
        );
        check(
            "failing_checks",
            |story| {
                story
                    .prompt("go")
                    .run(
                        "golangci-lint run",
                        "a.go:1:3: Error return value is not checked (errcheck)",
                        1,
                    )
                    .run("cargo fmt --check", unformatted, 1);
            },
            &["golangci-lint run: errcheck", "cargo fmt: unformatted"],
        );
        check(
            "slow_commands",
            |story| {
                story.prompt("go").run("cargo test", "ok", 0);
            },
            &[],
        );
    }
}
