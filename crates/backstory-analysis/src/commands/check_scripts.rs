//! Checks behind task runners and package managers, by the names of their scripts and targets.

use super::arguments::Arguments;
use super::check::{Check, CheckFamily, OutputFormat};
use super::check_tools::find_check;

/// Words in the names of scripts, and the family that they say.
const FAMILIES: &[(CheckFamily, &[&str])] = &[
    (
        CheckFamily::Types,
        &[
            "typecheck",
            "types",
            "tsc",
            "typescript",
            "mypy",
            "pyright",
            "typing",
            "typed",
        ],
    ),
    (
        CheckFamily::Format,
        &[
            "format",
            "fmt",
            "prettier",
            "formatting",
            "rustfmt",
            "gofmt",
            "black",
        ],
    ),
    (
        CheckFamily::Lint,
        &[
            "lint",
            "linter",
            "linting",
            "eslint",
            "clippy",
            "vet",
            "rubocop",
            "stylelint",
            "ruff",
            "golangci",
            "precommit",
            "biome",
        ],
    ),
    (
        CheckFamily::Test,
        &[
            "test",
            "tests",
            "testing",
            "unittest",
            "unittests",
            "e2e",
            "spec",
            "specs",
            "unit",
            "integration",
            "pytest",
            "jest",
            "vitest",
            "bats",
            "smoke",
            "coverage",
        ],
    ),
    (
        CheckFamily::Build,
        &[
            "build", "compile", "bundle", "assemble", "package", "dist", "docs",
        ],
    ),
];

/// Words in the names of scripts that are no checks, whatever else is in the name.
const NO_CHECKS: &[&str] = &[
    "watch", "dev", "serve", "start", "install", "setup", "prepare", "seed", "clean", "deploy",
    "publish", "release", "migrate", "generate", "gen", "open", "ui", "preview", "init", "help",
    "up", "down", "logs", "reset",
];

/// Returns the family of checks that a script's name says.
pub(super) fn script_family(name: &str) -> Option<CheckFamily> {
    let name = name.to_ascii_lowercase();
    let joined = name
        .replace("type-check", "typecheck")
        .replace("check-types", "typecheck");
    let joined = joined
        .replace("pre-commit", "precommit")
        .replace("type_check", "typecheck");
    let words = || {
        joined
            .split([':', '-', '_', '.', '/'])
            .filter(|word| !word.is_empty())
    };
    if words().any(|word| NO_CHECKS.contains(&word)) {
        return None;
    }
    let family = |word: &str| {
        let found = FAMILIES.iter().find(|(_, names)| names.contains(&word));
        found.map(|(family, _)| *family)
    };
    words().find_map(family).or_else(|| {
        words().find_map(|word| match word {
            "check" | "checks" | "validate" => Some(CheckFamily::Lint),
            "ci" | "verify" => Some(CheckFamily::Test),
            _ => None,
        })
    })
}

/// Returns the check that a runner's script is.
pub(super) fn script_check(runner: &str, script: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let family = script_family(script)?;
    // What is passed on selects: `npm test -- cart.test.ts`, `mise run test -- -run TestCart`.
    let is_selected = |word: &&str| {
        !word.starts_with('-')
            || matches!(*word, "-run" | "-k" | "-t" | "-g" | "--grep" | "--filter")
    };
    let is_narrow = arguments.passed.iter().any(is_selected);
    let check = Check::new(family, &format!("{runner} {script}"), OutputFormat::Any);
    let fixes = script
        .split([':', '-', '_'])
        .any(|word| matches!(word, "fix" | "write"))
        || (family == CheckFamily::Format && !script.contains("check"))
        || arguments.mentions(&["--fix", "--write"]);
    Some(check.with_task(script).narrow_if(is_narrow).fix_if(fixes))
}

/// Returns the check of a task runner or package manager.
pub(super) fn find_script(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    match program {
        "npm" | "pnpm" | "yarn" | "bun" => package_script(program, arguments),
        "make" | "gmake" => {
            if arguments.has(&["-n", "-q", "-p"]) {
                return None;
            }
            target_check("make", arguments, &["-C", "-f", "-j", "-l", "-I"])
        }
        "just" => target_check(
            "just",
            arguments,
            &["-f", "-d", "--justfile", "--working-directory", "--set"],
        )
        .filter(|_| !arguments.has(&["-l", "-n", "--summary", "--show"])),
        "task" | "go-task" => target_check("task", arguments, &["-d", "-t", "--dir", "--taskfile"])
            .filter(|_| !arguments.has(&["-l", "-n", "-a", "--list-all"])),
        "rake" | "invoke" | "inv" | "ant" | "grunt" | "gulp" | "moon" | "poe" | "earthly" => {
            target_check(program, arguments, &["-f"])
        }
        "mise" => match arguments.positional(0)? {
            "run" | "r" => mise_tasks(arguments),
            _ => None,
        },
        "composer" => {
            let place = usize::from(matches!(arguments.positional(0)?, "run" | "run-script"));
            script_check("composer run", arguments.positional(place)?, arguments)
        }
        _ => None,
    }
}

/// Options by which a package manager is told the package.
const PACKAGE_OPTIONS: &[&str] = &["--filter", "-F", "--workspace", "-w"];

fn package_script(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    // Values of options are no scripts.
    const VALUED: &[&str] = &[
        "--filter",
        "-F",
        "--prefix",
        "-C",
        "--dir",
        "--cwd",
        "--workspace",
    ];
    let takes_value = |word: &str| VALUED.contains(&word) || (word == "-w" && program == "npm");
    let mut is_value = false;
    let mut place = None;
    for (number, word) in arguments.own.iter().enumerate() {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('-') {
            is_value = takes_value(word);
            continue;
        }
        let is_prefix = matches!(*word, "run" | "run-script" | "workspaces" | "foreach")
            || (*word == "-r" || *word == "recursive")
            || (program == "yarn" && *word == "workspace");
        if program == "yarn" && *word == "workspace" {
            is_value = true;
        }
        if !is_prefix {
            place = Some(number);
            break;
        }
    }
    let place = place?;
    let script = *arguments.own.get(place)?;
    let is_run = arguments
        .own
        .iter()
        .take(place)
        .any(|word| matches!(*word, "run" | "run-script"));
    let scope = match arguments.value(PACKAGE_OPTIONS) {
        Some(package) if program != "pnpm" || !arguments.has(&["-w"]) => {
            format!("--filter {package}")
        }
        _ => match arguments.own.iter().position(|word| *word == "workspace") {
            Some(at) if at < place => format!("--filter {}", arguments.own.get(at + 1)?),
            _ => String::new(),
        },
    };
    if program == "bun" && script == "test" && !is_run {
        return super::check_tests::find_test_runner(program, &arguments.skip(place));
    }
    let script = match script {
        "t" | "tst" if !is_run => "test",
        other => other,
    };
    // npm runs scripts by `run`, but for the one.
    if program == "npm" && !is_run && script != "test" {
        return None;
    }
    // Options of the package manager select no tests.
    let mut is_value = false;
    let behind = arguments.own.iter().copied().skip(place + 1);
    let behind = behind.filter(|word| {
        let was_value = std::mem::replace(&mut is_value, takes_value(word));
        !was_value && !is_value
    });
    let rest = Arguments {
        own: Vec::new(),
        passed: behind.chain(arguments.passed.iter().copied()).collect(),
        depth: arguments.depth + 1,
    };
    let named = match (is_run, script) {
        // A binary of a package: `pnpm eslint .`, `yarn tsc`.
        (false, _) if program != "npm" && !arguments.is_question() => {
            let check = find_check(script, &arguments.skip(place + 1));
            check.filter(|check| check.format != OutputFormat::Any)
        }
        _ => None,
    };
    let check = named.or_else(|| script_check(&format!("{program} run"), script, &rest))?;
    Some(check.with_scope(&scope))
}

/// Returns the check of a runner that is given targets.
fn target_check(runner: &str, arguments: &Arguments<'_>, valued: &[&str]) -> Option<Check> {
    let mut is_value = false;
    let mut targets: Vec<&str> = Vec::new();
    for word in &arguments.own {
        if std::mem::take(&mut is_value) {
            continue;
        }
        // `make -j 8` and `make -j`.
        is_value = valued.contains(word);
        if !word.starts_with('-')
            && !word.contains('=')
            && !word.bytes().all(|byte| byte.is_ascii_digit())
        {
            targets.push(word);
        }
    }
    let Some(first) = targets.first() else {
        // The first target of a makefile is that of the build.
        let check = Check::new(CheckFamily::Build, runner, OutputFormat::Any);
        return matches!(runner, "make").then_some(check);
    };
    if runner == "just" || runner == "invoke" {
        return script_check(runner, first, arguments);
    }
    // `make check` runs tests.
    if runner == "make" && targets.contains(&"check") {
        let check = Check::new(CheckFamily::Test, "make check", OutputFormat::Any);
        return Some(check.with_task("check"));
    }
    let best = [
        CheckFamily::Test,
        CheckFamily::Types,
        CheckFamily::Lint,
        CheckFamily::Build,
        CheckFamily::Format,
    ];
    let target = best.iter().find_map(|family| {
        targets
            .iter()
            .find(|target| script_family(target) == Some(*family))
    })?;
    let mut check = script_check(runner, target, arguments)?;
    check.tool = format!("{runner} {}", targets.join(" "));
    Some(check)
}

fn mise_tasks(arguments: &Arguments<'_>) -> Option<Check> {
    let task = arguments.positional(1)?;
    let mut check = script_check("mise run", task, arguments)?;
    // `:::` stands between tasks.
    let is_selected = |word: &str| word != ":::" && !word.starts_with('-');
    check.is_narrow |= !arguments.has(&[":::"]) && arguments.positionals().skip(2).any(is_selected);
    Some(check)
}
