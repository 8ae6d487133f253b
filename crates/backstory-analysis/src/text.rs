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
        // Up to the character that names the order; what else interrupts it is no part of it.
        let end = order.find(|letter| !(' '..='?').contains(&letter));
        let rest = &order[end.unwrap_or(order.len())..];
        return match rest.chars().next() {
            Some('@'..='~') => &rest[1..],
            _ => rest,
        };
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

/// Returns the lines of a reply that are its own words: without those between code fences and tags, those of indented blocks, and those that
/// are quoted.
pub fn prose_lines(reply: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<Fence> = None;
    let mut tag: Option<&str> = None;
    let mut tags_left = MAX_TAGS;
    let mut is_after_blank = true;
    let mut is_in_list = false;
    let mut is_in_block = false;
    reply.lines().filter_map(move |full| {
        let line = full.trim();
        if let Some(name) = tag {
            if line.contains(&format!("</{name}>")) {
                tag = None;
            }
            return None;
        }
        if let Some(open) = fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            return None;
        }
        fence = Fence::opened(line);
        if fence.is_some() {
            return None;
        }
        if let Some(name) = opened_tag(line) {
            // One that is not closed frames nothing; of many nobody looks.
            let closing = format!("</{name}>");
            let is_closed = tags_left == 0 || reply.contains(&closing);
            tags_left = tags_left.saturating_sub(1);
            if is_closed {
                tag = (!line.contains(&closing)).then_some(name);
                return None;
            }
        }
        // An indented block follows an empty line, and is none within a list.
        let is_indented = full.starts_with("    ") || full.starts_with('\t');
        is_in_block = is_indented && !is_in_list && (is_in_block || is_after_blank);
        is_after_blank = line.is_empty();
        if !is_indented && !is_after_blank {
            is_in_list = is_list_item(line);
        }
        (!is_in_block && !line.starts_with('>')).then_some(line)
    })
}

/// Fence of a code block: its character and how often it stands there.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Returns the fence that a line opens.
    fn opened(line: &str) -> Option<Self> {
        let mark = line
            .chars()
            .next()
            .filter(|mark| ['`', '~'].contains(mark))?;
        let length = line.chars().take_while(|letter| *letter == mark).count();
        // Code within a line has its fence at both ends.
        let is_inline = mark == '`' && line[length..].contains('`');
        (length >= 3 && !is_inline).then_some(Fence { mark, length })
    }

    /// Returns whether a line closes it.
    fn is_closed_by(self, line: &str) -> bool {
        let length = line
            .chars()
            .take_while(|letter| *letter == self.mark)
            .count();
        length >= self.length && line.chars().count() == length
    }
}

fn is_list_item(line: &str) -> bool {
    let digits = line
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(line.len());
    line.starts_with(['-', '*', '+', '•']) || digits > 0 && line[digits..].starts_with(['.', ')'])
}

/// Returns the name of the tag that a line begins with.
fn opened_tag(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('<')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let end = rest.find(|letter: char| !is_name(letter))?;
    let starts = rest.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_tag = rest[end..].starts_with(['>', ' ']) && rest.contains('>');
    (starts && is_tag).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reply_quotes_is_not_its_own() {
        let own = |reply: &str| prose_lines(reply).collect::<Vec<_>>().join("|");
        for reply in [
            "a\n```\n~~~\nb\n```\nc",
            "a\n````\n```\nb\n````\nc",
            "a\n\n    b\n    b\nc",
            "a\n<output lang=\"x\">\nb\n</output>\nc",
            "a\n<output>b\nb</output>\nc",
            "a\n> b\nc",
        ] {
            assert!(
                matches!(own(reply).as_str(), "a|c" | "a||c"),
                "{reply}: {}",
                own(reply)
            );
        }
        assert_eq!(
            own("- a\n\n    - b\n<c\nd ```e``` f"),
            "- a||- b|<c|d ```e``` f"
        );
        let many = format!("{}<x>\nb", "<y>\n".repeat(MAX_TAGS));
        assert!(!own(&many).contains('b'));
    }

    #[test]
    fn escape_sequences_end_where_terminals_end_them() {
        let text = "\u{1b}[1~h \u{1b}[31mred\u{1b}[0m \u{1b}[漢字";
        assert_eq!(without_escapes(text), "h red 漢字");
    }
}
