//! Properties that hold of any line and output.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::{LineResult, judge_line, parse_shell_line};

/// Pieces of lines that mean something to a shell or to a tool.
const PIECES: &[&str] = &[
    "cargo test",
    "git commit -m",
    "npm run lint",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "'",
    "\"",
    "`",
    "$(",
    "$((",
    "${",
    "}",
    "(",
    ")",
    "((",
    "))",
    "{",
    "[[",
    "]]",
    "<<EOF",
    "<<'E F'",
    "<<-",
    "<<<",
    "EOF",
    "<(",
    ">",
    ">&2",
    "2>&1",
    "\\",
    "#",
    "case",
    "esac",
    "in",
    ";;",
    "if",
    "then",
    "fi",
    "for",
    "do",
    "done",
    "while",
    "!",
    "function",
    "f()",
    "$'",
    "bash -c",
    "cd x",
    "A=1",
    "x=(",
    "é",
    "\r",
    "\t",
    "0",
    "$env:a",
    "Get-Date",
    "@'",
    "'@",
    "-C",
    "--",
    "echo $?",
];

const OUTPUT_PIECES: &[&str] = &[
    "test result: ok. 1 passed; 0 failed",
    "=== 1 failed in 0.1s ===",
    "error[E1]: x",
    "\n",
    " ",
    "a.go:1:2: x (lint)",
    "[main 1234567] x",
    "9",
    "99999999999999999999 passed",
    "Tests:",
    "total",
    "é",
    "\u{1b}[31m",
    "--- FAIL: T (",
    "!  - a: 1, b: 2",
    "FAILED (errors=",
    "make: *** [",
    "Traceback (most recent call last)",
    "  1:2  error",
    "https://x/pull/1",
    "\r",
    "Ran 1 test in 0s",
    "OK",
    "a(1,2): error TS1: x",
    "`",
    "Found 1 error",
    "Test run with",
    "[xERROR task failed",
    "C:\\a.cs(1",
];

fn text_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_string), 1 => ".{0,3}"];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_line_and_output_is_judged(line in text_of(PIECES), output in text_of(OUTPUT_PIECES), code in prop::option::of(-1..3), has_failed: bool) {
        let commands = parse_shell_line(&line);
        let words: usize = commands.iter().map(|command| command.words.iter().map(String::len).sum::<usize>()).sum();
        // Escapes of `$'…'` stay, nothing is added but the name of a module's runner.
        prop_assert!(words <= line.len() + 6 * commands.len());
        prop_assert!(commands.len() <= line.len());
        prop_assert!(commands.iter().all(|command| !command.words.is_empty()));
        prop_assert!(commands.is_sorted_by_key(|command| command.pipeline));
        let result = LineResult { output: &output, exit_code: code, has_failed };
        for verdict in judge_line(&commands, result) {
            prop_assert!(verdict.command < commands.len());
            prop_assert!(verdict.said.is_none_or(|said| said.len() <= 320));
        }
    }
}

#[test]
fn huge_lines_take_linear_time() {
    for piece in PIECES.iter().chain(&[
        "( a ) | ",
        "{ a; } & ",
        "cd xyz; ",
        "cat <<E\n",
        "$(cat <<E\n",
        "sudo ",
        "case x in a) ",
        "echo $? ; cargo test ;",
        "bash -c 'a' ;",
        "cargo hack ",
        "python -m ",
        "coverage run -m ",
        "pnpm ",
    ]) {
        let line = piece.repeat(200_000 / piece.len());
        let start = Instant::now();
        let commands = parse_shell_line(&line);
        judge_line(
            &commands,
            LineResult {
                output: "",
                exit_code: Some(1),
                has_failed: true,
            },
        );
        assert!(
            start.elapsed() < Duration::from_secs(4),
            "{piece:?} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn huge_outputs_take_linear_time() {
    let commands = parse_shell_line(&"cargo test; npm run check; git push; pytest; ".repeat(40));
    for piece in OUTPUT_PIECES.iter().chain(&[
        "a: b",
        "test result: ok. 1 passed; 0 failed\n",
        "a.go:1:2: x (lint)\n",
        "  1:2  error\n",
        "--- FAIL: x\n",
        "> 1 |\n",
    ]) {
        let output = piece.repeat(2_000_000 / piece.len());
        let start = Instant::now();
        judge_line(
            &commands,
            LineResult {
                output: &output,
                exit_code: None,
                has_failed: false,
            },
        );
        assert!(
            start.elapsed() < Duration::from_secs(6),
            "{piece:?} took {:?}",
            start.elapsed()
        );
    }
}
