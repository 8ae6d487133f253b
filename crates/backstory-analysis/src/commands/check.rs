//! Checks: commands that show if work is sound.

use super::arguments::Arguments;
use super::check_tools;
use super::shell::ShellCommand;

/// Family of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckFamily {
    /// Tests.
    Test,
    /// Linters.
    Lint,
    /// Builds.
    Build,
    /// Formatters.
    Format,
    /// Type checkers.
    Types,
}

/// Command that shows if work is sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Kind of what it checks.
    pub family: CheckFamily,
    /// Name by which two runs are of the same check: the tool, and the package or target where one is given, such as
    /// `cargo test -p store` or `npm run lint`.
    pub tool: String,
    /// Folder that the line names for it.
    pub folder: Option<String>,
    /// Only some tests or files were selected.
    pub is_narrow: bool,
    /// It mends what it finds, as `cargo fmt` and `eslint --fix` do.
    pub is_fix: bool,
    /// Format of its output.
    pub(super) format: OutputFormat,
    /// Script or target that a task runner was given.
    pub(super) task: Option<String>,
}

/// Tool whose output format a check has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Cargo,
    Go,
    GolangciLint,
    Gofmt,
    Pytest,
    Unittest,
    Jest,
    Vitest,
    Mocha,
    Playwright,
    Bun,
    Deno,
    NodeTest,
    Rspec,
    Phpunit,
    Phpstan,
    Dotnet,
    Ctest,
    Gradle,
    Maven,
    Swift,
    Tap,
    Exunit,
    Tsc,
    Eslint,
    Biome,
    Prettier,
    Ruff,
    Black,
    Mypy,
    Pyright,
    Rubocop,
    Terraform,
    /// Each line that names a place is a finding: flake8, actionlint, hadolint, shellcheck.
    Places,
    /// A runner of scripts: its output is that of any tool.
    Any,
}

impl Check {
    /// Returns the check that a command runs, if it runs one.
    ///
    /// Watchers, listings, dry runs, and questions for help or a version are none.
    pub fn find(command: &ShellCommand) -> Option<Check> {
        let program = command.program();
        let arguments = Arguments::new(program, command.words.get(1..)?);
        if arguments.is_question() {
            return None;
        }
        let mut check = check_tools::find_check(program, &arguments)?;
        check.folder.clone_from(&command.folder);
        Some(check)
    }

    pub(super) fn new(family: CheckFamily, tool: &str, format: OutputFormat) -> Check {
        Check {
            family,
            tool: tool.to_string(),
            folder: None,
            is_narrow: false,
            is_fix: false,
            format,
            task: None,
        }
    }

    pub(super) fn narrow_if(mut self, is_narrow: bool) -> Check {
        self.is_narrow |= is_narrow;
        self
    }

    pub(super) fn fix_if(mut self, is_fix: bool) -> Check {
        self.is_fix |= is_fix;
        self
    }

    /// Adds a package or another part that the check is limited to.
    pub(super) fn with_scope(mut self, scope: &str) -> Check {
        if !scope.is_empty() {
            self.tool.push(' ');
            self.tool
                .push_str(crate::text::beginning(scope, MAX_SCOPE_BYTES));
        }
        self
    }

    pub(super) fn with_task(mut self, task: &str) -> Check {
        self.task = Some(task.to_string());
        self
    }
}

/// Maximum length of a scope in the name of a check.
const MAX_SCOPE_BYTES: usize = 120;
