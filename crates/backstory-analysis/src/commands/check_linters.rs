//! Linters, formatters, type checkers and compilers.

use super::arguments::Arguments;
use super::check::{Check, CheckFamily, OutputFormat};

use CheckFamily::{Build, Format, Lint, Types};

/// Returns the check of a linter, a formatter, a type checker or a compiler that is a program of its own.
pub(super) fn linter_check(program: &str, arguments: &Arguments<'_>) -> Option<Check> {
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
