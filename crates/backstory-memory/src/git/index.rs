//! The output of `git ls-files -z -t --stage --debug`: files that the index has, with what `lstat` said of them when they were added.

/// A path that `git ls-files` listed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Listed<'o> {
    /// A file that the index does not have; a folder of such files ends with a slash.
    Untracked(&'o [u8]),
    /// A file that the index has.
    Tracked(IndexEntry<'o>),
}

/// An entry of the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexEntry<'o> {
    /// Path below the top folder of the worktree.
    pub(super) path: &'o [u8],
    /// Hash of its content, in hexadecimal digits.
    pub(super) object: &'o [u8],
    /// Kind and permissions, as git has them.
    mode: u32,
    /// Not 0 while a merge has a conflict in it.
    stage: u32,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    /// Length in bytes, its lower 32 bits.
    pub(super) size: u32,
    flags: u32,
}

impl IndexEntry<'_> {
    const FORMAT_BITS: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    const LINK: u32 = 0o120_000;
    const ASSUME_UNCHANGED: u32 = 1 << 15;
    const INTENT_TO_ADD: u32 = 1 << 29;
    const SKIP_WORKTREE: u32 = 1 << 30;

    pub(super) fn is_regular(&self) -> bool {
        self.mode & Self::FORMAT_BITS == Self::REGULAR
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & Self::FORMAT_BITS == Self::LINK
    }

    /// Whether the file in the worktree says nothing about it: submodules, sparse checkouts, and where the user said so.
    pub(super) fn is_unwatched(&self) -> bool {
        let is_file = self.is_regular() || self.is_link();
        !is_file || self.flags & (Self::ASSUME_UNCHANGED | Self::SKIP_WORKTREE) != 0
    }

    /// Whether it differs from the last commit whatever is in the worktree.
    pub(super) fn is_unfinished(&self) -> bool {
        self.stage != 0 || self.flags & Self::INTENT_TO_ADD != 0
    }
}

/// Takes the first listed path off the output; `None` when there is no whole one.
pub(super) fn next_listed<'o>(output: &mut &'o [u8]) -> Option<Listed<'o>> {
    let mut rest = *output;
    let listed = match take_until(&mut rest, b' ')? {
        b"?" => Listed::Untracked(take_until(&mut rest, 0)?),
        _ => Listed::Tracked(take_entry(&mut rest)?),
    };
    *output = rest;
    Some(listed)
}

fn take_entry<'o>(rest: &mut &'o [u8]) -> Option<IndexEntry<'o>> {
    let mode = parse_number(take_until(rest, b' ')?, 8)?;
    let object = take_until(rest, b' ')?;
    let stage = parse_number(take_until(rest, b'\t')?, 10)?;
    let path = take_until(rest, 0)?;
    let _changed = take_field(rest, b"ctime: ", b'\n')?;
    let modified = take_field(rest, b"mtime: ", b'\n')?;
    let _device = take_field(rest, b"dev: ", b'\n')?;
    let _owner = take_field(rest, b"uid: ", b'\n')?;
    let size = take_field(rest, b"size: ", b'\t')?;
    let flags = take_field(rest, b"flags: ", b'\n')?;
    let modified = std::str::from_utf8(modified).ok()?;
    let (seconds, nanoseconds) = modified.split_once(':')?;
    Some(IndexEntry {
        path,
        object,
        mode,
        stage,
        modified: (seconds.parse().ok()?, nanoseconds.parse().ok()?),
        size: parse_number(size, 10)?,
        flags: parse_number(flags, 16)?,
    })
}

fn take_field<'o>(rest: &mut &'o [u8], name: &[u8], end: u8) -> Option<&'o [u8]> {
    take_until(rest, end)?.trim_ascii_start().strip_prefix(name)
}

/// Takes the bytes before `end` off, and `end` itself.
fn take_until<'o>(rest: &mut &'o [u8], end: u8) -> Option<&'o [u8]> {
    let at = memchr::memchr(end, rest)?;
    let (taken, after) = rest.split_at_checked(at)?;
    *rest = after.get(1..)?;
    Some(taken)
}

fn parse_number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &[u8] = b"? new/a b.rs\0H 100644 8eb54 0\tsrc/a\n  ctime: 1:1\n.rs\0  ctime: 17:96\n  mtime: 18:5\n  \
        dev: 65024\tino: 1\n  uid: 0\tgid: 0\n  size: 19\tflags: 20100000\n? z\0";

    #[test]
    fn listed_paths_are_parsed() {
        let mut output = OUTPUT;
        assert_eq!(
            next_listed(&mut output),
            Some(Listed::Untracked(b"new/a b.rs"))
        );
        let entry = IndexEntry {
            path: b"src/a\n  ctime: 1:1\n.rs",
            object: b"8eb54",
            mode: 0o100_644,
            stage: 0,
            modified: (18, 5),
            size: 19,
            flags: 0x2010_0000,
        };
        assert!(entry.is_regular() && entry.is_unfinished() && !entry.is_unwatched());
        assert_eq!(next_listed(&mut output), Some(Listed::Tracked(entry)));
        assert_eq!(next_listed(&mut output), Some(Listed::Untracked(b"z")));
        assert_eq!((next_listed(&mut output), output), (None, &b""[..]));
    }

    #[test]
    fn incomplete_output_is_kept_for_later() {
        for length in 0..OUTPUT.len() {
            let mut output = &OUTPUT[..length];
            while next_listed(&mut output).is_some() {}
            assert!(OUTPUT[..length].ends_with(output));
            assert!(output.is_empty() || [b'?', b'H'].contains(&output[0]));
        }
        for garbage in ["H 100644", "x y z \0", "H 9 a 0\tp\0\n\n\n\n\n\n", "?\0\0"] {
            let mut output = garbage.as_bytes();
            assert_eq!(next_listed(&mut output), None, "{garbage:?}");
        }
    }
}
