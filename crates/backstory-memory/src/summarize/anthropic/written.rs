//! What a model wrote, if it may be kept: exactly the fields that were asked for, short, and nothing in them that could be taken for
//! more than text.

use serde_json::{Map, Value};

use crate::digest::SessionSummary;
use crate::observe::Sizes;

/// In characters.
const TITLE: usize = 96;
const SUMMARY: usize = 480;
const DETAIL: usize = 1_800;

/// In words.
const SESSION_TITLE: usize = 12;
const SESSION_SUMMARY: usize = 80;
const SESSION_MORE: usize = 40;

/// What agents and we ourselves put around text that was not typed; in nothing that is shown to one may it stand.
const TAGS: [&str; 10] = [
    "<backstory-context",
    "</backstory-context",
    "<tool-use-",
    "</tool-use-",
    "<prompt-",
    "</prompt-",
    "<session-",
    "</session-",
    "system-reminder>",
    "function_calls>",
];

/// The three sizes of an observation.
pub(super) fn observation_written(
    fields: &Map<String, Value>,
    fence: &str,
) -> Result<Sizes, &'static str> {
    let text = |name, most| text(fields, name, fence, |text| text.chars().count() <= most);
    let sizes = Sizes {
        title: text("title", TITLE)?,
        summary: text("summary", SUMMARY)?,
        detail: text("detail", DETAIL)?,
    };
    let is_whole = fields.len() == 3 && !sizes.title.contains('\n');
    is_whole.then_some(sizes).ok_or("wrong fields")
}

/// The summary of a session.
pub(crate) fn summary_written(
    fields: &Map<String, Value>,
    fence: &str,
) -> Result<SessionSummary, &'static str> {
    let is_short = |most: usize| {
        move |text: &str| text.split_whitespace().count() <= most && text.len() <= 16 * most
    };
    let more = |name: &str| match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(_) => text(fields, name, fence, is_short(SESSION_MORE)).map(Some),
    };
    let summary = SessionSummary {
        title: text(fields, "title", fence, is_short(SESSION_TITLE))?,
        summary: text(fields, "summary", fence, is_short(SESSION_SUMMARY))?,
        learned: more("learned")?,
        next: more("next")?,
    };
    let known = ["title", "summary", "learned", "next"];
    let is_whole = fields.keys().all(|name| known.contains(&name.as_str()));
    let is_whole = is_whole && !summary.title.contains('\n');
    is_whole.then_some(summary).ok_or("wrong fields")
}

/// A text field that may be kept.
fn text(
    fields: &Map<String, Value>,
    name: &str,
    fence: &str,
    is_short: impl Fn(&str) -> bool,
) -> Result<String, &'static str> {
    let Some(Value::String(text)) = fields.get(name) else {
        return Err("wrong fields");
    };
    let text = text.trim();
    let is_hidden = |letter: char| match letter {
        '\n' | '\t' => false,
        // Overrides of the reading direction, and what has no width: text would look like another.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => letter.is_control(),
    };
    if text.is_empty() {
        return Err("empty");
    }
    if !is_short(text) {
        return Err("too long");
    }
    if text.chars().any(is_hidden) {
        return Err("control characters");
    }
    let lower = text.to_lowercase();
    if TAGS.iter().any(|tag| lower.contains(tag)) || lower.contains(fence) {
        return Err("tags");
    }
    Ok(text.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(change: &Value, expect: Result<(), &str>) {
        let mut fields = json!({"title": "Tests pass", "summary": "All 3 pass.", "detail": "a\nb"});
        let object = fields.as_object_mut().unwrap();
        object.extend(change.as_object().unwrap().clone());
        object.retain(|_, value| !value.is_null());
        assert_eq!(
            observation_written(object, "n0nce").map(drop),
            expect,
            "{change}"
        );
    }

    #[test]
    fn an_observation_has_three_short_plain_texts_and_nothing_else() {
        check(&json!({}), Ok(()));
        check(&json!({"detail": null}), Err("wrong fields"));
        check(&json!({"detail": ["a"]}), Err("wrong fields"));
        check(&json!({"more": "b"}), Err("wrong fields"));
        check(&json!({"title": "two\nlines"}), Err("wrong fields"));
        check(&json!({"summary": " \n "}), Err("empty"));
        check(&json!({"title": "x".repeat(97)}), Err("too long"));
        check(&json!({"title": "ö".repeat(96)}), Ok(()));
        check(&json!({"detail": "x".repeat(1_801)}), Err("too long"));
        for hidden in [
            "\u{1b}[31m",
            "a\u{0}",
            "\u{202e}txt",
            "a\u{200b}b",
            "\u{e0041}",
        ] {
            check(
                &json!({"summary": format!("a{hidden}b")}),
                Err("control characters"),
            );
        }
        for tag in [
            "</tool-use-1>",
            "<Backstory-Context>",
            "</system-reminder>",
            "see N0nce",
        ] {
            check(&json!({"detail": format!("a {tag}")}), Err("tags"));
        }
        check(&json!({"detail": "a <div> in cart.html"}), Ok(()));
    }

    #[test]
    fn a_summary_may_leave_out_what_there_is_not() {
        let check = |fields: Value, expect: Result<Option<&str>, &str>| {
            let summary = summary_written(fields.as_object().unwrap(), "n0nce");
            let next = summary.map(|summary| summary.next);
            assert_eq!(
                next.as_ref().map(Option::as_deref),
                expect.as_ref().copied(),
                "{fields}"
            );
        };
        check(json!({"title": "a", "summary": "b"}), Ok(None));
        check(json!({"title": "a", "summary": "b", "next": ""}), Ok(None));
        check(
            json!({"title": "a", "summary": "b", "next": "c", "learned": "d"}),
            Ok(Some("c")),
        );
        check(
            json!({"title": "a", "summary": "b", "next": 1}),
            Err("wrong fields"),
        );
        check(
            json!({"title": "a", "summary": "b", "goal": "c"}),
            Err("wrong fields"),
        );
        check(
            json!({"title": "a ".repeat(13), "summary": "b"}),
            Err("too long"),
        );
        check(
            json!({"title": "a", "summary": "b ".repeat(81)}),
            Err("too long"),
        );
    }
}
