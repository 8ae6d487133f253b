//! Tools that check, by their names and arguments.

use super::check::{Check, CheckFamily, OutputFormat};
use super::check_scripts::script_check;
use super::check_tests::find_test_runner;

use CheckFamily::{Build, Format, Lint, Types};

/// Arguments of a program.
pub(super) struct Arguments<'a> {
    /// Arguments before `--`.
    pub(super) own: Vec<&'a str>,
    /// Arguments behind `--`.
    pub(super) passed: Vec<&'a str>,
}

/// Options that only ask, or that never end.
const QUESTIONS: &[&str] = &[
    "--help",
    "--version",
    "--watch",
    "--watchAll",
    "--watch-all",
    "--list",
    "--list-tests",
    "--listTests",
    "--collect-only",
    "--co",
    "--dry-run",
    "--dryrun",
    "--just-print",
    "--show-config",
    "--showConfig",
    "--print-config",
    "--show-settings",
    "--init",
    "--list-different-rules",
    "--ui",
    "--debug-config",
    "--continuous",
    "-help",
    "--show-only",
    "--setup-only",
    "--setup-plan",
    "--fixtures",
    "--markers",
];

impl<'a> Arguments<'a> {
    pub(super) fn new(program: &str, words: &'a [String]) -> Self {
        let mut own: Vec<&str> = words.iter().map(String::as_str).collect();
        // `cargo +nightly`, and what a task runner passes on.
        own.retain(|word| !(program == "cargo" && word.starts_with('+')));
        let dashes = own.iter().position(|word| *word == "--");
        let passed = dashes.map_or_else(Vec::new, |dashes| own.split_off(dashes));
        Arguments {
            own,
            passed: passed.into_iter().skip(1).collect(),
        }
    }

    /// Returns the argument at a place among those that are no options.
    pub(super) fn positional(&self, place: usize) -> Option<&'a str> {
        self.positionals().nth(place)
    }

    pub(super) fn positionals(&self) -> impl Iterator<Item = &'a str> {
        self.own
            .iter()
            .copied()
            .filter(|word| !word.starts_with('-'))
    }

    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.own.iter().any(|word| options.contains(word))
    }

    /// Returns whether an option stands before or behind `--`, with or without a value after `=`.
    pub(super) fn mentions(&self, options: &[&str]) -> bool {
        let all = self.own.iter().chain(&self.passed);
        all.into_iter()
            .any(|word| options.contains(&word.split('=').next().unwrap_or_default()))
    }

    /// Returns the value of an option: the word behind it, or what follows its `=`.
    pub(super) fn value(&self, options: &[&str]) -> Option<&'a str> {
        let mut words = self.own.iter().copied().peekable();
        while let Some(word) = words.next() {
            if options.contains(&word) {
                return words.peek().copied();
            }
            if let Some((name, value)) = word.split_once('=')
                && options.contains(&name)
            {
                return Some(value);
            }
        }
        None
    }

    /// Returns whether the command only asks for help, a version or a list, only says what it would do, or never ends.
    pub(super) fn is_question(&self) -> bool {
        let is_question = |word: &&str| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            QUESTIONS.contains(&name) && !matches!(value, "false" | "0")
        };
        self.own
            .iter()
            .chain(&self.passed)
            .any(|word| is_question(word))
            || (self.own.len() == 1 && self.has(&["-h", "-V", "-v", "help", "version"]))
            || self.own.first() == Some(&"help")
    }

    /// Returns whether a file is among the arguments, from a place on: a path with an extension and without a wildcard.
    pub(super) fn names_file(&self, skip: usize) -> bool {
        self.positionals().skip(skip).any(is_file_name)
    }

    /// Returns the arguments behind the first ones, as those of another command.
    pub(super) fn skip(&self, count: usize) -> Arguments<'a> {
        Arguments {
            own: self.own.iter().skip(count).copied().collect(),
            passed: self.passed.clone(),
        }
    }
}

/// Returns whether an argument names one file.
pub(super) fn is_file_name(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    !word.contains(['*', '{'])
        && (1..=6).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !extension.bytes().all(|byte| byte.is_ascii_digit())
}

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
            .or_else(|| super::check_scripts::find_script(program, arguments)),
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

/// Linters, formatters, type checkers and compilers that are programs of their own.
fn linter_check(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
    let first = arguments.positional(0).unwrap_or_default();
    let fixes = arguments.has(&[
        "--fix",
        "--write",
        "-w",
        "-i",
        "--in-place",
        "-a",
        "-A",
        "--autocorrect",
        "--autocorrect-all",
    ]);
    let is_narrow = arguments.names_file(0);
    let (family, name, format) = match program {
        "golangci-lint" if matches!(first, "run" | "fmt") => {
            let family = if first == "fmt" { Format } else { Lint };
            (
                family,
                format!("golangci-lint {first}"),
                OutputFormat::GolangciLint,
            )
        }
        "gofmt" | "goimports" | "gofumpt" => (Format, program.to_string(), OutputFormat::Gofmt),
        "staticcheck" | "revive" | "govulncheck" => {
            (Lint, program.to_string(), OutputFormat::Places)
        }
        "tsc" | "vue-tsc" | "svelte-check" | "astro" | "tsgo" => {
            if program == "astro" && first != "check" {
                return (first == "build")
                    .then(|| Check::new(Build, "astro build", OutputFormat::Any));
            }
            if arguments.has(&["-w"]) {
                return None;
            }
            let is_build = program == "tsc" && !arguments.has(&["--noEmit", "--noemit"]);
            let family = if is_build { Build } else { Types };
            let project = arguments
                .value(&["-p", "--project", "-b", "--build"])
                .unwrap_or_default();
            let check = Check::new(family, program, OutputFormat::Tsc).with_scope(project);
            let is_source = |word: &str| word.ends_with(".ts") || word.ends_with(".tsx");
            return Some(check.narrow_if(arguments.positionals().any(is_source)));
        }
        "eslint" | "oxlint" | "xo" | "standard" | "stylelint" => {
            (Lint, program.to_string(), OutputFormat::Eslint)
        }
        "biome" => match first {
            "check" | "ci" | "lint" => (Lint, format!("biome {first}"), OutputFormat::Biome),
            "format" => (Format, "biome format".to_string(), OutputFormat::Biome),
            _ => return None,
        },
        "prettier" => {
            let checks = arguments.has(&["--check", "-c", "--list-different", "-l"]);
            let writes = arguments.has(&["--write", "-w"]);
            if !checks && !writes {
                return None;
            }
            let check = Check::new(Format, "prettier", OutputFormat::Prettier);
            return Some(check.fix_if(writes).narrow_if(is_narrow));
        }
        "ruff" => match first {
            "check" => (Lint, "ruff check".to_string(), OutputFormat::Ruff),
            "format" => {
                let is_check = arguments.has(&["--check", "--diff"]);
                let check = Check::new(Format, "ruff format", OutputFormat::Ruff);
                return Some(check.fix_if(!is_check).narrow_if(is_narrow));
            }
            _ => return None,
        },
        "black" | "isort" | "yapf" | "rustfmt" | "shfmt" | "clang-format"
        | "google-java-format" => {
            let is_check = arguments.has(&[
                "--check",
                "--check-only",
                "--diff",
                "-d",
                "-l",
                "-n",
                "--dry-run",
                "-c",
            ]);
            let check = Check::new(Format, program, OutputFormat::Black);
            return Some(check.fix_if(!is_check).narrow_if(is_narrow));
        }
        "mypy" | "dmypy" | "pytype" => (Types, program.to_string(), OutputFormat::Mypy),
        "pyright" | "basedpyright" => (Types, program.to_string(), OutputFormat::Pyright),
        "ty" | "pyre" if first == "check" => {
            (Types, format!("{program} check"), OutputFormat::Ruff)
        }
        "rubocop" | "standardrb" => (Lint, program.to_string(), OutputFormat::Rubocop),
        "phpstan" | "psalm" => (Lint, program.to_string(), OutputFormat::Phpstan),
        "php-cs-fixer" | "pint" => (Format, program.to_string(), OutputFormat::Any),
        "flake8" | "pylint" | "pycodestyle" | "pydocstyle" | "bandit" | "shellcheck"
        | "actionlint" | "hadolint" | "yamllint" | "markdownlint" | "markdownlint-cli2"
        | "zizmor" | "vale" | "tflint" | "swiftlint" | "ktlint" | "detekt" | "clang-tidy"
        | "codespell" | "typos" | "ansible-lint" | "cspell" => {
            (Lint, program.to_string(), OutputFormat::Places)
        }
        "pre-commit" | "prek" if matches!(first, "run" | "") => {
            (Lint, "pre-commit run".to_string(), OutputFormat::Any)
        }
        "lefthook" if first == "run" => (Lint, "lefthook run".to_string(), OutputFormat::Any),
        "hk" if matches!(first, "check" | "run") => {
            (Lint, "hk check".to_string(), OutputFormat::Any)
        }
        "ninja" | "meson" | "webpack" | "rollup" | "esbuild" | "tsup" | "hugo" | "swc"
        | "javac" | "gcc" | "g++" | "clang" | "clang++" | "rustc" | "mkdocs" | "sphinx-build" => {
            let is_server = arguments.has(&["serve", "server", "watch", "-w"]);
            let is_other = matches!(program, "meson") && first != "compile";
            let check = Check::new(Build, program, OutputFormat::Any);
            return (!is_server && !is_other)
                .then(|| check.narrow_if(is_narrow && program != "webpack"));
        }
        "vite" | "next" | "nuxt" | "ng" | "remix" | "parcel" | "vuepress" | "vitepress"
        | "expo" => {
            if first == "lint" {
                return Some(Check::new(
                    Lint,
                    &format!("{program} lint"),
                    OutputFormat::Eslint,
                ));
            }
            let is_build = matches!(first, "build" | "generate") || arguments.has(&["build"]);
            return is_build
                .then(|| Check::new(Build, &format!("{program} build"), OutputFormat::Any));
        }
        _ => return None,
    };
    Some(
        Check::new(family, &name, format)
            .fix_if(fixes)
            .narrow_if(is_narrow),
    )
}
