//! Extract of a prompt, in its own words: its beginning, and its most informative lines.

use super::lines::{IDLE_WORTH, Order, cut, plain, ranked, telling};
use super::{DETAIL, SUMMARY, TITLE};
use crate::observe::Sizes;
use crate::text;

/// Prefix of the extract of a prompt.
const ASKED: &str = "asked: ";

/// The three sizes of a prompt: the first line, the first lines, and the lines that tell most.
pub(super) fn prompt_sizes(prompt: &str) -> Sizes {
    let plain = plain(prompt);
    let first_lines = || plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = first_lines().next().unwrap_or_default();
    let title = format!("{ASKED}{}", cut_anywhere(first, TITLE - ASKED.len()));
    let mut summary = format!("{ASKED}{}", cut_anywhere(first, SUMMARY - ASKED.len()));
    for line in first_lines().skip(1) {
        let room = SUMMARY.saturating_sub(summary.len() + 1);
        let line = cut(line, room);
        if line.is_empty() {
            break;
        }
        let is_cut = line.ends_with('…');
        summary.push(' ');
        summary.push_str(&line);
        if is_cut {
            break;
        }
    }
    // The first line is a paragraph in many prompts, and says what it is about.
    let mut detail = format!("{ASKED}{}", cut_anywhere(first, DETAIL - ASKED.len()));
    let rest = plain.split_once(first).map_or("", |(_, rest)| rest);
    let room = DETAIL.saturating_sub(detail.len());
    for line in telling(&ranked(rest, Order::First), IDLE_WORTH, room) {
        detail.push('\n');
        detail.push_str(&line);
    }
    Sizes {
        title,
        summary,
        detail,
    }
}

/// The beginning of a text that is not longer than this: whole words, or, in scripts without spaces, whole letters.
fn cut_anywhere(line: &str, most: usize) -> String {
    let whole = cut(line, most);
    if !whole.is_empty() || line.is_empty() {
        return whole;
    }
    let start = text::beginning(line, most.saturating_sub('…'.len_utf8()));
    // Half a path or number would be another one.
    let end = start.rfind(|letter: char| !letter.is_ascii());
    let end = end.map_or(0, |at| {
        at + start[at..].chars().next().map_or(0, char::len_utf8)
    });
    format!("{}…", &start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::KNOWN_AGENTS;
    use crate::observe::{ObservationSource, Prompt, faith, is_telling};

    fn source(text: &str) -> ObservationSource {
        ObservationSource::Prompt(Prompt {
            text: text.to_string(),
            is_headless: false,
        })
    }

    fn check(text: &str, title: &str, summary: &str, detail: &str) {
        let sizes = prompt_sizes(text);
        assert_eq!(
            [&sizes.title, &sizes.summary, &sizes.detail],
            [title, summary, detail]
        );
        assert!(sizes.title.len() <= TITLE && sizes.summary.len() <= SUMMARY);
        assert!(sizes.detail.len() <= DETAIL);
        let said = [title, summary, detail].join("\n");
        let unfounded = faith(&source(text), &said, &KNOWN_AGENTS).unfounded;
        assert_eq!(unfounded, Vec::<String>::new());
    }

    #[test]
    fn prompts_are_told_by_their_first_lines() {
        check(
            "fix the cart",
            "asked: fix the cart",
            "asked: fix the cart",
            "asked: fix the cart",
        );
        check(
            "\nThe total in src/cart.rs is wrong when a second coupon is used.\n\nFix it, and add a test.\nKeep `Money` as it is.\n",
            "asked: The total in src/cart.rs is wrong when a second coupon…",
            "asked: The total in src/cart.rs is wrong when a second coupon is used. Fix it, and add a test. Keep `Money` as it is.",
            "asked: The total in src/cart.rs is wrong when a second coupon is used.\nFix it, and add a test.\nKeep `Money` as it is.",
        );
    }

    #[test]
    fn what_is_pasted_is_told_by_the_lines_that_tell_most() {
        let noise =
            "   Compiling shop v0.1.0 of many crates that nobody wants to hear of\n".repeat(40);
        let text = format!(
            "why does this fail?\n{noise}error[E0432]: unresolved import `cart::Cart`\n{noise}"
        );
        let detail = prompt_sizes(&text).detail;
        assert!(
            detail.starts_with("asked: why does this fail?\n"),
            "{detail}"
        );
        assert!(
            detail.contains("error[E0432]: unresolved import"),
            "{detail}"
        );
    }

    #[test]
    fn long_words_and_scripts_without_spaces_are_cut() {
        let sizes = prompt_sizes(&"直".repeat(400));
        assert!(
            sizes.title.len() <= TITLE && sizes.title.ends_with("直…"),
            "{sizes:?}"
        );
        let sizes = prompt_sizes(&"a".repeat(4_000));
        assert_eq!(sizes.title, "asked: …");
        assert_eq!(prompt_sizes("").title, "asked: ");
    }

    #[test]
    fn what_no_person_asked_is_not_observed() {
        let headless = ObservationSource::Prompt(Prompt {
            text: "fix the cart".to_string(),
            is_headless: true,
        });
        assert!(is_telling(&source("fix the cart"), &KNOWN_AGENTS));
        assert!(!is_telling(&headless, &KNOWN_AGENTS));
        for text in [
            "",
            "yes",
            "continue",
            "<command-name>/clear</command-name>",
            "Stop hook feedback: run it",
            "This session is being continued from a previous one",
        ] {
            assert!(!is_telling(&source(text), &KNOWN_AGENTS), "{text}");
        }
    }
}
