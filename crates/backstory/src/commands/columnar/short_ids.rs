//! Short ids of the sessions in a file, and finding a session by one.

use std::collections::HashMap;

/// Number of characters of an id that are shown at least.
const MIN_CHARACTERS: usize = 8;

/// Longer beginnings are replaced by both ends of the id: sessions of subagents have the whole id of their parent in theirs.
const MAX_CHARACTERS: usize = 2 * MIN_CHARACTERS + 1;

/// Stands for the middle of an id.
const MIDDLE: char = '…';

/// Short forms of ids, each of which names one of them.
pub(super) struct ShortIds<'a> {
    sorted: Vec<&'a str>,
    /// Number of ids that have these ends.
    ends: HashMap<String, usize>,
}

impl<'a> ShortIds<'a> {
    pub(super) fn new(ids: impl Iterator<Item = &'a str>) -> Self {
        let mut sorted: Vec<&str> = ids.collect();
        sorted.sort_unstable();
        let mut ends = HashMap::new();
        for id in &sorted {
            *ends.entry(both_ends(id)).or_default() += 1;
        }
        ShortIds { sorted, ends }
    }

    /// Returns the beginning of an id that no other one has, or both ends of it if that is long.
    pub(super) fn short_id(&self, id: &str) -> String {
        let beginning = self.unique_beginning(id);
        let ends = both_ends(id);
        let is_long = beginning.chars().count() > MAX_CHARACTERS;
        match is_long && self.ends.get(&ends) == Some(&1) {
            true => ends,
            false => beginning,
        }
    }

    fn unique_beginning(&self, id: &str) -> String {
        let place = self.sorted.partition_point(|other| *other < id);
        let before = place.checked_sub(1).and_then(|at| self.sorted.get(at));
        let neighbours = before.into_iter().chain(self.sorted.get(place + 1));
        let shared = neighbours.map(|other| {
            let pairs = id.chars().zip(other.chars());
            pairs.take_while(|(a, b)| a == b).count()
        });
        let length = shared.max().map_or(0, |shared| shared + 1);
        id.chars().take(length.max(MIN_CHARACTERS)).collect()
    }
}

fn both_ends(id: &str) -> String {
    let start: String = id.chars().take(MIN_CHARACTERS).collect();
    let end = id.char_indices().rev().take(MIN_CHARACTERS).last();
    let end = end.map_or("", |(at, _)| &id[at..]);
    format!("{start}{MIDDLE}{end}")
}

/// Returns whether a text is the beginning of an id, or both ends of it as [`ShortIds`] gives them.
pub(super) fn is_short_for(text: &str, id: &str) -> bool {
    id.starts_with(text)
        || text
            .split_once(MIDDLE)
            .is_some_and(|(start, end)| id.starts_with(start) && id.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_by_its_short_one() {
        let long = "fe5e1c67-53e7-4862-81ae-d0e013e3270b";
        let (one, two) = (
            format!("{long}_sidechain-1a2b3c4d"),
            format!("{long}_sidechain-1aff3c4d"),
        );
        let ids = [
            "0f3a1b22-1111",
            "0f3a1b22-2222",
            "77",
            "é",
            long,
            &one,
            &two,
        ];
        let short = ShortIds::new(ids.into_iter());
        for (id, expected) in [
            (ids[0], "0f3a1b22-1"),
            (ids[2], "77"),
            (long, "fe5e1c67…13e3270b"),
            (&one, "fe5e1c67…1a2b3c4d"),
        ] {
            assert_eq!(short.short_id(id), expected);
        }
        for id in ids {
            let text = short.short_id(id);
            let found: Vec<&str> = ids
                .into_iter()
                .filter(|id| is_short_for(&text, id))
                .collect();
            assert_eq!(found, [id], "{text}");
        }
    }
}
