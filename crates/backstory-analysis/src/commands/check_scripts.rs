//! Checks behind task runners and package managers, by the names of their scripts and targets.

use super::check::{Check, CheckFamily, OutputFormat};
use super::check_tools::{Arguments, find_check};

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
        "gradle" | "gradlew" => gradle_check(arguments),
        "mvn" | "mvnw" | "mvnd" => maven_check(arguments),
        "turbo" | "nx" | "lerna" | "rush" => monorepo_check(program, arguments),
        "composer" => {
            let place = usize::from(matches!(arguments.positional(0)?, "run" | "run-script"));
            script_check("composer run", arguments.positional(place)?, arguments)
        }
        "mix" => match arguments.positional(0)? {
            "test" => Some(
                Check::new(CheckFamily::Test, "mix test", OutputFormat::Exunit).narrow_if(
                    arguments.positional(1).is_some()
                        || arguments.has(&["--only", "--failed", "--stale"]),
                ),
            ),
            "format" => Some(
                Check::new(CheckFamily::Format, "mix format", OutputFormat::Any)
                    .fix_if(!arguments.has(&["--check-formatted"])),
            ),
            "compile" => Some(Check::new(
                CheckFamily::Build,
                "mix compile",
                OutputFormat::Any,
            )),
            "credo" => Some(Check::new(
                CheckFamily::Lint,
                "mix credo",
                OutputFormat::Any,
            )),
            "dialyzer" => Some(Check::new(
                CheckFamily::Types,
                "mix dialyzer",
                OutputFormat::Any,
            )),
            _ => None,
        },
        "sbt" => {
            let task = arguments.positionals().last()?;
            let (family, is_narrow) = match task.rsplit('/').next().unwrap_or(task) {
                "test" => (CheckFamily::Test, false),
                "compile" | "package" | "assembly" => (CheckFamily::Build, false),
                "scalafmtCheck" | "scalafmtCheckAll" | "scalafmtAll" => {
                    (CheckFamily::Format, false)
                }
                only if only.starts_with("testOnly") => (CheckFamily::Test, true),
                _ => return None,
            };
            let name = task.split_whitespace().next().unwrap_or(task);
            Some(Check::new(family, &format!("sbt {name}"), OutputFormat::Any).narrow_if(is_narrow))
        }
        "bazel" | "bazelisk" => {
            let verb = arguments.positional(0)?;
            let family = match verb {
                "test" => CheckFamily::Test,
                "build" => CheckFamily::Build,
                _ => return None,
            };
            let targets: Vec<&str> = arguments
                .positionals()
                .skip(1)
                .filter(|word| *word != "//...")
                .collect();
            Some(
                Check::new(family, &format!("bazel {verb}"), OutputFormat::Any)
                    .with_scope(&targets.join(" ")),
            )
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
    let rest = Arguments {
        own: Vec::new(),
        passed: arguments
            .own
            .iter()
            .skip(place + 1)
            .copied()
            .chain(arguments.passed.iter().copied())
            .collect(),
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

fn gradle_check(arguments: &Arguments<'_>) -> Option<Check> {
    let mut is_value = false;
    let mut tasks: Vec<&str> = Vec::new();
    for word in &arguments.own {
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = matches!(
            *word,
            "--tests" | "-p" | "--project-dir" | "-x" | "-b" | "-c" | "-I"
        );
        if !word.starts_with('-') {
            tasks.push(word);
        }
    }
    let family = |task: &&str| {
        let name = task.rsplit(':').next().unwrap_or(task);
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "check" => Some(CheckFamily::Test),
            "build" | "assemble" | "classes" | "jar" | "bootjar" | "installdist" => {
                Some(CheckFamily::Build)
            }
            _ if lower.starts_with("test")
                || lower.ends_with("test")
                || lower.ends_with("tests") =>
            {
                Some(CheckFamily::Test)
            }
            _ if lower.starts_with("spotless") || lower.contains("format") => {
                Some(CheckFamily::Format)
            }
            _ if lower.contains("lint")
                || lower.contains("detekt")
                || lower.contains("checkstyle") =>
            {
                Some(CheckFamily::Lint)
            }
            _ if lower.starts_with("compile") || lower.starts_with("assemble") => {
                Some(CheckFamily::Build)
            }
            _ => None,
        }
    };
    let found = tasks.iter().rev().find_map(family)?;
    let named: Vec<&str> = tasks.into_iter().filter(|task| *task != "clean").collect();
    let is_narrow = arguments.mentions(&["--tests"]);
    let is_fix = named.iter().any(|task| task.ends_with("spotlessApply"));
    let check = Check::new(found, "gradle", OutputFormat::Gradle).with_scope(&named.join(" "));
    Some(check.narrow_if(is_narrow).fix_if(is_fix))
}

fn maven_check(arguments: &Arguments<'_>) -> Option<Check> {
    let goals: Vec<&str> = arguments
        .positionals()
        .filter(|word| {
            matches!(
                *word,
                "test"
                    | "verify"
                    | "package"
                    | "compile"
                    | "install"
                    | "test-compile"
                    | "integration-test"
            )
        })
        .collect();
    let goal = goals.last()?;
    let skips = arguments
        .own
        .iter()
        .any(|word| word.starts_with("-DskipTests") || word.starts_with("-Dmaven.test.skip"));
    let family = match *goal {
        "compile" | "test-compile" => CheckFamily::Build,
        _ if skips => CheckFamily::Build,
        "package" | "install" => CheckFamily::Build,
        _ => CheckFamily::Test,
    };
    let modules = arguments.value(&["-pl", "--projects"]);
    let modules = modules.map(|modules| format!("-pl {modules}"));
    let is_narrow = arguments
        .own
        .iter()
        .any(|word| word.starts_with("-Dtest=") || word.starts_with("-Dit.test="));
    let check = Check::new(family, &format!("mvn {goal}"), OutputFormat::Maven);
    Some(
        check
            .with_scope(modules.as_deref().unwrap_or_default())
            .narrow_if(is_narrow),
    )
}

fn monorepo_check(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let place = usize::from(matches!(
        arguments.positional(0)?,
        "run" | "run-many" | "affected"
    ));
    let named = arguments.value(&["-t", "--target", "--targets"]);
    let script = named.or_else(|| arguments.positional(place))?;
    // `nx run web:test`, `nx test web`.
    let (package, script) = match script.split_once(':') {
        Some((package, script)) if program == "nx" => (Some(package), script),
        _ => (arguments.value(&["--filter", "-F", "--scope"]), script),
    };
    let package = package.or_else(|| match program {
        "nx" if place == 0 => arguments.positional(1),
        _ => None,
    });
    let scope = package.map(|package| format!("--filter {package}"));
    let check = script_check(&format!("{program} run"), script, arguments)?;
    Some(check.with_scope(scope.as_deref().unwrap_or_default()))
}
