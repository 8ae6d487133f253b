//! Tests, linters and formatters that fail for the same reason: a rule, an error code, a test.

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, Purpose, Step, signature, step_parts};
use crate::text;

pub(super) const DETECTOR: Detector = Detector {
    name: "failing_checks",
    kind: PatternKind::Problem,
    weight: 3.0,
    alike: None,
    detect,
};

/// Maximum length of a message.
const MAX_MESSAGE_BYTES: usize = 120;

/// Maximum length of a rule, and of a test's name.
const MAX_RULE_BYTES: usize = 60;
const MAX_TEST_BYTES: usize = 120;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    for step in &notes.steps {
        for part in step_parts(step) {
            let Some(said) = part.said.as_deref().filter(|_| part.ok == Some(false)) else {
                continue;
            };
            let tool = &part.name;
            let signal = match part.purpose {
                Purpose::Format => Signal::at(
                    step,
                    format!("{tool}: unformatted"),
                    format!("`{tool}` fails: files are not formatted"),
                    said,
                )
                .advising("Format the code first.".to_string()),
                Purpose::Test => match failed_test(said) {
                    Some(test) => {
                        let title = format!("`{tool}` fails: {test}");
                        Signal::at(step, format!("{tool}: {test}"), title, said)
                            .advising("Run it alone first.".to_string())
                    }
                    None => match unnamed(step, tool, said) {
                        Some(signal) => signal,
                        None => continue,
                    },
                },
                Purpose::Lint | Purpose::Types | Purpose::Build => match rule(said) {
                    Some(Rule { code, message }) => {
                        let title = format!("`{tool}` fails: {message} ({code})");
                        let signal = Signal::at(step, format!("{tool}: {code}"), title, said)
                            .advising("Avoid it in new code.".to_string());
                        // What does not compile says nothing of the project.
                        if part.purpose != Purpose::Lint || is_compiler(code) {
                            signal.minor()
                        } else {
                            signal
                        }
                    }
                    None => match unnamed(step, tool, said) {
                        Some(signal) => signal,
                        None => continue,
                    },
                },
                _ => continue,
            };
            found.push(signal);
        }
    }
}

/// Returns the signal of a failure that names neither rule nor test; `None` where it says too little.
fn unnamed(step: &Step, tool: &str, said: &str) -> Option<Signal> {
    let signature = signature(said);
    let is_word = |word: &&str| word.chars().filter(|letter| letter.is_alphabetic()).count() > 2;
    if signature.split(' ').filter(is_word).count() < 2 {
        return None;
    }
    let title = format!("`{tool}` fails: {said}");
    let signal = Signal::at(step, format!("{tool}: {signature}"), title, said);
    // A place in a file: what does not compile.
    let first = said.split(' ').next().unwrap_or_default();
    let is_placed = first.contains(':') && first.contains('.');
    Some(if is_placed { signal.minor() } else { signal })
}

/// Rule that a linter or compiler names, with its message.
struct Rule<'s> {
    code: &'s str,
    message: String,
}

/// Returns the rule that a line of a linter or compiler ends or begins with.
fn rule(said: &str) -> Option<Rule<'_>> {
    let line = said.trim();
    // `message (errcheck)`, `message [attr-defined]`
    let closing = line.strip_suffix(')').map(|rest| (rest, '('));
    let closing = closing.or_else(|| line.strip_suffix(']').map(|rest| (rest, '[')));
    let named = closing.and_then(|(rest, open)| rest.rsplit_once(open));
    if let Some((before, code)) = named.filter(|(_, code)| is_code(code)) {
        // `G306: message (gosec)`: a linter of many rules.
        let before = before.trim_end();
        let within = before.split_whitespace().find_map(|word| {
            let word = word.strip_suffix(':')?;
            is_numbered(word).then_some(word)
        });
        return Some(match within {
            Some(within) => Rule {
                code: within,
                message: message(before.split_once(within).map_or(before, |(_, rest)| rest)),
            },
            None => Rule {
                code,
                message: message(before),
            },
        });
    }
    // `error[E0432]: message`, `error TS2322: message`, `a.py:1:1: F401 message`
    let mut words = line.split([' ', ':', '[', ']']);
    if let Some(code) = words.find(|word| is_numbered(word)) {
        let at = line.find(code)? + code.len();
        return Some(Rule {
            code,
            message: message(line[at..].trim_start_matches([']', ':', ' '])),
        });
    }
    // `a.ts:1:1 lint/correctness/noUnusedVariables`, `1:1 error message no-unused-vars`
    let last = line.rsplit(' ').next()?;
    let is_path_of_rule = last.starts_with("lint/") || last.starts_with("@typescript-eslint/");
    (is_path_of_rule && last.len() <= MAX_RULE_BYTES).then(|| Rule {
        code: last,
        message: last.rsplit('/').next().unwrap_or(last).to_string(),
    })
}

/// Returns whether a word in brackets names a rule: `errcheck`, `attr-defined`, `clippy::all`.
fn is_code(word: &str) -> bool {
    (3..=MAX_RULE_BYTES).contains(&word.len())
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_:/@".contains(letter)
        })
}

/// Returns whether a word is an error code: letters, then digits.
fn is_numbered(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    (1..=6).contains(&(word.len() - digits.len()))
        && (2..=6).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns whether a rule is a compiler's, whoever runs it.
fn is_compiler(code: &str) -> bool {
    code == "typecheck"
        || is_numbered(code)
            && ["E0", "TS", "CS"]
                .iter()
                .any(|prefix| code.starts_with(prefix))
}

/// Returns a message without its place in a file and without what it quotes, which differs from case to case.
fn message(said: &str) -> String {
    let words = said.split_whitespace();
    let is_place = |word: &&str| {
        let bare = word.trim_end_matches(':');
        bare.contains([':', '/', '\\']) && bare.contains('.')
            || matches!(*word, ":" | "error:" | "warning:")
    };
    let rest: Vec<&str> = words.skip_while(is_place).collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut quote = None;
    for word in rest {
        let bare = word.trim_end_matches([',', '.', ':', ';', ')']);
        let opens = quote.is_none() && word.starts_with(['`', '"', '\'']);
        if opens {
            quote = bare.chars().next();
            kept.push("…");
        }
        match quote {
            Some(mark) => {
                if bare.ends_with(mark) && (!opens || bare.chars().count() > 1) {
                    quote = None;
                }
            }
            None => kept.push(word),
        }
    }
    text::beginning(&kept.join(" "), MAX_MESSAGE_BYTES)
        .trim_end()
        .to_string()
}

/// Returns the name of the test that failed.
fn failed_test(said: &str) -> Option<&str> {
    let line = said.trim();
    let rest = ["--- FAIL: ", "FAILED ", "FAIL ", "✕ ", "× "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    let panicked = || line.strip_prefix("thread '")?.split_once('\'');
    let name = match rest {
        Some(rest) => rest.split([' ', '(']).next()?.trim_end_matches(':'),
        None => panicked()?.0,
    };
    let is_name = name.chars().any(char::is_alphabetic) && name != "main";
    (is_name && name.len() <= MAX_TEST_BYTES).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_in_lines_of_many_tools() {
        let check = |said: &str, expected: Option<(&str, &str)>| {
            let found = rule(said);
            let found = found
                .as_ref()
                .map(|rule| (rule.code, rule.message.as_str()));
            assert_eq!(found, expected, "{said}");
        };
        check(
            "cmd/a.go:41:3: Error return value of `os.Write` is not checked (errcheck)",
            Some(("errcheck", "Error return value of … is not checked")),
        );
        check(
            "a.py:3: error: Module has no attribute \"x\"  [attr-defined]",
            Some(("attr-defined", "Module has no attribute …")),
        );
        check(
            "error[E0432]: unresolved import `a`",
            Some(("E0432", "unresolved import …")),
        );
        check(
            "src/a.ts(6,33): error TS2307: Cannot find module 'x'",
            Some(("TS2307", "Cannot find module …")),
        );
        check(
            "a.py:1:1: F401 `os` imported but unused",
            Some(("F401", "… imported but unused")),
        );
        check(
            "app/a.ts:18:11 lint/correctness/noUnusedVariables",
            Some(("lint/correctness/noUnusedVariables", "noUnusedVariables")),
        );
        check(
            "a.go:6:7: G306: Expect permissions to be 0600 (gosec)",
            Some(("G306", "Expect permissions to be 0600")),
        );
        // No rule: a place, a count, prose in brackets.
        for none in [
            "6 issues:",
            "error: this `if` can be collapsed (crates/a.rs:402:5)",
            "it failed (see above)",
            "undefined: x",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn failed_tests_are_named() {
        for (said, expected) in [
            ("--- FAIL: TestResume (0.01s)", Some("TestResume")),
            ("--- FAIL: TestA: a_test.go:1: no", Some("TestA")),
            (
                "FAILED tests/test_cli.py::test_run - assert 1",
                Some("tests/test_cli.py::test_run"),
            ),
            (
                "thread 'agent::tests::retries' (12) panicked at a.rs:1",
                Some("agent::tests::retries"),
            ),
            ("thread 'main' panicked at a.rs:1", None),
            ("assertion failed", None),
        ] {
            assert_eq!(failed_test(said), expected, "{said}");
        }
    }
}
