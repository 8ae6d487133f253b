//! Summaries of linters, type checkers, formatters and compilers.

use super::check::{CheckFamily, OutputFormat};
use super::finding_tests::{count_before, leading_number};
use super::findings::Finding;
use super::place::place_end;

use CheckFamily::{Build, Format, Lint, Test, Types};
use OutputFormat as F;

/// Returns what a line says of a linter, a type checker, a formatter or a compiler.
pub(super) fn lint_finding(line: &str) -> Option<Finding> {
    let trimmed = line.trim_start();
    compiler_finding(trimmed)
        .or_else(|| javascript_finding(trimmed))
        .or_else(|| python_finding(trimmed))
        .or_else(|| other_finding(trimmed))
        .or_else(|| place_finding(line))
}

fn found(format: OutputFormat, family: CheckFamily, is_ok: bool) -> Option<Finding> {
    let mut finding = Finding::new(format, family, is_ok);
    finding.is_whole = true;
    Some(finding)
}

fn compiler_finding(line: &str) -> Option<Finding> {
    if line.starts_with("error: could not compile") || line.starts_with("error: could not document")
    {
        return found(F::Cargo, Build, false);
    }
    // cargo: Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.5s.
    if line.starts_with("Finished `") && line.contains("target(s) in") {
        return found(F::Cargo, Build, true);
    }
    // rustfmt: `Diff in /shop/src/cart.rs:12:`.
    if line.starts_with("Diff in ") && line.ends_with(':') {
        return found(F::Cargo, Format, false);
    }
    match line {
        "BUILD SUCCESSFUL" => return found(F::Gradle, Build, true),
        "Build succeeded." => return found(F::Dotnet, Build, true),
        "Build FAILED." => return found(F::Dotnet, Build, false),
        "** BUILD SUCCEEDED **" => return found(F::Swift, Build, true),
        "** BUILD FAILED **" => return found(F::Swift, Build, false),
        "** TEST SUCCEEDED **" => return found(F::Swift, Test, true),
        "** TEST FAILED **" => return found(F::Swift, Test, false),
        "[INFO] BUILD SUCCESS" => return found(F::Maven, Build, true),
        "[INFO] BUILD FAILURE" | "[ERROR] BUILD FAILURE" => return found(F::Maven, Build, false),
        _ => {}
    }
    if line.starts_with("BUILD SUCCESSFUL in ") {
        return found(F::Gradle, Build, true);
    }
    if line.starts_with("BUILD FAILED in ") || line == "FAILURE: Build failed with an exception." {
        return found(F::Gradle, Build, false);
    }
    if line.starts_with("Build succeeded in ") || line.starts_with("Build succeeded with ") {
        return found(F::Dotnet, Build, true);
    }
    if line.starts_with("Build failed with ") {
        return found(F::Dotnet, Build, false);
    }
    // C#: `Cart.cs(3,5): error CS1002: ; expected [/shop/Shop.csproj]`.
    if line.contains("): error CS") || line.contains(" : error MSB") || line.contains(": error NU1")
    {
        return found(F::Dotnet, Build, false);
    }
    if line.starts_with("Build complete!") {
        return found(F::Swift, Build, true);
    }
    if line.starts_with("INFO: Build completed successfully") {
        return found(F::Any, Build, true);
    }
    None
}

fn javascript_finding(line: &str) -> Option<Finding> {
    // tsc: `src/cart.ts(3,5): error TS2345: …`, or with colons when it is pretty.
    if line.contains("error TS")
        && line
            .split("error TS")
            .nth(1)
            .is_some_and(|code| leading_number(code) > 0)
    {
        return found(F::Tsc, Types, false);
    }
    if line.starts_with("Found 0 errors. Watching") {
        return found(F::Tsc, Types, true);
    }
    // eslint: `✖ 2 problems (1 error, 1 warning)`.
    if line.starts_with('✖') && line.contains(" problem") {
        let errors = count_before(line, "errors").or(count_before(line, "error"))?;
        return found(F::Eslint, Lint, errors == 0);
    }
    // biome: `Checked 12 files in 5ms. No fixes applied.`, then `Found 3 errors.` if there are any.
    if line.starts_with("Checked ") && line.contains(" file") && line.contains(" in ") {
        return found(F::Biome, Lint, true);
    }
    if line.contains("Some errors were emitted while") {
        return found(F::Biome, Lint, false);
    }
    if line.starts_with("All matched files use Prettier code style") {
        return found(F::Prettier, Format, true);
    }
    if line.starts_with("[warn] Code style issues") || line.starts_with("[error] Code style issues")
    {
        return found(F::Prettier, Format, false);
    }
    let is_built = (line.starts_with("✓ built in ") || line.starts_with("✓ Compiled successfully"))
        || (line.starts_with("webpack ") && line.contains("compiled successfully"));
    if is_built {
        return found(F::Any, Build, true);
    }
    if line.starts_with("webpack ") && line.contains("compiled with ") {
        let errors = count_before(line, "errors")
            .or(count_before(line, "error"))
            .unwrap_or(0);
        return found(F::Any, Build, errors == 0);
    }
    None
}

fn python_finding(line: &str) -> Option<Finding> {
    if line.starts_with("All checks passed!") {
        return found(F::Ruff, Lint, true);
    }
    if let Some(rest) = line.strip_prefix("Success: no issues found in ") {
        return (leading_number(rest) > 0).then(|| Finding::new(F::Mypy, Types, true));
    }
    if let Some(rest) = line.strip_prefix("Found ") {
        return found_errors(rest);
    }
    // pyright: `3 errors, 1 warning, 0 informations`.
    if line.contains(" error") && line.contains(" warning") && line.contains(" information") {
        return found(F::Pyright, Types, leading_number(line) == 0);
    }
    let lower = line.get(..16).unwrap_or(line).to_ascii_lowercase();
    if lower.starts_with("would reformat") || line.contains(" would be reformatted") {
        return found(F::Black, Format, false);
    }
    let is_left = line.contains(" left unchanged")
        || line.contains(" already formatted")
        || line.contains(" reformatted");
    if is_left && leading_number(line) > 0 && line.contains(" file") {
        return found(F::Black, Format, true);
    }
    None
}

/// `Found 3 errors.` of ruff and biome, `Found 1 error in 1 file (checked 3 source files)` of mypy, `Found 3 errors in 2 files.` of tsc.
fn found_errors(rest: &str) -> Option<Finding> {
    let count = leading_number(rest);
    let mut words = rest.split_whitespace().skip(1);
    let is_errors = words.next().is_some_and(|word| {
        matches!(
            word.trim_end_matches('.'),
            "error" | "errors" | "diagnostic" | "diagnostics"
        )
    });
    if !is_errors {
        return None;
    }
    // ruff mended all of them: `Found 3 errors (3 fixed, 0 remaining).`
    let left = match rest.contains(" remaining)") {
        true => count_before(rest, "remaining").unwrap_or(count),
        false => count,
    };
    if rest.contains("(checked ") || rest.contains("(errors prevented") {
        return found(F::Mypy, Types, left == 0);
    }
    if rest.contains(" in ") {
        return found(F::Tsc, Types, left == 0);
    }
    found(F::Ruff, Lint, left == 0)
}

fn other_finding(line: &str) -> Option<Finding> {
    // golangci-lint: `0 issues.`, `3 issues:`.
    if let Some((count, rest)) = line.split_once(" issue")
        && let Ok(count) = count.parse::<u64>()
        && matches!(rest, "s." | "s:" | "." | ":")
    {
        return found(F::GolangciLint, Lint, count == 0);
    }
    // rubocop: `12 files inspected, no offenses detected`.
    if line.contains(" inspected, ") && line.contains(" offense") {
        return found(
            F::Rubocop,
            Lint,
            line.contains("no offenses") || line.contains("corrected, 0 "),
        );
    }
    if line.starts_with("[OK] No errors") {
        return found(F::Phpstan, Lint, true);
    }
    if let Some(rest) = line.strip_prefix("[ERROR] Found ") {
        return (leading_number(rest) > 0).then(|| Finding::new(F::Phpstan, Lint, false));
    }
    if line.starts_with("Success! The configuration is valid") {
        return found(F::Terraform, Lint, true);
    }
    if let Some(rest) = line
        .strip_prefix("Found ")
        .or_else(|| line.strip_prefix("Checked "))
    {
        return (rest.contains(" problem") && leading_number(rest) > 0)
            .then(|| Finding::new(F::Deno, Lint, false));
    }
    // pre-commit: `ruff.....................Failed`.
    if line.contains("......") && (line.ends_with("Failed") || line.ends_with("Passed")) {
        return Some(Finding::new(F::Any, Lint, line.ends_with("Passed")));
    }
    // shellcheck: `In run.sh line 3:`.
    if line.starts_with("In ") && line.ends_with(':') && line.contains(" line ") {
        return found(F::Places, Lint, false);
    }
    None
}

/// A finding that is its own line: `cart.go:3:5: unused (linter)`, `./cart.go:3:5: undefined: x`, `cart.py:1:1: E501 …`.
fn place_finding(line: &str) -> Option<Finding> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let end = place_end(line)?;
    let (file, rest) = (line.get(..end.file)?, line.get(end.text..)?);
    if rest.trim().is_empty() {
        return None;
    }
    if file.ends_with(".go") {
        let is_linter = rest.ends_with(')')
            && rest.rsplit_once('(').is_some_and(|(before, name)| {
                before.ends_with(' ')
                    && name
                        .trim_end_matches(')')
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            });
        // Logs of tests are indented.
        let is_compiler = end.has_column && !line.starts_with(' ');
        return match (is_linter, is_compiler) {
            (true, _) => found(F::GolangciLint, Lint, false),
            (false, true) => Some(Finding::new(F::Go, Build, false).into_weak()),
            _ => None,
        };
    }
    if file.ends_with(".py") && rest.trim_start().starts_with("error: ") {
        return Some(Finding::new(F::Mypy, Types, false).into_weak());
    }
    (end.has_column && !line.starts_with(' '))
        .then(|| Finding::new(F::Places, Lint, false).into_weak())
}
