//! Objects that name a field twice. Derived structs refuse them; JavaScript, in which most agents are written, takes the last value.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::object::Object;
use crate::shared::items;

/// Nesting up to which repeated keys are looked for. Each level is parsed once more.
const MAX_DEPTH: usize = 12;

/// Returns whether a value could not be read because an object names a field twice.
pub(crate) fn is_repeated_key(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with("duplicate field")
}

/// Returns the JSON with all but the last value of each repeated key replaced by spaces, so that everything else stays where it is;
/// `None` when no key is repeated.
pub(crate) fn blank_repeated_keys(json: &str) -> Option<String> {
    let mut blanks = Vec::new();
    find_repeated(json, json, 0, &mut blanks);
    if blanks.is_empty() {
        return None;
    }
    let mut bytes = json.as_bytes().to_vec();
    for blank in blanks {
        bytes.get_mut(blank)?.fill(b' ');
    }
    String::from_utf8(bytes).ok()
}

/// Finds the entries of `value`, a part of `whole`, that a later one replaces, each with the comma behind it.
fn find_repeated(whole: &str, value: &str, depth: usize, blanks: &mut Vec<Range<usize>>) {
    if depth > MAX_DEPTH {
        return;
    }
    if value.starts_with('[') {
        let Ok(list) = serde_json::from_str::<&RawValue>(value) else {
            return;
        };
        for item in items(list) {
            find_repeated(whole, item.get(), depth + 1, blanks);
        }
        return;
    }
    let Some(object) = value
        .starts_with('{')
        .then(|| Object::parse(value).ok())
        .flatten()
    else {
        return;
    };
    let mut start = position(whole, value) + 1;
    let mut entries: Vec<(&str, Range<usize>)> = Vec::new();
    for (name, field) in object.fields() {
        let end = position(whole, field.get()) + field.get().len();
        let comma = whole
            .get(end..)
            .and_then(|rest| rest.find(','))
            .map_or(end, |at| end + at + 1);
        entries.push((name, start..comma));
        start = comma;
        find_repeated(whole, field.get(), depth + 1, blanks);
    }
    entries.sort_by_key(|(name, _)| *name);
    for same in entries.chunk_by(|a, b| a.0 == b.0) {
        let replaced = same.len() - 1;
        blanks.extend(same[..replaced].iter().map(|(_, range)| range.clone()));
    }
}

/// Where a part of a text begins.
fn position(whole: &str, part: &str) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Option<&str>) {
        let blanked = blank_repeated_keys(json);
        assert_eq!(blanked.as_deref(), expected, "{json}");
        if let Some(blanked) = blanked {
            let (last, blanked): (serde_json::Value, serde_json::Value) = (
                serde_json::from_str(json).unwrap(),
                serde_json::from_str(&blanked).unwrap(),
            );
            assert_eq!(blanked, last);
        }
    }

    #[test]
    fn the_last_value_of_a_key_stays() {
        check(r#"{"a":1,"b":2}"#, None);
        check(r#"{"a":1,"a":2}"#, Some(r#"{      "a":2}"#));
        check(
            r#"{"a":1 , "b":"a,a" ,"a":{"c":1,"c":2}}"#,
            Some(r#"{        "b":"a,a" ,"a":{      "c":2}}"#),
        );
        check(
            r#"[{"ä":[1],"ä":[2]},3]"#,
            Some(r#"[{         "ä":[2]},3]"#),
        );
        check(
            r#"{"\u0061":1,"a":2,"a":3}"#,
            Some(r#"{                 "a":3}"#),
        );
        check("3", None);
        check("{", None);
    }
}
