//! Tests of the summaries that tools print.

use super::verdicts::{FAILED, PASSED, assert_ok, judge};

/// Checks the tests of a piped run, whose exit code says nothing.
fn assert_tests(line: &str, output: &str, ok: Option<bool>, tests: Option<(u64, u64)>) {
    let verdict = judge(&format!("{line} 2>&1 | tail -20"), output, Some(0)).remove(0);
    assert_eq!((verdict.ok, verdict.tests), (ok, tests), "{line}\n{output}");
}

#[test]
fn test_runners_are_read() {
    let check = assert_tests;
    check(
        "cargo test",
        "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\ntest result: ok. 3 passed; 0 failed",
        PASSED,
        Some((15, 0)),
    );
    check(
        "cargo test",
        "test result: FAILED. 3 passed; 1 failed; 0 ignored",
        FAILED,
        Some((3, 1)),
    );
    check(
        "cargo test",
        "error[E0425]: cannot find value `x`\nerror: could not compile `shop` (lib test) due to 1 previous error",
        FAILED,
        None,
    );
    check(
        "cargo test",
        "    Finished `test` profile [unoptimized] target(s) in 0.5s\n     Running unittests",
        None,
        None,
    );
    check(
        "cargo nextest run",
        "     Summary [   0.123s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped",
        FAILED,
        Some((11, 1)),
    );
    check(
        "cargo nextest run",
        "     Summary [   0.123s] 12 tests run: 12 passed, 0 skipped",
        PASSED,
        Some((12, 0)),
    );
    check(
        "go test ./...",
        "ok  \tshop/cart\t0.1s\n?   \tshop/x\t[no test files]\nok  \tshop/pay\t(cached)",
        PASSED,
        Some((2, 0)),
    );
    check(
        "go test ./...",
        "--- FAIL: TestPay (0.00s)\nFAIL\nFAIL\tshop/pay\t0.2s\nok  \tshop/cart\t0.1s\nFAIL",
        FAILED,
        Some((0, 1)),
    );
    check(
        "go test ./...",
        "FAIL\tshop/pay [build failed]\nok  \tshop/cart\t0.1s",
        FAILED,
        Some((1, 1)),
    );
    check(
        "go test -v ./cart",
        "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nPASS\nok  \tshop/cart\t0.1s",
        PASSED,
        Some((2, 0)),
    );
    check("go test ./...", "no packages here", None, None);
    check(
        "pytest -q",
        "..F [100%]\n1 failed, 2 passed, 1 warning in 0.32s",
        FAILED,
        Some((2, 1)),
    );
    check(
        "pytest",
        "==== 7 passed, 1 skipped in 61.10s (0:01:01) ====",
        PASSED,
        Some((7, 0)),
    );
    check(
        "pytest",
        "==== 7 errors in 0.47s ====",
        FAILED,
        Some((0, 7)),
    );
    check("pytest", "it passed in 3 days", None, None);
    check(
        "python -m unittest",
        "Ran 12 tests in 0.003s\n\nOK (skipped=1)",
        PASSED,
        Some((12, 0)),
    );
    check(
        "python -m unittest",
        "Ran 12 tests in 0.003s\n\nFAILED (failures=1, errors=2)",
        FAILED,
        Some((9, 3)),
    );
    check("python -m unittest", "OK", None, None);
    check(
        "npx jest",
        "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 2 skipped, 8 passed, 11 total",
        FAILED,
        Some((8, 1)),
    );
    check(
        "npx jest",
        "Test Suites: 1 failed, 2 passed, 3 total\nTests:       8 passed, 8 total",
        FAILED,
        Some((8, 0)),
    );
    check(
        "npx jest",
        "Test Suites: 2 passed, 2 total\nTests:       8 passed, 8 total",
        PASSED,
        Some((8, 0)),
    );
    check(
        "npx vitest run",
        " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 8 passed | 1 skipped (10)",
        FAILED,
        Some((8, 1)),
    );
    check(
        "npx vitest run",
        " Test Files  2 passed (2)\n      Tests  8 passed (8)",
        PASSED,
        Some((8, 0)),
    );
    check(
        "npx mocha",
        "  12 passing (20ms)\n  1 failing\n\n  1) cart",
        FAILED,
        Some((12, 1)),
    );
    check("npx mocha", "  12 passing (20ms)", PASSED, Some((12, 0)));
    check(
        "npx playwright test",
        "  1 failed\n    a.spec.ts:3:1 › adds\n  4 passed (3.4s)",
        FAILED,
        Some((4, 1)),
    );
    check(
        "npx playwright test",
        "  4 passed (3.4s)",
        PASSED,
        Some((4, 0)),
    );
    check(
        "bun test",
        " 12 pass\n 0 fail\n 20 expect() calls",
        PASSED,
        Some((12, 0)),
    );
    check("node --test", "# pass 2\n# fail 1", FAILED, Some((2, 1)));
    check(
        "deno test",
        "FAILED | 3 passed | 1 failed (10ms)",
        FAILED,
        Some((3, 1)),
    );
    check(
        "bundle exec rspec",
        "12 examples, 1 failure, 2 pending",
        FAILED,
        Some((11, 1)),
    );
    check("rspec", "12 examples, 0 failures", PASSED, Some((12, 0)));
    check(
        "rails test",
        "12 runs, 20 assertions, 1 failures, 1 errors, 0 skips",
        FAILED,
        Some((10, 2)),
    );
    check(
        "vendor/bin/phpunit",
        "OK (12 tests, 20 assertions)",
        PASSED,
        Some((12, 0)),
    );
    check(
        "vendor/bin/phpunit",
        "FAILURES!\nTests: 12, Assertions: 20, Failures: 1, Errors: 1.",
        FAILED,
        Some((10, 2)),
    );
    check(
        "dotnet test",
        "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12, Duration: 1 s",
        PASSED,
        Some((12, 0)),
    );
    check(
        "dotnet test",
        "Bestanden!  - Fehler:     1, erfolgreich:    12, übersprungen:     0, gesamt:    13",
        FAILED,
        Some((12, 1)),
    );
    check(
        "dotnet test",
        "Cart.cs(3,5): error CS1002: ; expected [/shop/Shop.csproj]",
        FAILED,
        None,
    );
    check(
        "ctest",
        "90% tests passed, 1 tests failed out of 10",
        FAILED,
        Some((9, 1)),
    );
    check(
        "ctest",
        "100% tests passed, 0 tests failed out of 10",
        PASSED,
        Some((10, 0)),
    );
    check(
        "./gradlew test",
        "12 tests completed, 1 failed\nBUILD FAILED in 3s",
        FAILED,
        Some((11, 1)),
    );
    check("./gradlew test", "BUILD SUCCESSFUL in 3s", PASSED, None);
    check(
        "mvn test",
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in CartTest\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS",
        PASSED,
        Some((2, 0)),
    );
    check(
        "mvn test",
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
        FAILED,
        Some((2, 1)),
    );
    check(
        "swift test",
        "Executed 2 tests, with 0 failures (0 unexpected) in 0.1 seconds\nExecuted 12 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds",
        FAILED,
        Some((11, 1)),
    );
    check(
        "bats test",
        "1..2\nok 1 adds\nnot ok 2 removes",
        FAILED,
        Some((1, 1)),
    );
    check("mix test", "5 tests, 1 failure", FAILED, Some((4, 1)));
    check(
        "npm test",
        "Tests:       8 passed, 8 total",
        PASSED,
        Some((8, 0)),
    );
    check(
        "make test",
        "test result: ok. 2 passed; 0 failed",
        PASSED,
        Some((2, 0)),
    );
    check(
        "npm test",
        "npm error Lifecycle script `test` failed with error:",
        FAILED,
        None,
    );
    check("npm test", "all good", None, None);
    check(
        "npm test",
        "\u{1b}[1mTests:       \u{1b}[32m8 passed\u{1b}[0m, 8 total",
        PASSED,
        Some((8, 0)),
    );
}

#[test]
fn linters_and_compilers_are_read() {
    let check = |line: &str, output: &str, ok: Option<bool>| {
        assert_ok(&format!("{line} 2>&1 | tail -20"), output, Some(0), &[ok]);
    };
    check(
        "cargo clippy",
        "warning: unused\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.5s",
        PASSED,
    );
    check(
        "cargo build",
        "error: could not compile `shop` (bin) due to 2 previous errors",
        FAILED,
    );
    check("cargo build", "   Compiling shop", None);
    check(
        "cargo fmt --all -- --check",
        "Diff in /shop/src/a.rs:12:",
        FAILED,
    );
    check("cargo fmt --all -- --check", "", None);
    check(
        "go build ./...",
        "# shop/cart\n./cart.go:3:5: undefined: x",
        FAILED,
    );
    check("go build ./...", "", None);
    check("go vet ./...", "vet: cart.go:3:5: unreachable code", FAILED);
    check("golangci-lint run", "0 issues.", PASSED);
    check(
        "golangci-lint run",
        "cart.go:3:5: Error return value is not checked (errcheck)\n1 issues:\n* errcheck: 1",
        FAILED,
    );
    check("golangci-lint run", "level=info msg=\"started\"", None);
    check(
        "npx tsc --noEmit",
        "src/cart.ts(3,5): error TS2345: Argument of type 'x'",
        FAILED,
    );
    check(
        "npx tsc --noEmit",
        "src/cart.ts:3:5 - error TS2345: no\n\nFound 2 errors in 1 file.",
        FAILED,
    );
    check("npx tsc --noEmit", "", None);
    check("npx eslint .", "✖ 2 problems (1 error, 1 warning)", FAILED);
    check("npx eslint .", "✖ 1 problem (0 errors, 1 warning)", PASSED);
    check(
        "npx biome check .",
        "Checked 12 files in 5ms. No fixes applied.",
        PASSED,
    );
    check(
        "npx biome check .",
        "Checked 12 files in 5ms. No fixes applied.\nFound 3 errors.",
        FAILED,
    );
    check(
        "npx prettier --check .",
        "[warn] a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
        FAILED,
    );
    check(
        "npx prettier --check .",
        "All matched files use Prettier code style!",
        PASSED,
    );
    check(
        "ruff check .",
        "Found 3 errors.\n[*] 2 fixable with the `--fix` option.",
        FAILED,
    );
    check(
        "ruff check --fix .",
        "Found 3 errors (3 fixed, 0 remaining).",
        PASSED,
    );
    check("ruff check .", "All checks passed!", PASSED);
    check(
        "ruff format --check .",
        "Would reformat: a.py\n1 file would be reformatted, 2 files already formatted",
        FAILED,
    );
    check("ruff format --check .", "3 files already formatted", PASSED);
    check("black --check .", "would reformat a.py\nOh no!", FAILED);
    check("black .", "All done!\n3 files left unchanged.", PASSED);
    check(
        "mypy .",
        "a.py:3: error: bad  [arg-type]\nFound 1 error in 1 file (checked 3 source files)",
        FAILED,
    );
    check(
        "mypy .",
        "Success: no issues found in 3 source files",
        PASSED,
    );
    check("mypy .", "Success: it works", None);
    check("pyright", "0 errors, 1 warning, 0 informations", PASSED);
    check("pyright", "3 errors, 1 warning, 0 informations", FAILED);
    check("flake8", "a.py:1:1: E501 line too long", FAILED);
    check(
        "rubocop",
        "12 files inspected, no offenses detected",
        PASSED,
    );
    check("rubocop", "12 files inspected, 3 offenses detected", FAILED);
    check("vendor/bin/phpstan", " [OK] No errors", PASSED);
    check(
        "./gradlew build",
        "FAILURE: Build failed with an exception.",
        FAILED,
    );
    check("mvn package", "[INFO] BUILD SUCCESS", PASSED);
    check(
        "dotnet build",
        "Build succeeded.\n    0 Warning(s)\n    0 Error(s)",
        PASSED,
    );
    check(
        "terraform validate",
        "Success! The configuration is valid.",
        PASSED,
    );
    check(
        "pre-commit run -a",
        "ruff....................Passed\nmypy....................Failed",
        FAILED,
    );
    check("make lint", "make: *** [Makefile:3: lint] Error 1", FAILED);
    check("make lint", "make: *** [Makefile:3: docs] Error 1", None);
    check(
        "just lint",
        "error: Recipe `lint` failed on line 3 with exit code 1",
        FAILED,
    );
    check("npm run build", "✓ built in 1.20s", PASSED);
    check(
        "docker build .",
        "ERROR: failed to solve: process did not complete",
        FAILED,
    );
    // What another tool says is no result of this one.
    check("npx eslint .", "3 passed in 0.10s", None);
    check("cargo clippy", "Found 1 error.", None);
    check("pytest", "✖ 2 problems (1 error, 1 warning)", None);
}
