//! The change an edit makes, as the lines of a patch.

/// One changed place of a file, with up to three unchanged lines on each side.
pub(crate) struct Hunk<'a> {
    /// Number of the first line, from 1.
    pub(crate) start: usize,
    before: Vec<&'a str>,
    removed: Vec<&'a str>,
    added: Vec<&'a str>,
    after: Vec<&'a str>,
}

impl<'a> Hunk<'a> {
    /// The hunk that replaces `old` in `file` by `new`. Both are whole lines.
    pub(crate) fn new(file: &'a str, old: &'a str, new: &'a str) -> Self {
        let offset = file.find(old).unwrap_or(0);
        let (head, rest) = file.split_at(offset);
        let tail = rest.strip_prefix(old).unwrap_or("");
        let line = head.lines().count();
        let before: Vec<&str> = head.lines().skip(line.saturating_sub(3)).collect();
        Self {
            start: line - before.len() + 1,
            before,
            removed: old.lines().collect(),
            added: new.lines().collect(),
            after: tail
                .lines()
                .skip_while(|line| line.is_empty())
                .take(3)
                .collect(),
        }
    }

    pub(crate) fn old_count(&self) -> usize {
        self.before.len() + self.removed.len() + self.after.len()
    }

    pub(crate) fn new_count(&self) -> usize {
        self.before.len() + self.added.len() + self.after.len()
    }

    /// The lines with their signs.
    pub(crate) fn lines(&self) -> Vec<String> {
        let parts = [
            (' ', &self.before),
            ('-', &self.removed),
            ('+', &self.added),
            (' ', &self.after),
        ];
        parts
            .iter()
            .flat_map(|(sign, lines)| lines.iter().map(move |line| format!("{sign}{line}")))
            .collect()
    }

    /// The hunk as a unified diff without file names.
    pub(crate) fn unified(&self) -> String {
        let counts = (self.start, self.old_count(), self.new_count());
        let (start, old, new) = counts;
        format!(
            "@@ -{start},{old} +{start},{new} @@\n{}\n",
            self.lines().join("\n")
        )
    }
}
