//! Tools that check, by their names and arguments.

use super::arguments::Arguments;
use super::check::{Check, CheckFamily, OutputFormat};
use super::check_builders::find_build_task;
use super::check_linters::linter_check;
use super::check_scripts::{find_script, script_check};
use super::check_tests::find_test_runner;

use CheckFamily::{Build, Format, Lint, Types};

/// Returns the check of a program with its arguments; its folder is not filled in.
pub(super) fn find_check(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let first = arguments.positional(0).unwrap_or_default();
    match program {
        "cargo" => cargo_check(arguments),
        "go" => go_check(arguments),
        "python" | "python3" | "py" | "python2" => python_check(arguments),
        "git" | "gh" | "jj" | "hg" => None,
        "docker" | "podman" | "buildah" => docker_check(program, arguments),
        "cmake" => arguments
            .has(&["--build"])
            .then(|| Check::new(Build, "cmake --build", OutputFormat::Any)),
        "dotnet" => dotnet_check(arguments),
        "swift" => match first {
            "build" => Some(Check::new(Build, "swift build", OutputFormat::Swift)),
            "test" => find_test_runner(program, arguments),
            _ => None,
        },
        "xcodebuild" => {
            let action = arguments
                .positionals()
                .find(|word| matches!(*word, "test" | "build" | "analyze"));
            let family = match action {
                Some("test") => CheckFamily::Test,
                Some("analyze") => Lint,
                _ => Build,
            };
            let scheme = arguments.value(&["-scheme"]).unwrap_or_default();
            let tool = format!("xcodebuild {}", action.unwrap_or("build"));
            let is_narrow = arguments
                .own
                .iter()
                .any(|word| word.starts_with("-only-testing"));
            let is_asked = arguments.has(&["-list", "-version", "-showBuildSettings", "-showsdks"]);
            (!is_asked).then(|| {
                Check::new(family, &tool, OutputFormat::Swift)
                    .with_scope(scheme)
                    .narrow_if(is_narrow)
            })
        }
        "deno" => match first {
            "lint" => Some(Check::new(Lint, "deno lint", OutputFormat::Deno)),
            "check" => Some(Check::new(Types, "deno check", OutputFormat::Deno)),
            "fmt" => Some(
                Check::new(Format, "deno fmt", OutputFormat::Deno)
                    .fix_if(!arguments.has(&["--check"])),
            ),
            "task" => script_check("deno task", arguments.positional(1)?, arguments),
            "test" => find_test_runner(program, arguments),
            _ => None,
        },
        "terraform" | "tofu" => match first {
            "validate" => Some(Check::new(
                Lint,
                &format!("{program} validate"),
                OutputFormat::Terraform,
            )),
            "fmt" => {
                let is_fix = !arguments.has(&["-check", "--check"]);
                let check = Check::new(Format, &format!("{program} fmt"), OutputFormat::Terraform);
                Some(check.fix_if(is_fix))
            }
            _ => None,
        },
        "zig" => match (first, arguments.positional(1)) {
            ("test", _) | ("build", Some("test")) => find_test_runner(program, arguments),
            ("build", _) => Some(Check::new(Build, "zig build", OutputFormat::Any)),
            ("fmt", _) => Some(
                Check::new(Format, "zig fmt", OutputFormat::Any)
                    .fix_if(!arguments.has(&["--check"])),
            ),
            _ => None,
        },
        _ => linter_check(program, arguments)
            .or_else(|| find_test_runner(program, arguments))
            .or_else(|| find_build_task(program, arguments))
            .or_else(|| find_script(program, arguments)),
    }
}

fn cargo_check(arguments: &Arguments<'_>) -> Option<Check> {
    let verb = arguments.positional(0)?;
    let cargo =
        |family, name: &str| Check::new(family, &format!("cargo {name}"), OutputFormat::Cargo);
    let check = match verb {
        "test" | "t" | "nextest" => return find_test_runner("cargo", arguments),
        "clippy" => cargo(Lint, "clippy").fix_if(arguments.has(&["--fix"])),
        "deny" | "audit" | "machete" | "udeps" => cargo(Lint, verb),
        "hack" | "llvm-cov" => {
            let place = arguments.own.iter().position(|word| *word == verb)?;
            let rest = arguments.skip(place + 1);
            if verb == "llvm-cov" {
                return find_test_runner("cargo", arguments);
            }
            return cargo_check(&rest);
        }
        "fmt" => {
            let is_check = arguments.mentions(&["--check"]);
            let check = cargo(Format, "fmt").fix_if(!is_check);
            return Some(check.with_scope(&cargo_scope(arguments)));
        }
        "build" | "b" => cargo(Build, "build"),
        "check" | "c" => cargo(Build, "check"),
        "doc" | "rustdoc" => cargo(Build, "doc"),
        _ => return None,
    };
    let is_narrow = arguments.has(&["--bin", "--example", "--test", "--bench"]);
    Some(
        check
            .with_scope(&cargo_scope(arguments))
            .narrow_if(is_narrow),
    )
}

/// Packages that are given to cargo.
pub(super) fn cargo_scope(arguments: &Arguments<'_>) -> String {
    let mut packages: Vec<&str> = Vec::new();
    let mut words = arguments.own.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" => packages.extend(words.peek().copied()),
            _ => packages.extend(
                word.strip_prefix("--package=")
                    .or_else(|| word.strip_prefix("-p").filter(|rest| !rest.is_empty())),
            ),
        }
    }
    packages.sort_unstable();
    let named: Vec<String> = packages
        .iter()
        .map(|package| format!("-p {package}"))
        .collect();
    named.join(" ")
}

fn go_check(arguments: &Arguments<'_>) -> Option<Check> {
    let verb = arguments.positional(0)?;
    let family = match verb {
        "test" => return find_test_runner("go", arguments),
        "vet" => Lint,
        "build" | "install" => Build,
        "fmt" => {
            return Some(Check::new(Format, "gofmt", OutputFormat::Gofmt).fix_if(true));
        }
        "tool" if arguments.positional(1) == Some("golangci-lint") => {
            return linter_check("golangci-lint", &arguments.skip(2));
        }
        _ => return None,
    };
    // `go install x@latest` installs a tool.
    if verb == "install" && arguments.positionals().any(|word| word.contains('@')) {
        return None;
    }
    let check = Check::new(family, &format!("go {verb}"), OutputFormat::Go);
    Some(check.with_scope(&go_scope(arguments)))
}

/// Packages that are given to go, unless they are all.
pub(super) fn go_scope(arguments: &Arguments<'_>) -> String {
    let is_package = |word: &&str| word.starts_with('.') || word.contains('/');
    let values = [
        "-o",
        "-run",
        "-bench",
        "-coverprofile",
        "-tags",
        "-C",
        "-ldflags",
        "-timeout",
    ];
    let mut packages: Vec<&str> = Vec::new();
    let mut is_value = false;
    for word in arguments.own.iter().skip(1).copied() {
        let was_value = std::mem::replace(&mut is_value, values.contains(&word));
        if !was_value && is_package(&word) && word != "./..." {
            packages.push(word);
        }
    }
    packages.sort_unstable();
    packages.join(" ")
}

fn python_check(arguments: &Arguments<'_>) -> Option<Check> {
    let module = arguments.own.iter().position(|word| *word == "-m");
    let Some(module) = module else {
        // `python -c '…'` and scripts; Django's tests are run by a script.
        let script = arguments.positional(0)?;
        let is_django = script.ends_with("manage.py") && arguments.positional(1) == Some("test");
        return is_django.then(|| {
            Check::new(CheckFamily::Test, "manage.py test", OutputFormat::Unittest)
                .narrow_if(arguments.positional(2).is_some())
        });
    };
    let name = *arguments.own.get(module + 1)?;
    let rest = arguments.skip(module + 2);
    match name {
        "build" => Some(Check::new(Build, "python -m build", OutputFormat::Any)),
        "unittest" => find_test_runner("unittest", &rest),
        "compileall" | "py_compile" => {
            let check = Check::new(Build, &format!("python -m {name}"), OutputFormat::Any);
            Some(check.narrow_if(rest.names_file(0)))
        }
        _ => find_check(name, &rest).filter(|_| !matches!(name, "python" | "python3" | "py")),
    }
}

fn docker_check(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let words: Vec<&str> = arguments.positionals().take(3).collect();
    let name = match words.as_slice() {
        ["build", ..] | ["image" | "builder", "build", ..] => "build",
        ["buildx", "build" | "bake", ..] => "buildx",
        ["compose", ..] if arguments.has(&["build"]) => "compose build",
        _ => return None,
    };
    let target = arguments.value(&["--target"]).unwrap_or_default();
    let file = arguments.value(&["-f", "--file"]).unwrap_or_default();
    let check = Check::new(Build, &format!("{program} {name}"), OutputFormat::Any);
    Some(check.with_scope(file).with_scope(target))
}

fn dotnet_check(arguments: &Arguments<'_>) -> Option<Check> {
    let verb = arguments.positional(0)?;
    let project = arguments
        .positional(1)
        .filter(|word| word.contains(['.', '/', '\\']));
    let check = match verb {
        "test" => return find_test_runner("dotnet", arguments),
        "build" | "publish" | "pack" | "msbuild" => {
            Check::new(Build, &format!("dotnet {verb}"), OutputFormat::Dotnet)
        }
        "format" => Check::new(Format, "dotnet format", OutputFormat::Dotnet)
            .fix_if(!arguments.has(&["--verify-no-changes"])),
        _ => return None,
    };
    Some(check.with_scope(project.unwrap_or_default()))
}
