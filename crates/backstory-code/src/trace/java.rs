//! Java and what runs on its machine.

use super::{Frame, place};

/// `a.b.C.f(File.java:12)`.
pub(super) fn frame(text: &str) -> Option<Frame> {
    let (name, rest) = text.split_once('(')?;
    let (at, _) = rest.split_once(')')?;
    // `java.base/java.lang.Thread.run`.
    let qualified = name.rsplit('/').next().unwrap_or(name);
    let (class, method) = qualified.rsplit_once('.')?;
    let word = |letter: char| letter.is_alphanumeric() || "_$.<>-/@".contains(letter);
    if class.is_empty() || method.is_empty() || !name.chars().all(word) {
        return None;
    }
    let place = place(at);
    let outside = matches!(at, "Native Method" | "Unknown Source" | "<generated>");
    if place.is_none() && !outside && !at.contains('.') {
        return None;
    }
    let mut frame = Frame::new(plain(class, method), qualified, place);
    if frame.file.is_none() && !outside {
        frame.file = Some(at.to_string());
    }
    Some(frame)
}

/// A lambda goes by the method that it stands in, a constructor by its class.
fn plain<'t>(class: &'t str, method: &'t str) -> &'t str {
    let lambda = method
        .strip_prefix("lambda$")
        .or(method.strip_prefix("$anonfun$"))
        .and_then(|rest| rest.split('$').next());
    match lambda.unwrap_or(method) {
        "<init>" | "new" => {
            let mut names = class.rsplit(['.', '$']);
            names
                .find(|name| name.starts_with(|letter: char| !letter.is_ascii_digit()))
                .unwrap_or(class)
        }
        "static" => "<clinit>",
        method => method,
    }
}
