//! Telling what a person typed from what programs put into the conversation.

use std::borrow::Cow;

use crate::agents::LogAgent;

/// How the context that Backstory hands to a session begins. What stands between this and [`CONTEXT_CLOSE`] is our own text
/// coming back in the agent's log: it is never memory.
pub const CONTEXT_OPEN: &str = "<backstory-context";
/// How its end begins; it goes up to the next `>`.
pub const CONTEXT_CLOSE: &str = "</backstory-context";

/// Takes our own context out of a text. An unclosed block goes up to the end: better to lose a quote than to learn from ourselves.
pub fn without_context(text: &str) -> Cow<'_, str> {
    if !has_context(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(CONTEXT_OPEN) {
        kept.push_str(&rest[..start]);
        rest = after_context(&rest[start..]).unwrap_or_default();
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns whether context of ours begins in a text.
pub(crate) fn has_context(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), CONTEXT_OPEN.as_bytes()).is_some()
}

/// Returns whether programs wrote a text in the user's name: nothing, something in a tag, or what an agent says in its own words.
pub fn is_program_text(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty()
        || text.starts_with('<')
        || LogAgent::all().any(|log_agent| log_agent.reader.is_program_text(text))
}

/// What stands behind a text's first context of ours; `None` when that is not closed.
pub(crate) fn after_context(text: &str) -> Option<&str> {
    let close = &text[text.find(CONTEXT_CLOSE)?..];
    Some(&close[close.find('>')? + 1..])
}

/// Takes out every `<tag …>…</tag>` block of the given tags that the text begins with, as agents put them before a prompt.
pub(crate) fn without_leading_blocks<'a>(text: &'a str, tags: &[&str]) -> &'a str {
    let mut rest = text.trim_start();
    'next: loop {
        for tag in tags {
            let opens = rest
                .strip_prefix('<')
                .and_then(|inner| inner.strip_prefix(tag))
                .is_some_and(|after| after.starts_with(['>', ' ']));
            if opens {
                let close = format!("</{tag}>");
                let Some(end) = rest.find(&close) else {
                    return "";
                };
                rest = rest[end + close.len()..].trim_start();
                continue 'next;
            }
        }
        return rest;
    }
}

/// The text inside the first `<tag>…</tag>`.
pub(crate) fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].find(&format!("</{tag}>"))?;
    Some(text[start..start + end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_context_is_taken_out() {
        assert_eq!(without_context("plain"), "plain");
        assert_eq!(
            without_context("a<backstory-context id=1>x</backstory-context>b"),
            "ab"
        );
        assert_eq!(
            without_context(
                "a<backstory-context nonce=\"1\">x</backstory-context nonce=\"1\">b<backstory-context>"
            ),
            "ab"
        );
        assert_eq!(without_context("a<backstory-context>x"), "a");
    }

    #[test]
    fn programs_write_in_the_users_name() {
        for text in [
            "",
            " <teammate-message>",
            "Caveat: the messages below",
            "Stop hook feedback: run the tests",
            "PreToolUse:Bash hook additional context: x",
        ] {
            assert!(is_program_text(text), "{text}");
        }
        for text in ["fix it", "the new hook fails: fix it", "a <b>"] {
            assert!(!is_program_text(text), "{text}");
        }
    }

    #[test]
    fn leading_blocks_are_taken_off() {
        assert_eq!(
            without_leading_blocks(
                "<ide_selection>x</ide_selection> fix it",
                &["ide_selection"]
            ),
            "fix it"
        );
        assert_eq!(
            without_leading_blocks("<b>keep</b>", &["ide_selection"]),
            "<b>keep</b>"
        );
        assert_eq!(
            inside("x <user_query> hi </user_query>", "user_query"),
            Some("hi")
        );
    }
}
