//! Places of sessions in HDF5 files: a session keeps the name that it has, and never gets that of another one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use backstory_memory::{Memory, Redactor, SessionRow, is_hidden};

use crate::error::{Error, Result};
use crate::pairing::{RecordMarks, message_marks, pair_sessions};
use crate::redaction::{RedactedIdentity, has_marker, redact_id};
use crate::rows::link_name;
use crate::session_columns::{read_rows, started_seconds};
use crate::session_file::SessionFile;

/// A session as a file has it.
#[derive(Clone)]
pub(crate) struct StoredSession {
    /// The file.
    pub(crate) path: PathBuf,
    /// Name of its group.
    pub(crate) name: String,
    /// State when it was written; `None` when others have added anything since.
    pub(crate) state: Option<String>,
    agent: String,
    id: Option<String>,
    identity: Option<RedactedIdentity>,
}

impl StoredSession {
    /// Returns whether this may be a version of a session. Files of others name no agent, and not always the id.
    fn may_be(&self, row: &SessionRow) -> bool {
        let has_agent = self.agent.is_empty() || self.agent == row.agent;
        has_agent && self.id.as_ref().is_none_or(|id| *id == row.session)
    }

    /// Returns the records of the session.
    fn read_marks(&self) -> Result<RecordMarks> {
        let file = SessionFile::open(&self.path)?;
        let messages = file.session(&self.name)?.messages(0..u64::MAX)?;
        Ok(message_marks(&messages))
    }
}

/// Reads the sessions of a file; none when there is no file.
pub(crate) fn read_stored(path: &Path) -> Result<Vec<StoredSession>> {
    let file = match SessionFile::open(path) {
        Ok(file) => file,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.into_target_error()),
    };
    let mut stored = Vec::new();
    for session in file.all_sessions()? {
        let attributes = session.attributes()?;
        let identity = RedactedIdentity::of_group(session.id(), &attributes);
        // Whoever writes the session reports the damage.
        let state = session.written_state(&attributes).ok().flatten();
        stored.push(StoredSession {
            path: path.to_owned(),
            name: session.id().to_string(),
            state,
            agent: attributes.agent,
            id: attributes.session_id_original,
            identity,
        });
    }
    Ok(stored)
}

/// Use of a name in the target.
enum NameUse {
    Free,
    Session(StoredSession),
    /// Something that is no session of this name; the session, if a file has one alone.
    Other(Option<StoredSession>),
}

/// File, or folder with a file for each session.
pub(crate) struct SessionTarget<'a> {
    place: TargetPlace<'a>,
    /// Numbers at the end of names that are there, by the rest of the name as [`taken_name`] has it.
    numbers: HashMap<String, BTreeSet<u64>>,
}

enum TargetPlace<'a> {
    File(HashMap<String, StoredSession>),
    Folder(&'a Path),
}

impl<'a> SessionTarget<'a> {
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let stored = read_stored(path)?.into_iter();
        let by_name = stored.map(|session| (session.name.clone(), session));
        let by_name: HashMap<_, _> = by_name.collect();
        Ok(SessionTarget {
            numbers: numbers_by_name(by_name.keys().map(|name| taken_name(name))),
            place: TargetPlace::File(by_name),
        })
    }

    pub(crate) fn folder(folder: &'a Path) -> Result<Self> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
            let name = entry.map_err(Error::io(folder))?.file_name();
            names.push(name.to_string_lossy().to_lowercase());
        }
        Ok(SessionTarget {
            place: TargetPlace::Folder(folder),
            numbers: numbers_by_name(names.into_iter()),
        })
    }

    /// Returns whether a file has no session.
    pub(crate) fn is_empty_file(&self) -> bool {
        matches!(&self.place, TargetPlace::File(stored) if stored.is_empty())
    }

    /// Names that a session of the target may have. Numbers between them may be missing, or those of names that differ in case only.
    fn existing_names_of(&self, row: &SessionRow) -> impl Iterator<Item = String> {
        let numbered = numbered_name(row);
        let numbers = self.numbers.get(&taken_name(&numbered));
        let numbers = numbers.into_iter().flatten().copied();
        let numbered = numbers.map(move |number| format!("{numbered}-{number}"));
        std::iter::once(link_name(&row.session)).chain(numbered)
    }

    fn find_name(&self, name: &str) -> Result<NameUse> {
        match &self.place {
            TargetPlace::File(stored) => {
                let found = stored.get(name).cloned();
                Ok(found.map_or(NameUse::Free, NameUse::Session))
            }
            TargetPlace::Folder(folder) => {
                let mut stored = read_stored(&folder.join(file_name(name)))?;
                let found = stored.iter().position(|session| session.name == name);
                Ok(match (found, stored.len()) {
                    (Some(place), _) => NameUse::Session(stored.swap_remove(place)),
                    (None, 0) => NameUse::Free,
                    (None, 1) => NameUse::Other(stored.pop()),
                    (None, _) => NameUse::Other(None),
                })
            }
        }
    }

    /// Returns sessions whose redacted identity is wanted.
    fn find_by_identity(&self, wanted: &HashSet<&RedactedIdentity>) -> Result<Vec<StoredSession>> {
        let is_wanted = |session: &StoredSession| {
            let identity = session.identity.as_ref();
            identity.is_some_and(|identity| wanted.contains(identity))
        };
        let mut found = Vec::new();
        match &self.place {
            TargetPlace::File(stored) => {
                found.extend(
                    stored
                        .values()
                        .filter(|session| is_wanted(session))
                        .cloned(),
                );
            }
            TargetPlace::Folder(folder) => {
                for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
                    let path = entry.map_err(Error::io(folder))?.path();
                    if path.extension().is_none_or(|extension| extension != "h5") {
                        continue;
                    }
                    // Others may have put anything there.
                    let stored = read_stored(&path).unwrap_or_default();
                    if let [session] = &stored[..]
                        && is_wanted(session)
                    {
                        found.push(session.clone());
                    }
                }
            }
        }
        found.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
        Ok(found)
    }
}

/// A session to write, and its place.
pub(crate) struct PlacedSession {
    pub(crate) row: SessionRow,
    /// Name of its group and of its file, if it is written.
    pub(crate) name: String,
    /// Its old version, which can have another name.
    pub(crate) old: Option<StoredSession>,
}

/// Sessions with their places, and those for which there is none, with the reason.
#[derive(Default)]
pub(crate) struct Placement {
    pub(crate) placed: Vec<PlacedSession>,
    pub(crate) failed: Vec<(SessionRow, Error)>,
}

/// Names sessions by their ids. Those whose name another session has, there or among these, have the agent and a number, too.
pub(crate) fn place_sessions(
    memory: &Memory,
    rows: &[SessionRow],
    target: &SessionTarget<'_>,
    redactor: Option<&Redactor>,
) -> Result<Placement> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| (&a.agent, &a.session).cmp(&(&b.agent, &b.session)));
    let mut placement = Placement::default();
    let mut taken = HashSet::new();
    let mut owned = HashSet::new();
    let mut new = Vec::new();
    for row in rows {
        match find_own_name(&row, target, &owned) {
            Ok(Some((name, old))) => {
                taken.insert(taken_name(&name));
                owned.insert(name.clone());
                placement.placed.push(PlacedSession {
                    row,
                    name,
                    old: Some(old),
                });
            }
            Ok(None) => new.push(row),
            Err(error) => placement.failed.push((row, error)),
        }
    }
    let mut old = find_redacted_otherwise(memory, &new, target, &placement, redactor)?;
    for (number, row) in new.into_iter().enumerate() {
        match find_free_name(&row, target, &taken) {
            Ok(name) => {
                taken.insert(taken_name(&name));
                let old = old.remove(&number);
                placement.placed.push(PlacedSession { row, name, old });
            }
            Err(error) => placement.failed.push((row, error)),
        }
    }
    let placed = &mut placement.placed;
    placed.sort_by(|a, b| (&a.row.agent, &a.row.session).cmp(&(&b.row.agent, &b.row.session)));
    Ok(placement)
}

/// Returns the name of a file in the form in which it must be unique: not every system has names that differ in case.
fn taken_name(name: &str) -> String {
    file_name(name).to_lowercase()
}

/// Returns the name of a session to which a number is added.
fn numbered_name(row: &SessionRow) -> String {
    format!("{}-{}", link_name(&row.session), row.agent)
}

/// Names that a new session may have, in the order in which they are tried.
fn candidate_names(row: &SessionRow) -> impl Iterator<Item = String> {
    let numbered = numbered_name(row);
    let numbered = (2_u64..).map(move |number| format!("{numbered}-{number}"));
    std::iter::once(link_name(&row.session)).chain(numbered)
}

/// Returns the numbers at the end of file names in lower case, by the file name without the number.
fn numbers_by_name(files: impl Iterator<Item = String>) -> HashMap<String, BTreeSet<u64>> {
    let mut numbers: HashMap<String, BTreeSet<u64>> = HashMap::new();
    for file in files {
        let name = file.strip_suffix(".h5").unwrap_or(&file);
        if let Some((name, digits)) = name.rsplit_once('-')
            && let Ok(number) = digits.parse()
        {
            let numbers = numbers.entry(format!("{name}.h5")).or_default();
            numbers.insert(number);
        }
    }
    numbers
}

/// Finds the version of a session that has one of its names, unless another session owns it; returns it with the name.
fn find_own_name(
    row: &SessionRow,
    target: &SessionTarget<'_>,
    owned: &HashSet<String>,
) -> Result<Option<(String, StoredSession)>> {
    let identity = RedactedIdentity::new(&row.agent, &row.session, started_seconds(row));
    for name in target.existing_names_of(row) {
        match target.find_name(&name)? {
            NameUse::Session(session) if session.may_be(row) && !owned.contains(&name) => {
                return Ok(Some((name, session)));
            }
            // An export that was killed renamed the file, and did not write it.
            NameUse::Other(Some(session)) if identity.is_some() && session.identity == identity => {
                return Ok(Some((name, session)));
            }
            NameUse::Session(_) | NameUse::Other(_) | NameUse::Free => {}
        }
    }
    Ok(None)
}

fn find_free_name(
    row: &SessionRow,
    target: &SessionTarget<'_>,
    taken: &HashSet<String>,
) -> Result<String> {
    for name in candidate_names(row) {
        if !taken.contains(&taken_name(&name)) && matches!(target.find_name(&name)?, NameUse::Free)
        {
            return Ok(name);
        }
    }
    Ok(link_name(&row.session))
}

/// Finds the versions of sessions whose ids have secrets that were redacted otherwise, by the places of the sessions.
fn find_redacted_otherwise(
    memory: &Memory,
    new: &[SessionRow],
    target: &SessionTarget<'_>,
    placement: &Placement,
    redactor: Option<&Redactor>,
) -> Result<HashMap<usize, StoredSession>> {
    let mut found = HashMap::new();
    let mut wanted: HashMap<RedactedIdentity, Vec<usize>> = HashMap::new();
    for (number, row) in new.iter().enumerate() {
        if let Some(identity) =
            RedactedIdentity::new(&row.agent, &row.session, started_seconds(row))
        {
            wanted.entry(identity).or_default().push(number);
        }
    }
    if wanted.is_empty() {
        return Ok(found);
    }
    let mut candidates = target.find_by_identity(&wanted.keys().collect())?;
    let own = placement
        .placed
        .iter()
        .filter_map(|placed| placed.old.as_ref());
    let own: HashSet<(&Path, &str)> = own.map(|old| (&*old.path, &*old.name)).collect();
    candidates.retain(|session| !own.contains(&(&*session.path, &*session.name)));
    for (identity, mut numbers) in wanted {
        let mut redacted = Vec::new();
        for session in &candidates {
            if session.identity.as_ref() != Some(&identity) {
                continue;
            }
            let mut id = session.id.clone().unwrap_or_else(|| session.name.clone());
            if has_marker(&id) {
                redacted.push(session);
                continue;
            }
            // An unredacted session is another one than those with other ids.
            let Some(redactor) = redactor else { continue };
            redact_id(redactor, &mut id);
            if let Some(place) = numbers.iter().position(|number| new[*number].session == id) {
                found.insert(numbers.remove(place), session.clone());
            }
        }
        if numbers.is_empty() || redacted.is_empty() {
            continue;
        }
        let mut new_marks = Vec::new();
        for number in &numbers {
            let session = memory.sessions().open(new[*number].clone());
            new_marks.push(message_marks(&read_rows(&session)?));
        }
        let old_marks: Result<Vec<_>> = redacted.iter().map(|old| old.read_marks()).collect();
        for (new, old) in pair_sessions(&new_marks, &old_marks?) {
            found.insert(numbers[new], redacted[old].clone());
        }
    }
    Ok(found)
}

/// Returns the name of a session's file: no shell takes it for an option, and no listing hides it or shows it as something else.
pub(crate) fn file_name(name: &str) -> String {
    let mut file = String::new();
    for (at, character) in name.char_indices() {
        match character {
            '-' | '.' if at == 0 => file.push_str(&format!("%{:02X}", u32::from(character))),
            '%' if is_percent_encoding(&name[at..]) => file.push_str("%25"),
            '\n' | '\t' => file.push('_'),
            character if is_hidden(character) => file.push('_'),
            character => file.push(character),
        }
    }
    format!("{file}.h5")
}

/// Returns whether a text begins with `%` and two hexadecimal digits.
fn is_percent_encoding(text: &str) -> bool {
    let digits = text.bytes().skip(1).take(2);
    digits.filter(u8::is_ascii_hexdigit).count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_those_of_sessions() {
        for (name, file) in [
            (
                "0f8fad5b-d9cb-469f-a165-70867728950e",
                "0f8fad5b-d9cb-469f-a165-70867728950e.h5",
            ),
            ("a_b", "a_b.h5"),
            ("100%.ü", "100%.ü.h5"),
            ("a\nb", "a_b.h5"),
            ("a\u{85}b", "a_b.h5"),
            ("a\u{202e}b\u{200b}", "a_b_.h5"),
            ("a%0Ab", "a%250Ab.h5"),
            ("-rf", "%2Drf.h5"),
            (".a", "%2Ea.h5"),
            ("_.a", "_.a.h5"),
            ("%", "%.h5"),
            ("%é1", "%é1.h5"),
        ] {
            assert_eq!(file_name(name), file);
        }
    }
}
