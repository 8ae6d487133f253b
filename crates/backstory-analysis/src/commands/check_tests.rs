//! Test runners, and when only some tests are selected.

use super::arguments::{Arguments, is_file_name};
use super::check::{Check, CheckFamily, OutputFormat};
use super::check_tools::{cargo_scope, go_scope};

/// Returns the test run of a program with its arguments.
pub(super) fn find_test_runner(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let first = arguments.positional(0).unwrap_or_default();
    let (name, format) = match program {
        "cargo" => return cargo_tests(arguments),
        "go" => return go_tests(arguments),
        "pytest" | "py.test" => ("pytest", OutputFormat::Pytest),
        "unittest" => {
            let is_narrow = arguments.has(&["-k"]) || !matches!(first, "" | "discover");
            let check = Check::new(
                CheckFamily::Test,
                "python -m unittest",
                OutputFormat::Unittest,
            );
            return Some(check.narrow_if(is_narrow));
        }
        "coverage" if first == "run" => {
            let rest = arguments.skip(arguments.own.iter().position(|word| *word == "-m")? + 1);
            return find_test_runner(rest.own.first()?, &rest.skip(1));
        }
        "gotestsum" => ("gotestsum", OutputFormat::Go),
        "tox" => {
            let check = Check::new(CheckFamily::Test, "tox", OutputFormat::Any);
            return Some(check.with_scope(arguments.value(&["-e"]).unwrap_or_default()));
        }
        "nox" => {
            let session = arguments.value(&["-s", "--session", "--sessions"]);
            let check = Check::new(CheckFamily::Test, "nox", OutputFormat::Any);
            return (!arguments.has(&["-l"]))
                .then(|| check.with_scope(session.unwrap_or_default()));
        }
        "jest" => ("jest", OutputFormat::Jest),
        "vitest" if matches!(first, "watch" | "dev" | "init" | "list") => return None,
        "vitest" => ("vitest", OutputFormat::Vitest),
        "mocha" => ("mocha", OutputFormat::Mocha),
        "ava" | "tap" | "tape" | "uvu" | "jasmine" | "karma" => (program, OutputFormat::Any),
        "playwright" if first == "test" => ("playwright test", OutputFormat::Playwright),
        "cypress" if first == "run" => ("cypress run", OutputFormat::Mocha),
        "node" if arguments.has(&["--test"]) => ("node --test", OutputFormat::NodeTest),
        "bun" if first == "test" => ("bun test", OutputFormat::Bun),
        "deno" => ("deno test", OutputFormat::Deno),
        "ctest" => {
            if arguments.has(&["-N"]) {
                return None;
            }
            let check = Check::new(CheckFamily::Test, "ctest", OutputFormat::Ctest);
            return Some(check.narrow_if(arguments.has(&["-R", "-L", "-I", "--rerun-failed"])));
        }
        "rspec" => ("rspec", OutputFormat::Rspec),
        "rails" if first == "test" || first.starts_with("test:") => {
            ("rails test", OutputFormat::Rspec)
        }
        "phpunit" | "paratest" | "pest" => (program, OutputFormat::Phpunit),
        "artisan" if first == "test" => ("artisan test", OutputFormat::Phpunit),
        "dotnet" => {
            let project = arguments
                .positional(1)
                .filter(|word| word.contains(['.', '/', '\\']));
            let is_narrow = arguments.has(&["--filter"]) || arguments.mentions(&["--filter"]);
            let check = Check::new(CheckFamily::Test, "dotnet test", OutputFormat::Dotnet);
            return Some(
                check
                    .with_scope(project.unwrap_or_default())
                    .narrow_if(is_narrow),
            );
        }
        "swift" => ("swift test", OutputFormat::Swift),
        "bats" => ("bats", OutputFormat::Tap),
        "busted" | "ginkgo" => (program, OutputFormat::Any),
        "zig" => return Some(Check::new(CheckFamily::Test, "zig test", OutputFormat::Any)),
        _ => return None,
    };
    let subcommands = usize::from(name.contains(' ') && name.split(' ').nth(1) == Some(first));
    let is_narrow = selects_tests(program, arguments, subcommands);
    let project = match program {
        "jest" | "vitest" | "playwright" => arguments.value(&["--project", "--selectProjects"]),
        _ => None,
    };
    let scope = project.map(|project| format!("--project {project}"));
    let check = Check::new(CheckFamily::Test, name, format);
    Some(
        check
            .with_scope(scope.as_deref().unwrap_or_default())
            .narrow_if(is_narrow),
    )
}

/// Options by which a runner is given only some tests.
const SELECTORS: &[&str] = &[
    "-k",
    "--lf",
    "--last-failed",
    "--ff",
    "--sw",
    "--stepwise",
    "-t",
    "--testNamePattern",
    "--testPathPattern",
    "--testPathPatterns",
    "--findRelatedTests",
    "--onlyChanged",
    "-o",
    "-g",
    "--grep",
    "--spec",
    "--filter",
    "--example",
    "-e",
    "--only-failures",
    "--test-name-pattern",
    "--testsuite",
    "--only",
    "--run",
    "--changed",
    "--related",
    "--shard",
    "--deselect",
];

/// Options of runners whose value is the word behind them, and that select nothing.
const VALUED: &[&str] = &[
    "-c",
    "--config",
    "-n",
    "-p",
    "--maxfail",
    "--tb",
    "--cov",
    "--cov-report",
    "-W",
    "--timeout",
    "--durations",
    "--reporter",
    "--project",
    "--rootdir",
    "--maxWorkers",
    "-w",
    "--workers",
    "-j",
    "--jobs",
    "--format",
    "-r",
    "--require",
    "-m",
    "--dist",
    "--color",
    "--environment",
    "--ignore",
    "--override-ini",
    "--workspace",
];

fn selects_tests(program: &str, arguments: &Arguments<'_>, skip: usize) -> bool {
    let is_selector = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        // `vitest --run` and `-t` of bats select nothing.
        let is_other =
            (program == "vitest" && name == "--run") || (program == "pytest" && name == "-o");
        SELECTORS.contains(&name) && !is_other && value != "false"
    };
    if arguments.own.iter().any(|word| is_selector(word)) {
        return true;
    }
    if let Some(marker) = arguments.value(&["-m"])
        && program == "pytest"
        && !marker.starts_with("not ")
    {
        return true;
    }
    let mut left =
        skip + usize::from(program == "vitest" && arguments.positional(0) == Some("run"));
    let mut is_value = false;
    for word in &arguments.own {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('-') {
            is_value = VALUED.contains(word);
        } else if left > 0 {
            left -= 1;
        } else if !is_whole(word) {
            return true;
        }
    }
    false
}

/// Returns whether an argument is the folder of all tests.
fn is_whole(word: &str) -> bool {
    let word = word.trim_start_matches("./").trim_end_matches('/');
    matches!(
        word,
        "" | "." | "test" | "tests" | "spec" | "specs" | "src" | "e2e" | "__tests__"
    ) || (word.contains('*') && !is_file_name(word))
}

fn cargo_tests(arguments: &Arguments<'_>) -> Option<Check> {
    let verb = arguments.positional(0)?;
    let is_nextest = verb == "nextest";
    if is_nextest && arguments.positional(1) != Some("run") {
        return None;
    }
    let name = match verb {
        "nextest" => "cargo nextest",
        "llvm-cov" => "cargo llvm-cov",
        _ => "cargo test",
    };
    if arguments.has(&["--no-run"]) {
        let check = Check::new(
            CheckFamily::Build,
            "cargo test --no-run",
            OutputFormat::Cargo,
        );
        return Some(check.with_scope(&cargo_scope(arguments)));
    }
    const VALUES: &[&str] = &[
        "-p",
        "--package",
        "--features",
        "-F",
        "--exclude",
        "--manifest-path",
        "--target",
        "--target-dir",
        "-j",
        "--jobs",
        "--profile",
        "--color",
        "--message-format",
        "-Z",
        "--config",
        "-P",
        "--test-threads",
        "--retries",
        "--cargo-profile",
        "--partition",
        "--no-fail-fast=",
    ];
    let mut is_narrow = arguments.has(&[
        "--lib",
        "--doc",
        "--bin",
        "--bins",
        "--test",
        "--example",
        "--examples",
    ]) || arguments.mentions(&["-E", "--filter-expr"]);
    let mut skip = 1 + usize::from(is_nextest);
    let mut is_value = false;
    for word in &arguments.own {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('-') {
            is_value =
                VALUES.contains(word) || matches!(*word, "--bin" | "--test" | "--example" | "-E");
        } else if skip > 0 {
            skip -= 1;
        } else {
            is_narrow = true;
        }
    }
    let mut is_value = false;
    for word in &arguments.passed {
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = matches!(*word, "--test-threads" | "--format" | "-Z" | "--color");
        is_narrow |= !word.starts_with('-') || matches!(*word, "--exact" | "--ignored" | "--skip");
    }
    let check = Check::new(CheckFamily::Test, name, OutputFormat::Cargo);
    Some(
        check
            .with_scope(&cargo_scope(arguments))
            .narrow_if(is_narrow),
    )
}

fn go_tests(arguments: &Arguments<'_>) -> Option<Check> {
    // These list or compile tests.
    if arguments.mentions(&["-list", "--list"]) {
        return None;
    }
    let family = match arguments.has(&["-c"]) {
        true => CheckFamily::Build,
        false => CheckFamily::Test,
    };
    let tags = arguments.value(&["-tags", "--tags"]);
    let tags = tags.map(|tags| format!("-tags {tags}"));
    let is_narrow =
        arguments.mentions(&["-run", "--run", "-bench", "-skip"]) || arguments.names_file(1);
    let check = Check::new(family, "go test", OutputFormat::Go);
    Some(
        check
            .with_scope(tags.as_deref().unwrap_or_default())
            .with_scope(&go_scope(arguments))
            .narrow_if(is_narrow),
    )
}
