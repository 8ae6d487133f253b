//! Tests of the verdicts on the parts of lines.

use super::super::{LinePart, LineResult, PartVerdict, judge_line, parse_shell_line};

pub(super) const PASSED: Option<bool> = Some(true);
pub(super) const FAILED: Option<bool> = Some(false);

pub(super) fn judge(line: &str, output: &str, exit_code: Option<i32>) -> Vec<PartVerdict> {
    let has_failed = exit_code.is_some_and(|code| code != 0);
    let result = LineResult {
        output,
        exit_code,
        has_failed,
    };
    judge_line(&parse_shell_line(line), result)
}

pub(super) fn assert_ok(line: &str, output: &str, exit_code: Option<i32>, expect: &[Option<bool>]) {
    let found: Vec<Option<bool>> = judge(line, output, exit_code)
        .iter()
        .map(|verdict| verdict.ok)
        .collect();
    assert_eq!(found, expect, "{line} exits with {exit_code:?}\n{output}");
}

#[test]
fn exit_codes_say_what_they_can() {
    let check = assert_ok;
    check("cargo test", "", Some(0), &[PASSED]);
    check("cargo test", "", Some(101), &[FAILED]);
    check("cargo test", "", None, &[None]);
    check(
        "cargo fmt --check && cargo clippy && cargo test",
        "",
        Some(0),
        &[PASSED, PASSED, PASSED],
    );
    check(
        "cargo fmt --check && cargo clippy && cargo test",
        "",
        Some(1),
        &[None, None, None],
    );
    check("cd /shop && cargo test", "", Some(1), &[FAILED]);
    check("git add -A && git commit -qm x", "", Some(1), &[FAILED]);
    check("cargo test | tail", "", Some(0), &[None]);
    check("cargo test | tail", "", Some(1), &[None]);
    check("set -o pipefail; cargo test | tail", "", Some(0), &[PASSED]);
    check("cargo test || true", "", Some(0), &[None]);
    check("cargo test; echo done", "", Some(0), &[None]);
    check("cargo test; cargo clippy", "", Some(1), &[None, FAILED]);
    check("cargo test; cargo clippy", "", Some(0), &[None, PASSED]);
    check(
        "set -e; cargo test; cargo clippy",
        "",
        Some(0),
        &[PASSED, PASSED],
    );
    check(
        "cargo test || exit 1; cargo clippy",
        "",
        Some(0),
        &[PASSED, PASSED],
    );
    check("cargo test && echo ok || echo broken", "", Some(0), &[None]);
    check(
        "cargo test || cargo test --no-fail-fast",
        "",
        Some(1),
        &[None, FAILED],
    );
    check("cargo test & wait", "", Some(0), &[None]);
    check("! cargo test", "", Some(0), &[None]);
    check("if cargo test; then echo ok; fi", "", Some(0), &[None]);
    check(
        "for p in a b; do cargo test -p $p; done",
        "",
        Some(0),
        &[None],
    );
    check(
        "(cd a && cargo test) && npm test",
        "",
        Some(0),
        &[PASSED, PASSED],
    );
    check(
        "{ cargo test; npm test; } | tail",
        "",
        Some(0),
        &[None, None],
    );
    check(
        "bash -lc 'cargo test && npm test'",
        "",
        Some(0),
        &[PASSED, PASSED],
    );
    check(
        "cargo test; echo \"exit: $?\"",
        "exit: 101",
        Some(0),
        &[FAILED],
    );
    check(
        "cargo test > log 2>&1; echo exit=$?; tail log",
        "exit=0\nline",
        Some(0),
        &[PASSED],
    );
    check(
        "cargo test | tail; echo \"exit: $?\"",
        "exit: 0",
        Some(0),
        &[None],
    );
    check(
        "cargo test | tail; echo \"exit: ${PIPESTATUS[0]}\"",
        "exit: 1",
        Some(0),
        &[FAILED],
    );
}

#[test]
fn failed_chains_end_at_the_part_that_shows_it() {
    let check = assert_ok;
    let line = "cargo fmt --check && cargo clippy && cargo test && git commit -m x";
    check(
        line,
        "test result: ok. 3 passed; 0 failed\ntest result: FAILED. 3 passed; 1 failed",
        Some(101),
        &[PASSED, PASSED, FAILED, None],
    );
    check(
        line,
        "error: unused\nerror: could not compile `shop` (lib) due to 1 previous error",
        Some(101),
        &[PASSED, FAILED, None, None],
    );
    check(
        line,
        "Diff in /shop/src/a.rs:3:\n-a\n+b",
        Some(1),
        &[FAILED, None, None, None],
    );
    check(
        line,
        "test result: ok. 3 passed; 0 failed\nnothing to commit, working tree clean",
        Some(1),
        &[PASSED, PASSED, PASSED, FAILED],
    );
    check(
        line,
        "test result: ok. 3 passed; 0 failed",
        Some(1),
        &[PASSED, PASSED, PASSED, FAILED],
    );
    check(
        "git commit -m x && git push",
        "[main 1234567] x\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'x'",
        Some(1),
        &[PASSED, FAILED],
    );
    check(
        "mise run fmt && mise run lint && mise run test",
        "0 issues.\n[test] ERROR task failed",
        Some(1),
        &[PASSED, PASSED, FAILED],
    );
    check(
        "mise run fmt && mise run lint && mise run test",
        "[lint] ERROR task failed",
        Some(1),
        &[PASSED, FAILED, None],
    );
    check(
        "pytest -q && ruff check .",
        "3 passed in 0.10s\nFound 2 errors.",
        Some(1),
        &[PASSED, FAILED],
    );
    // Without an exit code, a part that ran shows that those before it succeeded.
    let line = "cargo fmt --check && cargo clippy -q && cargo test; cargo doc";
    let passed = "test result: ok. 3 passed; 0 failed";
    check(line, passed, None, &[PASSED, PASSED, PASSED, None]);
    check(
        "cargo doc; cargo fmt || cargo clippy && cargo test",
        passed,
        None,
        &[None, None, None, PASSED],
    );
    check(
        "cargo fmt && cargo doc | tail && cargo test",
        passed,
        None,
        &[PASSED, None, PASSED],
    );
    // The tests ran to their end, and something else made the run fail.
    check(
        "pytest -q --cov",
        "3 passed in 0.10s\nFAIL Required test coverage of 90% not reached",
        Some(1),
        &[FAILED],
    );
}

#[test]
fn results_go_to_the_check_that_printed_them() {
    let check = assert_ok;
    check(
        "ruff check . | tail -3; pytest | tail -3",
        "All checks passed!\n1 failed, 2 passed in 0.1s",
        Some(0),
        &[PASSED, FAILED],
    );
    check(
        "pytest a | tail -1; pytest b | tail -1",
        "3 passed in 0.1s\n1 failed in 0.1s",
        Some(0),
        &[PASSED, FAILED],
    );
    check(
        "pytest a | tail -1; pytest b | grep x",
        "3 passed in 0.1s",
        Some(0),
        &[None, None],
    );
    check(
        "cargo clippy | tail -1; cargo test | tail -1",
        "error: could not compile `a` (lib) due to 1 previous error",
        Some(0),
        &[FAILED, None],
    );
    check(
        "cargo test | tail -3; mise run lint | tail -3",
        "test result: ok. 1 passed; 0 failed\n2 issues:",
        Some(0),
        &[PASSED, FAILED],
    );
    check(
        "go test ./... | head -1",
        "ok  \ta\t0.1s\n",
        Some(0),
        &[None],
    );
    check(
        "go test ./... | head -50",
        "ok  \ta\t0.1s\n",
        Some(0),
        &[PASSED],
    );
    check(
        "go test ./... | grep ok",
        "ok  \ta\t0.1s\n",
        Some(0),
        &[None],
    );
    check("gofmt -l .", "cart.go\n", Some(0), &[FAILED]);
    check("gofmt -l .", "", Some(0), &[PASSED]);
    // A script can hide the exit code of its tool, a tool does not.
    check(
        "npm test",
        "Tests:       1 failed, 8 passed, 9 total",
        Some(0),
        &[FAILED],
    );
    check(
        "cargo test",
        "test result: FAILED. 1 passed; 1 failed",
        Some(0),
        &[PASSED],
    );
}

#[test]
fn deliveries_are_judged_by_what_git_and_forges_print() {
    let check = |line: &str, output: &str, code: i32, ok: Option<bool>, said: Option<&str>| {
        let verdict = judge(line, output, Some(code)).remove(0);
        assert!(matches!(verdict.part, LinePart::Delivery(_)), "{line}");
        assert_eq!(
            (verdict.ok, verdict.said.as_deref()),
            (ok, said),
            "{line}\n{output}"
        );
    };
    check(
        "git commit -m x | tail -3",
        "hook ran\n[main 6d56117] Fix it\n 1 file changed",
        0,
        PASSED,
        Some("6d56117 Fix it"),
    );
    check(
        "git commit -m x | tail -3",
        "[main (root-commit) 0bc41d9] One",
        0,
        PASSED,
        Some("0bc41d9 One"),
    );
    check(
        "git commit -m x | tail -3",
        "[entire] Pushing\ndone",
        0,
        None,
        None,
    );
    check(
        "git commit -qm 'Fix it'; git log --oneline -2",
        "6d56117 Fix it\n1234567 Other",
        0,
        PASSED,
        Some("6d56117 Fix it"),
    );
    check(
        "git commit -qm 'Fix it'; git log --oneline -2",
        "nothing to commit, working tree clean\n6d56117 Fix it",
        0,
        FAILED,
        Some("nothing to commit, working tree clean"),
    );
    check(
        "git commit -m x",
        "On branch main\nnothing to commit, working tree clean",
        1,
        FAILED,
        Some("nothing to commit, working tree clean"),
    );
    check(
        "git commit -m x",
        "fatal: failed to write commit object",
        128,
        FAILED,
        Some("fatal: failed to write commit object"),
    );
    check(
        "git push | tail",
        "To x.org:a/b.git\n   85d6efa..ddadeb1  main -> main",
        0,
        PASSED,
        Some("85d6efa..ddadeb1 main -> main"),
    );
    check(
        "git push | tail",
        " * [new branch]      web -> web",
        0,
        PASSED,
        Some("* [new branch] web -> web"),
    );
    check(
        "git push | tail",
        "Everything up-to-date",
        0,
        PASSED,
        Some("Everything up-to-date"),
    );
    check(
        "git push | tail",
        " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs",
        0,
        FAILED,
        Some("! [rejected]        main -> main (fetch first)"),
    );
    check(
        "git push | tail",
        "fatal: unable to access 'https://x.org/'",
        0,
        FAILED,
        Some("fatal: unable to access 'https://x.org/'"),
    );
    check(
        "git push | tail; git pull",
        "   85d6efa..ddadeb1  main -> origin/main",
        0,
        None,
        None,
    );
    check(
        "gh pr create --fill | tail",
        "https://x.org/a/b/pull/7",
        0,
        PASSED,
        Some("https://x.org/a/b/pull/7"),
    );
    check(
        "gh pr create --fill | tail",
        "https://x.org/a/b/pull/new/web",
        0,
        None,
        None,
    );
    check(
        "gh pr create --fill",
        "a pull request for branch \"web\" already exists:\nhttps://x.org/a/b/pull/7",
        1,
        FAILED,
        Some("a pull request for branch \"web\" already exists:"),
    );
    check(
        "glab mr create --fill | tail",
        "https://x.org/a/b/-/merge_requests/7",
        0,
        PASSED,
        Some("https://x.org/a/b/-/merge_requests/7"),
    );
    check(
        "git merge web | tail",
        "Updating 1..2\nFast-forward",
        0,
        PASSED,
        Some("Fast-forward"),
    );
    check(
        "git merge web | tail",
        "CONFLICT (content): Merge conflict in a.rs\nAutomatic merge failed",
        0,
        FAILED,
        Some("CONFLICT (content): Merge conflict in a.rs"),
    );
    check(
        "gh pr merge 7 --squash",
        "✓ Squashed and merged pull request #7 (Fix)",
        0,
        PASSED,
        Some("✓ Squashed and merged pull request #7 (Fix)"),
    );
    check(
        "gh pr merge 7 --auto",
        "✓ Pull request #7 will be automatically merged via squash",
        0,
        None,
        None,
    );
    check("git tag v1", "", 0, PASSED, None);
    check(
        "git tag v1",
        "fatal: tag 'v1' already exists",
        128,
        FAILED,
        Some("fatal: tag 'v1' already exists"),
    );
    check(
        "gh release create v1 | tail",
        "https://x.org/a/b/releases/tag/v1",
        0,
        PASSED,
        Some("https://x.org/a/b/releases/tag/v1"),
    );
    check(
        "npm publish | tail",
        "+ @shop/cart@1.0.0",
        0,
        PASSED,
        Some("+ @shop/cart@1.0.0"),
    );
    check(
        "npm publish | tail",
        "npm error code E403",
        0,
        FAILED,
        Some("npm error code E403"),
    );
}

#[test]
fn parts_of_huge_lines_are_bounded() {
    let verdicts = judge(&"cargo test;".repeat(1_000), "", Some(0));
    assert_eq!(verdicts.len(), 64);
    assert!(judge("ls -la", "error: x", Some(1)).is_empty());
}
