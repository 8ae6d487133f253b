//! Arguments of programs that may be checks.

/// Arguments of a program.
pub(super) struct Arguments<'a> {
    /// Arguments before `--`.
    pub(super) own: Vec<&'a str>,
    /// Arguments behind `--`.
    pub(super) passed: Vec<&'a str>,
    /// Number of commands that these are handed on by: `python -m coverage run -m …`.
    pub(super) depth: usize,
}

/// Maximum number of commands that hand their arguments on; a longer chain is no command that anybody means.
const MAX_DEPTH: usize = 8;

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
            depth: 0,
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
        self.own.iter().chain(&self.passed).any(is_question)
            || (self.own.len() == 1 && self.has(&["-h", "-V", "-v", "help", "version"]))
            || self.own.first() == Some(&"help")
    }

    /// Returns whether a file is among the arguments, from a place on: a path with an extension and without a wildcard.
    pub(super) fn names_file(&self, skip: usize) -> bool {
        self.positionals().skip(skip).any(is_file_name)
    }

    /// Returns the arguments behind the first ones, as those of another command; none where too many commands handed them on.
    pub(super) fn skip(&self, count: usize) -> Arguments<'a> {
        let is_deep = self.depth >= MAX_DEPTH;
        let rest = self.own.iter().skip(count).copied();
        Arguments {
            own: rest.filter(|_| !is_deep).collect(),
            passed: self.passed.clone(),
            depth: self.depth + 1,
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
