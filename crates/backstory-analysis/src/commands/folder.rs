//! Folders in which the commands of a line run.

use super::shell::program_name;

/// Maximum length of a folder in bytes. A longer one is not kept.
const MAX_FOLDER_BYTES: usize = 512;

/// Folder that the commands before have changed to.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderState {
    folder: Option<String>,
    /// Folder before the last change, for `cd -` and `popd`.
    before: Option<String>,
}

impl FolderState {
    /// Returns the folder in which the next command runs, if it is known.
    pub(super) fn current(&self) -> Option<String> {
        self.folder.clone()
    }

    /// Changes the folder if a command does.
    pub(super) fn apply(&mut self, words: &[String]) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let is_option = |word: &&String| word.starts_with('-') && word.len() > 1;
        let program = program.to_ascii_lowercase();
        let target = arguments.iter().find(|word| !is_option(word));
        let next = match program.as_str() {
            "cd" | "chdir" | "pushd" | "set-location" | "push-location" | "sl" => match target {
                Some(target) if target == "-" => self.before.clone(),
                Some(target) => join_folders(self.folder.as_deref(), target),
                None => Some("~".to_string()),
            },
            "popd" | "pop-location" => self.before.clone(),
            _ => return,
        };
        self.before = std::mem::replace(&mut self.folder, next);
    }
}

/// Returns a folder as seen from another one.
pub(super) fn join_folders(base: Option<&str>, folder: &str) -> Option<String> {
    if folder.len() > MAX_FOLDER_BYTES {
        return None;
    }
    let is_absolute = folder.starts_with(['/', '~', '$', '\\']) || folder.get(1..2) == Some(":");
    let base = base.filter(|_| !is_absolute).unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(folder.split('/')) {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(&last)) if last != ".." && !last.starts_with(['$', '~']) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = match base.starts_with('/') || (base.is_empty() && folder.starts_with('/')) {
        true => "/",
        false => "",
    };
    let mut joined = format!("{root}{}", parts.join("/"));
    if joined.is_empty() {
        joined.push('.');
    }
    (joined.len() <= MAX_FOLDER_BYTES).then_some(joined)
}

/// Options that name the folder a program works in.
const FOLDER_OPTIONS: &[(&str, &[&str])] = &[
    ("git", &["-C", "--work-tree"]),
    ("make", &["-C", "--directory"]),
    ("gmake", &["-C", "--directory"]),
    ("ninja", &["-C"]),
    ("go", &["-C"]),
    ("npm", &["--prefix", "-C"]),
    ("pnpm", &["-C", "--dir"]),
    ("yarn", &["--cwd"]),
    ("bun", &["--cwd"]),
    ("just", &["-d", "--working-directory"]),
    ("task", &["-d", "--dir"]),
    ("mise", &["-C", "--cd"]),
    ("terraform", &["-chdir"]),
    ("tofu", &["-chdir"]),
    ("swift", &["--package-path"]),
    ("jj", &["-R", "--repository"]),
    ("hg", &["-R", "--repository", "--cwd"]),
    ("gradle", &["-p", "--project-dir"]),
    ("gradlew", &["-p", "--project-dir"]),
    ("composer", &["-d", "--working-dir"]),
    ("ctest", &["--test-dir"]),
];

/// Options that name a file in the folder a program works in.
const FILE_OPTIONS: &[(&str, &[&str])] = &[
    ("cargo", &["--manifest-path"]),
    ("mvn", &["-f", "--file"]),
    ("mvnw", &["-f", "--file"]),
    ("git", &["--git-dir"]),
    ("just", &["-f", "--justfile"]),
];

/// Returns the folder that an option of a command names.
pub(super) fn folder_option(words: &[String]) -> Option<String> {
    let program = program_name(words.first()?);
    let named = |options: &[(&str, &[&'static str])]| -> Option<String> {
        let (_, options) = options.iter().find(|(name, _)| *name == program)?;
        let own = words.iter().take_while(|word| *word != "--");
        let mut own = own.skip(1).peekable();
        while let Some(word) = own.next() {
            for option in *options {
                if word == option {
                    return own.peek().map(|value| (*value).clone());
                }
                let rest = word.strip_prefix(option);
                if let Some(value) = rest.and_then(|rest| rest.strip_prefix('=')) {
                    return Some(value.to_string());
                }
            }
            // `git commit -C HEAD` takes a message.
            if program == "git" && !word.starts_with('-') && !is_git_value(word) {
                break;
            }
        }
        None
    };
    if let Some(folder) = named(FOLDER_OPTIONS) {
        return Some(folder);
    }
    let file = named(FILE_OPTIONS)?;
    match file.rsplit_once('/') {
        Some((folder, _)) if !folder.is_empty() => Some(folder.to_string()),
        _ => None,
    }
}

/// Returns whether a word can be the value of an option before git's verb: `user.name=x`.
fn is_git_value(word: &str) -> bool {
    word.contains('=') || word.contains('/')
}
