//! Tests of the lines that say most about a failure.

use super::verdicts::{FAILED, judge};

#[test]
fn the_most_telling_line_is_said() {
    let check = |line: &str, output: &str, said: Option<&str>| {
        let verdict = judge(line, output, Some(1)).remove(0);
        assert_eq!(
            (verdict.ok, verdict.said.as_deref()),
            (FAILED, said),
            "{output}"
        );
    };
    check(
        "cargo test",
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\nthread 'b' panicked at src/a.rs:5:2:\nindex out of bounds\nnote: run with\ntest result: FAILED. 1 passed; 1 failed\nerror: test failed, to rerun pass `--lib`",
        Some("thread 'b' panicked at src/a.rs:5:2: index out of bounds"),
    );
    check(
        "cargo build",
        "   Compiling shop\nerror[E0432]: unresolved import `a::b`\n --> src/a.rs:3:5\n  |\n3 | use a::b; // error: not this\n  |     ^^^^\nerror: could not compile `shop`",
        Some("error[E0432]: unresolved import `a::b` (src/a.rs:3:5)"),
    );
    check(
        "go test ./...",
        "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n    log.go:3: starting\n    b_test.go:9: got 1, want 2\nFAIL\nFAIL\tshop/b\t0.1s\nok  \tshop/error\t0.1s",
        Some("--- FAIL: TestB: b_test.go:9: got 1, want 2"),
    );
    check(
        "go test ./...",
        "?   \tshop/failed\t[no test files]\nFinished in 60.3ms failed\n0 issues.\nSibling tool call errored",
        None,
    );
    check(
        "pytest",
        "E   AssertionError: assert 1 == 2\nFAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2\n1 failed in 0.1s",
        Some("FAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2"),
    );
    check(
        "python -m unittest",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in b\n    raise ValueError(\"error: no\")\nValueError: bad\n\nRan 1 test in 0.1s",
        Some("ValueError: bad"),
    );
    check(
        "golangci-lint run",
        "$ golangci-lint run\na.go:3:5: not checked (errcheck)\n\terror := run() // failed;\n1 issues:\n* errcheck: 1",
        Some("a.go:3:5: not checked (errcheck)"),
    );
    check(
        "golangci-lint run",
        "a.go:1: : # shop/a\na.go:9:2: undefined: x (typecheck)",
        Some("a.go:9:2: undefined: x (typecheck)"),
    );
    check(
        "npx eslint .",
        "/shop/src/a.ts\n  1:2   warning  unused  no-unused\n  12:5  error    'x' is not defined  no-undef\n\n✖ 2 problems (1 error, 1 warning)",
        Some("/shop/src/a.ts:12:5 error 'x' is not defined no-undef"),
    );
    check(
        "npx tsc",
        "> shop@1.0.0 error\nsrc/a.ts(3,5): error TS2345: no",
        Some("src/a.ts(3,5): error TS2345: no"),
    );
    check(
        "ruff check .",
        "F401 [*] `x` imported but unused\n --> a.py:1:8\n  |\n1 | import x\nFound 1 error.",
        Some("F401 [*] `x` imported but unused (a.py:1:8)"),
    );
    check(
        "cargo fmt --check",
        "Diff in /shop/src/a.rs:12:\n-    return Err(Error::Failed);\n+    Err(Error::Failed)",
        Some("Diff in /shop/src/a.rs:12:"),
    );
    check(
        "npm run build",
        "> shop@1.0.0 build\n> vite build\n[vite] Error: no such file a.ts\nnpm error Lifecycle script `build` failed",
        Some("[vite] Error: no such file a.ts"),
    );
    check(
        "make lint",
        "lint.sh: line 3: foo: command not found\nmake: *** [Makefile:3: lint] Error 127",
        Some("lint.sh: line 3: foo: command not found"),
    );
    check(
        "make lint",
        "make: *** [Makefile:3: lint] Error 127",
        Some("make: *** [Makefile:3: lint] Error 127"),
    );
    check(
        "git push",
        "Exit code 1\nnone of the remotes is a known host",
        Some("none of the remotes is a known host"),
    );
    check("cargo test", "", None);
}
