//! The piece of an event's text that shows why it was found.

use std::ops::Range;

use backstory_event::{EventView, Kind};
use backstory_store::words;

use crate::searchable_text::searchable;

/// About how long a snippet is, in bytes.
const LENGTH: usize = 200;

/// No more of a text is looked through: who pastes a book gets its beginning.
const MOST_READ: usize = 1 << 20;

/// A piece of a text with the words that were looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece, on one line.
    pub text: String,
    /// Where in it those words are, in bytes.
    pub marks: Vec<Range<usize>>,
}

impl Snippet {
    /// The piece with its marks written out.
    pub fn marked(&self, before: &str, after: &str) -> String {
        let mut marked = String::with_capacity(self.text.len());
        let mut at = 0;
        for mark in &self.marks {
            marked.push_str(&self.text[at..mark.start]);
            marked.push_str(before);
            marked.push_str(&self.text[mark.clone()]);
            marked.push_str(after);
            at = mark.end;
        }
        marked.push_str(&self.text[at..]);
        marked
    }
}

/// What is shown of an event: of a call what was asked, of all others their text.
pub(super) fn shown_text(view: &EventView<'_>) -> String {
    match view.event.kind {
        Kind::ToolCall => {
            let [said, called, given] = searchable(&view.event);
            let parts = [called, said, given];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join("\n")
        }
        _ => view.text().to_string(),
    }
}

/// The best piece of a text. `worth` tells what a word counts, if anything.
pub(super) fn snippet(text: &str, worth: impl Fn(&str) -> Option<f32>) -> Snippet {
    let text = crate::text::beginning(text, MOST_READ);
    let mut found: Vec<(usize, usize, f32, String)> = Vec::new();
    words(text, |word| {
        if let Some(worth) = worth(word.text) {
            found.push((word.start, word.end, worth, word.text.to_string()));
        }
    });
    let start = window(&found);
    cut(
        text,
        start,
        found.iter().map(|(start, end, ..)| *start..*end),
    )
}

/// The piece of a text around a place in it.
pub(super) fn snippet_at(text: &str, found: Range<usize>) -> Snippet {
    cut(text, found.start, std::iter::once(found))
}

/// Where the window begins that has the most worth, each word counted once.
fn window(found: &[(usize, usize, f32, String)]) -> usize {
    let mut best = (0.0, 0);
    for (first, (start, ..)) in found.iter().enumerate().take(2_000) {
        let within: Vec<_> = found[first..]
            .iter()
            .take_while(|(_, end, ..)| end - start <= LENGTH * 3 / 4)
            .collect();
        let mut sum = 0.0;
        for (at, (_, _, worth, word)) in within.iter().enumerate() {
            if !within[..at]
                .iter()
                .any(|(_, _, _, earlier)| earlier == word)
            {
                sum += worth;
            }
        }
        if sum > best.0 {
            best = (sum, *start);
        }
    }
    best.1
}

/// Whether a character could do something to a terminal, or make text look like something else.
fn is_dangerous(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Cuts a piece around a place, at spaces if there are any near, and puts it on one line.
fn cut(text: &str, around: usize, marks: impl Iterator<Item = Range<usize>>) -> Snippet {
    let mut start = around.saturating_sub(LENGTH / 5);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    if start > 0
        && let Some(space) = text[start..around].find(char::is_whitespace)
    {
        start += space;
    }
    let mut end = (start + LENGTH).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    if end < text.len()
        && let Some(space) = text[around.max(start)..end].rfind(char::is_whitespace)
        && space > 0
    {
        end = around.max(start) + space;
    }
    let mut marks = marks
        .filter(|mark| mark.start >= start && mark.end <= end)
        .peekable();
    let mut snippet = Snippet::default();
    if start > 0 {
        snippet.text.push('…');
    }
    let mut spaced = true;
    let mut open = None;
    for (offset, character) in text[start..end].char_indices() {
        let at = start + offset;
        if let Some(from) = open
            && marks.peek().is_some_and(|mark| mark.end <= at)
        {
            snippet.marks.push(from..snippet.text.len());
            (open, _) = (None, marks.next());
        }
        if marks.peek().is_some_and(|mark| mark.start == at) {
            open = Some(snippet.text.len());
        }
        if character.is_whitespace() || is_dangerous(character) {
            if !spaced {
                snippet.text.push(' ');
            }
            spaced = true;
        } else {
            snippet.text.push(character);
            spaced = false;
        }
    }
    if let Some(from) = open {
        snippet.marks.push(from..snippet.text.len());
    }
    let trimmed = snippet.text.trim_end().len();
    snippet.text.truncate(trimmed);
    for mark in &mut snippet.marks {
        mark.end = mark.end.min(trimmed);
    }
    snippet.marks.retain(|mark| mark.start < mark.end);
    if end < text.len() {
        snippet.text.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::searchable_text::tests::{called, shown};

    /// The snippet of a text in which these words count one each.
    fn of(text: &str, wanted: &str) -> Snippet {
        let mut stems = Vec::new();
        words(wanted, |word| stems.push(word.text.to_string()));
        snippet(text, |word| {
            stems.iter().any(|stem| stem == word).then_some(1.0)
        })
    }

    #[test]
    fn words_are_marked_in_all_their_forms() {
        let check = |text: &str, wanted: &str, expect: &str| {
            assert_eq!(of(text, wanted).marked("[", "]"), expect);
        };
        check("fix the tests", "test", "fix the [tests]");
        check("getUserName()", "user name", "get[User][Name]()");
        check(
            "one\n\ttwo\u{0}\u{1b}[31m  three",
            "two",
            "one [two] [31m three",
        );
        check("修复登录", "登录", "修复[登][录]");
        check("nothing here", "else", "nothing here");
        check("", "word", "");
    }

    #[test]
    fn the_piece_with_the_most_is_shown() {
        let filler = "lorem ipsum ".repeat(60);
        let text = format!("alpha {filler} alpha alpha {filler} alpha beta {filler}");
        let found = of(&text, "alpha beta");
        assert!(
            found.marked("[", "]").contains("[alpha] [beta]"),
            "{found:?}"
        );
        assert!(
            found.text.starts_with('…') && found.text.ends_with('…'),
            "{found:?}"
        );
        let found = of(&format!("{filler} omega"), "omega");
        assert!(
            found.text.starts_with('…') && found.text.ends_with("omega"),
            "{found:?}"
        );
    }

    #[test]
    fn a_place_is_shown_with_what_is_around_it() {
        let text = format!(
            "{} needle in hay {}",
            "hay ".repeat(500),
            "hay ".repeat(500)
        );
        let at = text.find("needle").unwrap();
        let found = snippet_at(&text, at..at + "needle in".len());
        assert!(
            found.marked("[", "]").contains("hay [needle in] hay"),
            "{found:?}"
        );
    }

    #[test]
    fn a_call_is_shown_as_what_was_asked() {
        let task = called(
            "Task",
            r#"{"prompt": "look for leaks", "description": "Leaks"}"#,
        );
        assert_eq!(shown_text(&task), "Task\nLeaks\nlook for leaks");
        assert_eq!(shown_text(&shown(Kind::Reply, "done")), "done");
    }

    #[test]
    fn marks_lie_within_any_text() {
        const PIECES: [&str; 20] = [
            "aa", "bb", "Aa", "7", "_", " ", " ", "\n", "\t", ".", "é", "ß", "İ", "界", "ไ",
            "\u{301}", "🎉", "\u{0}", "\u{2028}", "x",
        ];
        let mut state: u64 = 3;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % below) as usize
        };
        for _ in 0..2_000 {
            let length = next(700);
            let text: String = (0..length).map(|_| PIECES[next(20)]).collect();
            let found = of(&text, "aa 7 界 é");
            let mut at = 0;
            for mark in &found.marks {
                assert!(
                    mark.start >= at && mark.start < mark.end,
                    "{text:?}: {found:?}"
                );
                let marked = &found.text[mark.clone()];
                assert!(
                    marked.chars().all(char::is_alphanumeric),
                    "{text:?}: {found:?}"
                );
                at = mark.end;
            }
            assert_eq!(found.marked("", ""), found.text);
            assert!(found.text.len() <= LENGTH + 16, "{text:?}: {found:?}");
            assert!(
                !found.text.contains(['\n', '\t', '\u{0}']),
                "{text:?}: {found:?}"
            );
        }
    }
}
