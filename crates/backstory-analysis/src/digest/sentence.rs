//! Sentences of a line, and lines as they are quoted.

use std::borrow::Cow;

/// Returns an address by what people know it by: `https://host/owner/repo/issues/5#note` is `owner/repo/issues/5`.
fn short_address(word: &str) -> String {
    let bare = word.trim_start_matches(['[', '(', '<']);
    let address = bare
        .strip_prefix("https://")
        .or_else(|| bare.strip_prefix("http://"));
    let Some(address) = address else {
        return word.to_string();
    };
    let end = address
        .find([']', ')', '>', '#', '?'])
        .unwrap_or(address.len());
    let parts: Vec<&str> = address[..end].trim_end_matches('/').split('/').collect();
    // The host says little, unless there is nothing else.
    parts[usize::from(parts.len() > 1)..].join("/")
}

/// Returns the first sentence of a line, without its full stop. Very short ones are taken together with the next.
pub(super) fn first_sentence(line: &str) -> &str {
    let enough = |end: &usize| *end >= 12;
    let end = sentence_ends(line).find(enough);
    end.map_or(line, |end| &line[..end])
}

/// Returns where sentences of a line end, before their full stops. A dot within a name or an address ends none.
fn sentence_ends(line: &str) -> impl Iterator<Item = usize> {
    let ends = line.char_indices().filter(|(at, letter)| {
        let rest = &line[at + letter.len_utf8()..];
        match letter {
            '.' | '!' | '?' | ';' => rest.is_empty() || rest.starts_with(' '),
            '。' => true,
            _ => false,
        }
    });
    ends.map(|(at, _)| at)
}

/// Returns the sentences of a line.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for end in sentence_ends(line).chain([line.len()]) {
        // A question keeps its mark, by which it is known.
        let stop = line[end..].chars().next().filter(|mark| *mark == '?');
        let sentence = &line[start..end + stop.map_or(0, char::len_utf8)];
        if sentence.chars().any(char::is_alphabetic) {
            sentences.push(sentence.trim());
        }
        start = end + line[end..].chars().next().map_or(0, char::len_utf8);
    }
    sentences
}

/// Returns a line as text: without emphasis, links by their words, addresses by what people know them by.
pub(super) fn plain_text(line: &str) -> String {
    let line = without_links(line);
    let words: Vec<String> = line.split_whitespace().map(short_address).collect();
    without_emphasis(&words.join(" "))
}

/// Returns a line without the marks of emphasis. Within a word they are a space: what they part was looked at apart for secrets.
pub(super) fn without_emphasis(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("**") {
        plain.push_str(before);
        push_gap(&mut plain, after);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Adds a space if the letters on both sides would become one word.
fn push_gap(plain: &mut String, after: &str) {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    if is_word(plain.chars().next_back()) && is_word(after.chars().next()) {
        plain.push(' ');
    }
}

/// Returns a line with `[words](target)` replaced by the words.
fn without_links(line: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, words, after)) = next_link(rest) {
        plain.push_str(before);
        push_gap(&mut plain, words);
        plain.push_str(words);
        push_gap(&mut plain, after);
        rest = after;
    }
    if plain.is_empty() && rest.len() == line.len() {
        return Cow::Borrowed(line);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns what stands before the first link, its words, and what follows it.
fn next_link(line: &str) -> Option<(&str, &str, &str)> {
    let middle = line.find("](")?;
    let start = line[..middle].rfind('[')?;
    let end = middle + line[middle..].find(')')?;
    Some((&line[..start], &line[start + 1..middle], &line[end + 1..]))
}

pub(super) fn cut_at_word(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.trim_end_matches(['.', ',', ' ', ':']).to_string();
    }
    let cut: String = line.chars().take(most - 1).collect();
    let end = cut
        .rfind(' ')
        .filter(|end| *end > most / 2)
        .unwrap_or(cut.len());
    format!(
        "{}…",
        cut[..end].trim_end_matches([',', '.', ';', ':', ' ', '('])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_parted_stays_parted() {
        assert_eq!(without_emphasis("**now** or a**b**"), "now or a b");
        assert_eq!(plain_text("the key [ghp_a1](x)B2c3"), "the key ghp_a1 B2c3");
    }

    #[test]
    fn links_are_their_words() {
        assert_eq!(
            plain_text("see [a.md](/x/a.md:1) and [b](y), **now**"),
            "see a.md and b, now"
        );
        assert_eq!(plain_text("a[0](1) ](x) [open"), "a 0 ](x) [open");
    }
}
