//! Purposes of commands, such as tests, builds and commits, and results in their output.

use serde::{Deserialize, Serialize};

/// Programs that only look around.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "ls", "cat", "sed", "head", "tail", "rg", "grep", "find", "pwd", "echo", "cd", "wc", "nl", "tree",
    "git status", "git diff", "git log", "git show", "which", "sleep", "jq", "awk", "for", "while", "do", "done", "then", "if",
    "true", "test", "mkdir", "cp", "mv", "rm",
];

/// Returns whether a program only looks around.
pub fn only_looks(program: &str) -> bool {
    LOOKING.contains(&program)
}

/// Purpose of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Tests.
    Test,
    /// Builds.
    Build,
    /// Linters, formatters, type checkers.
    Check,
    /// Commits.
    Commit,
    /// Pushes of commits.
    Push,
    /// New pull requests.
    PullRequest,
    /// Anything else.
    #[default]
    Other,
}

impl CommandKind {
    /// Returns whether it is of no other kind.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "used as a function by serde"
    )]
    pub fn is_other(&self) -> bool {
        *self == CommandKind::Other
    }

    /// Returns whether commands of this kind leave something beyond the session.
    pub fn is_delivery(self) -> bool {
        matches!(
            self,
            CommandKind::Commit | CommandKind::Push | CommandKind::PullRequest
        )
    }

    /// Returns whether commands of this kind show if the work is sound.
    pub fn is_proof(self) -> bool {
        matches!(
            self,
            CommandKind::Test | CommandKind::Build | CommandKind::Check
        )
    }
}

/// Kinds of commands by their beginning; the first that fits counts.
const KINDS: &[(CommandKind, &[&str])] = &[
    (
        CommandKind::PullRequest,
        &["gh pr create", "glab mr create", "hub pull-request"],
    ),
    (CommandKind::Commit, &["git commit", "jj commit", "git -c"]),
    (CommandKind::Push, &["git push", "jj git push"]),
    (
        CommandKind::Test,
        &[
            "cargo test",
            "cargo nextest",
            "cargo t ",
            "pytest",
            "py.test",
            "python -m pytest",
            "python3 -m pytest",
            "python -m unittest",
            "python3 -m unittest",
            "tox",
            "nox",
            "npm test",
            "npm t ",
            "npm run test",
            "pnpm test",
            "pnpm run test",
            "pnpm t ",
            "yarn test",
            "yarn run test",
            "bun test",
            "deno test",
            "jest",
            "vitest",
            "mocha",
            "playwright test",
            "go test",
            "gotestsum",
            "rspec",
            "bundle exec rspec",
            "rake test",
            "rails test",
            "phpunit",
            "mvn test",
            "mvn verify",
            "gradle test",
            "./gradlew test",
            "gradlew test",
            "make test",
            "make check",
            "just test",
            "task test",
            "mise run test",
            "ctest",
            "dotnet test",
            "bats",
            "swift test",
            "mix test",
            "sbt test",
            "zig build test",
            "bazel test",
            "./run_tests",
            "./test",
        ],
    ),
    (
        CommandKind::Check,
        &[
            "cargo clippy",
            "cargo fmt",
            "eslint",
            "ruff",
            "mypy",
            "pyright",
            "flake8",
            "black",
            "prettier",
            "biome",
            "golangci-lint",
            "go vet",
            "gofmt",
            "npm run lint",
            "npm run check",
            "npm run typecheck",
            "npm run type-check",
            "pnpm lint",
            "pnpm run lint",
            "yarn lint",
            "tsc --noEmit",
            "tsc --noemit",
            "shellcheck",
            "pre-commit",
            "mise run lint",
            "mise run fmt",
            "make lint",
            "just lint",
            "rubocop",
            "cargo check",
            "cargo deny",
            "actionlint",
            "hadolint",
        ],
    ),
    (
        CommandKind::Build,
        &[
            "cargo build",
            "cargo b ",
            "npm run build",
            "pnpm build",
            "pnpm run build",
            "yarn build",
            "yarn run build",
            "bun run build",
            "tsc",
            "next build",
            "vite build",
            "webpack",
            "make",
            "cmake --build",
            "ninja",
            "go build",
            "docker build",
            "docker compose build",
            "docker buildx",
            "podman build",
            "mvn package",
            "mvn compile",
            "mvn install",
            "gradle build",
            "./gradlew build",
            "gradlew build",
            "dotnet build",
            "swift build",
            "xcodebuild",
            "bazel build",
            "just build",
            "mise run build",
            "uv build",
            "python -m build",
            "hugo",
        ],
    ),
];

/// Words before a command that only say how to run it.
const WRAPPERS: &[&str] = &[
    "sudo", "time", "nice", "env", "command", "exec", "npx", "bunx", "pnpx", "uv", "run", "poetry",
    "pipenv", "rtk", "proxy", "bundle", "mise", "x", "--", "dlx", "pdm", "hatch", "do", "then",
    "else", "if", "while", "until", "!", "{",
];

/// Returns the kind of a command line; of several commands in it, that of the most informative one.
pub(crate) fn kind(line: &str) -> CommandKind {
    let mut best = CommandKind::Other;
    let mut best_place = KINDS.len();
    for part in parts(line) {
        let part = bare(part);
        let fits = |(_, beginnings): &(CommandKind, &[&str])| {
            let is = |beginning: &&str| begins_with(&part, beginning);
            beginnings.iter().any(is)
        };
        if let Some(place) = KINDS.iter().position(fits)
            && place < best_place
        {
            (best, best_place) = (KINDS[place].0, place);
        }
    }
    best
}

/// Returns the program that a command line is about, with its subcommand where it has some: `cargo test`, `git push`, `rg`.
pub fn program(line: &str) -> String {
    let part = parts(line)
        .map(bare)
        .find(|part| {
            let first = part.split(' ').next().unwrap_or_default();
            !matches!(
                first,
                "" | "cd" | "echo" | "for" | "set" | "export" | "done" | "fi"
            )
        })
        .unwrap_or_default();
    let mut words = part.split_whitespace();
    let first = words.next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or(first);
    let mut named: String = name.chars().take(40).collect();
    if !HAVE_SUBCOMMANDS.contains(&name) {
        return named;
    }
    let is_name = |word: &&str| {
        word.chars()
            .all(|letter| letter.is_alphanumeric() || "-_:".contains(letter))
            && !word.starts_with('-')
            && word.len() <= 40
    };
    // `npm run build` needs one word more than `npm install`.
    if let Some(subcommand) = words.next().filter(is_name) {
        named = format!("{named} {subcommand}");
        if matches!(subcommand, "run" | "pr" | "compose")
            && let Some(script) = words.next().filter(is_name)
        {
            named = format!("{named} {script}");
        }
    }
    named
}

const HAVE_SUBCOMMANDS: &[&str] = &[
    "git",
    "gh",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "go",
    "docker",
    "podman",
    "kubectl",
    "make",
    "just",
    "mise",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "brew",
    "apt",
    "apt-get",
    "systemctl",
    "terraform",
    "helm",
    "aws",
    "gcloud",
    "az",
    "dotnet",
    "mvn",
    "gradle",
    "rails",
    "mix",
    "deno",
    "rustup",
    "openspec",
    "entire",
    "jj",
];

fn begins_with(part: &str, beginning: &str) -> bool {
    // Of a hundred beginnings few have the first letter, and a call of `memcmp` for each was one hundredth of a sweep.
    if part.as_bytes().first() != beginning.as_bytes().first() {
        return false;
    }
    part.strip_prefix(beginning).is_some_and(|rest| {
        beginning.ends_with(' ')
            || rest.is_empty()
            || !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '_')
    })
}

/// The commands of a line; what stands in quotes is one word.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    line.split(move |letter: char| match (quote, letter) {
        (None, '\'' | '"') => {
            quote = Some(letter);
            false
        }
        (Some(open), _) if open == letter => {
            quote = None;
            false
        }
        (None, ';' | '&' | '|' | '\n' | '(') => true,
        _ => false,
    })
}

/// A command without what stands before it: variables, wrappers, a shell that runs it.
fn bare(part: &str) -> String {
    let mut words: Vec<&str> = part.split_whitespace().collect();
    while let Some(first) = words.first() {
        let is_variable = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_')
        });
        let is_wrapper = WRAPPERS.contains(first) && words.len() > 1 && !is_whole_command(&words);
        if *first == "timeout" && words.len() > 2 {
            words.drain(..2);
        } else if is_variable || is_wrapper {
            words.remove(0);
        } else {
            break;
        }
    }
    words.join(" ")
}

/// Wrappers that are commands of their own here: `mise run test`, `uv build`.
fn is_whole_command(words: &[&str]) -> bool {
    let line = words.join(" ");
    KINDS
        .iter()
        .flat_map(|(_, beginnings)| beginnings.iter())
        .any(|beginning| beginning.contains(' ') && begins_with(&line, beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_apart_by_how_they_begin() {
        let check = |line: &str, expect: CommandKind| assert_eq!(kind(line), expect, "{line}");
        check("cargo test -p store", CommandKind::Test);
        check(
            "cd /shop && RUST_LOG=debug cargo test 2>&1 | tail -3",
            CommandKind::Test,
        );
        check(
            "UV_CACHE_DIR=.uv-cache uv run pytest tests -q",
            CommandKind::Test,
        );
        check("timeout 60 npm test", CommandKind::Test);
        check("mise run fmt && mise run lint", CommandKind::Check);
        check("npx tsc --noEmit", CommandKind::Check);
        check("npx tsc", CommandKind::Build);
        check(
            "git add -A && git commit -m 'cargo test; done'",
            CommandKind::Commit,
        );
        check("git push -u origin main", CommandKind::Push);
        check("git push && gh pr create --fill", CommandKind::PullRequest);
        check("grep -rn 'cargo test' .", CommandKind::Other);
        check("echo \"npm test\"", CommandKind::Other);
        check("makeinfo x", CommandKind::Other);
        check("", CommandKind::Other);
    }

    #[test]
    fn programs_are_named_with_their_subcommand() {
        let check = |line: &str, expect: &str| assert_eq!(program(line), expect, "{line}");
        check("cd /shop && git status --short", "git status");
        check("/usr/bin/rg -n x", "rg");
        check("sudo apt-get install x", "apt-get install");
        check("FOO=1 python3 -m http.server", "python3");
        check("git --version", "git");
        check("npm run build -- --watch", "npm run build");
        check("  ", "");
    }
}
