//! Cutting texts between characters, and taking escape sequences out of them.

/// Returns the beginning of a text, of at most so many bytes.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the end of a text, of at most so many bytes.
pub fn ending(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns a text without escape sequences: colours, titles and other orders that terminals obey.
pub fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    plain.push_str(rest);
    plain
}

/// Returns the rest of a text behind an escape sequence, whose escape character was removed.
fn after_escape(text: &str) -> &str {
    if let Some(order) = text.strip_prefix('[') {
        // Up to the letter that names the order.
        let name = order.find(|letter: char| letter.is_ascii_alphabetic());
        return name.map_or("", |name| &order[name + 1..]);
    }
    // A title or the address of a link; what is not closed in its line is none.
    let title = text.strip_prefix(']').unwrap_or_default();
    let line = title.split('\n').next().unwrap_or_default();
    let end = line.find(['\u{7}', '\u{1b}']);
    end.map_or(text, |end| {
        let rest = &title[end + 1..];
        rest.strip_prefix('\\').unwrap_or(rest)
    })
}

/// Maximum number of tags of a reply whose ends are looked for.
const MAX_TAGS: usize = 32;

/// Returns the lines of a reply that are its own words: without those between code fences and tags, and those that are quoted.
pub fn prose_lines(reply: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    let mut tag: Option<&str> = None;
    let mut tags_left = MAX_TAGS;
    reply.lines().map(str::trim).filter(move |line| {
        if let Some(name) = tag {
            if line
                .strip_prefix("</")
                .and_then(|rest| rest.strip_suffix('>'))
                == Some(name)
            {
                tag = None;
            }
            return false;
        }
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_fenced ^= is_fence;
        if !is_fenced
            && tags_left > 0
            && let Some(name) = opened_tag(line)
        {
            tags_left -= 1;
            // One that is not closed frames nothing.
            tag = reply.contains(&format!("</{name}>")).then_some(name);
        }
        !is_fenced && !is_fence && tag.is_none() && !line.starts_with('>')
    })
}

/// Returns the name of the tag that a line consists of.
fn opened_tag(line: &str) -> Option<&str> {
    let name = line.strip_prefix('<')?.strip_suffix('>')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    (name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(is_name))
        .then_some(name)
}
