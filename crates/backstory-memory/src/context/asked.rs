//! What is known about a prompt: earlier turns that people or agents spoke of the same in.

use std::collections::BTreeSet;

use backstory_event::Kind;

use super::ContextOptions;
use super::item::{Candidate, Reason};
use super::past::Past;
use super::turns::turn_line;
use crate::ContextBuilder;
use crate::error::Result;
use crate::search::{Mode, Query, SearchFilter, SearchOptions};

/// So many words of a prompt are looked for, those that tell most.
const WORDS: usize = 8;
/// A shorter word tells little.
const SHORTEST: usize = 4;
/// So many turns are worth telling of.
const TURNS: usize = 6;

impl ContextBuilder<'_> {
    /// Returns the turns that are about a prompt; none when none is for sure.
    pub(super) fn about(
        &self,
        prompt: &str,
        options: &ContextOptions<'_>,
    ) -> Result<Vec<Candidate>> {
        let words = telling_words(prompt);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let query = Query::parse(&words.join(" "));
        let mut found: Vec<Candidate> = Vec::new();
        for project in &options.here.projects {
            let Some((_, root)) = self.memory.store.known_project(project)? else {
                continue;
            };
            // What tools said does not count, or whoever speaks through them would decide what is told.
            for role in ["user", "assistant"] {
                let search = SearchOptions {
                    filter: SearchFilter {
                        project: Some(root.clone()),
                        until: Some(options.before),
                        role: Some(role.to_string()),
                        people_only: true,
                        ..SearchFilter::default()
                    },
                    mode: Mode::Keyword,
                    limit: TURNS,
                    ..SearchOptions::default()
                };
                for hit in self.memory.search().run(&query, &search)?.hits {
                    let is_own = options
                        .session
                        .as_ref()
                        .is_some_and(|name| name.is(&hit.session.agent, &hit.session.session));
                    let is_said = !matches!(hit.kind, Kind::ToolResult | Kind::System);
                    if is_own || !is_said || found.len() == TURNS {
                        continue;
                    }
                    let past = Past::find(&self.memory.store, &hit.session.name(), options.before)?;
                    // The search finds what lies in folders below, too; those are projects of their own.
                    let Some(past) = past.filter(|past| past.row.root.as_ref() == Some(&root))
                    else {
                        continue;
                    };
                    if !is_about(&past.words_of(hit.turn), &words) {
                        continue;
                    }
                    if let Some(line) = turn_line(&past, hit.turn, &options.here, options.now) {
                        let item = Candidate::new(&line, &past, hit.turn, Reason::Prompt, 1.0);
                        if !found.contains(&item) {
                            found.push(item);
                        }
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Whether a turn is about what is asked, rather than sharing some word with it: it names the same thing, or has most of the words.
fn is_about(turn: &str, words: &[String]) -> bool {
    let has = |word: &&String| turn.contains(&word.to_lowercase());
    let found = words.iter().filter(has).count();
    let named = words
        .iter()
        .filter(|word| is_name(word))
        .any(|word| has(&word));
    named || (found >= 2 && 2 * found > words.len())
}

/// Whether a word is one that code has, rather than one that people speak.
fn is_name(word: &str) -> bool {
    word.contains(['_', '.', '/']) || word.chars().skip(1).any(char::is_uppercase)
}

/// The words of a prompt that tell most what it is about: names that code has first, then the longest.
fn telling_words(prompt: &str) -> Vec<String> {
    let is_inner = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let words: BTreeSet<&str> = prompt
        .split(|letter: char| !is_inner(letter))
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(|word| word.chars().count() >= SHORTEST)
        .collect();
    let mut words: Vec<&str> = words.into_iter().collect();
    words.sort_by_key(|word| (!is_name(word), std::cmp::Reverse(word.chars().count())));
    words.truncate(WORDS);
    words.into_iter().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_tell_most_are_looked_for() {
        assert_eq!(
            telling_words("why does add_item round \"down\" in src/cart.rs?"),
            ["src/cart.rs", "add_item", "round", "does", "down"]
        );
        assert_eq!(telling_words("go on"), Vec::<String>::new());
        assert_eq!(telling_words(&"different words everywhere imaginable because people sometimes write lengthy prompts ".repeat(3)).len(), WORDS);
    }
}
