//! Build tools whose tasks are checks: Gradle, Maven, Mix, sbt, Bazel, and runners of monorepos.

use super::arguments::Arguments;
use super::check::{Check, CheckFamily, OutputFormat};
use super::check_scripts::script_check;

/// Returns the check that a build tool runs.
pub(super) fn find_build_task(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    match program {
        "gradle" | "gradlew" => gradle_check(arguments),
        "mvn" | "mvnw" | "mvnd" => maven_check(arguments),
        "turbo" | "nx" | "lerna" | "rush" => monorepo_check(program, arguments),
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
