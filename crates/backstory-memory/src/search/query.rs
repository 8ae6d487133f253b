//! The query language.
//!
//! Words are looked for as they are, the more of them a turn has the better. `"Quoted words"` must stand together, `AND` asks
//! for both sides, `OR` for either, `-word` (or `NOT word`) leaves turns out, `pre*` completes, `field:value` filters, and so does
//! `meta.KEY:VALUE` by the agent's own record of the session. A filter cannot be excluded, which is for the caller to tell. What
//! else looks like an operator but has nothing to work on is an ordinary word or is passed over.

use backstory_store::words;
use serde::{Deserialize, Serialize};

/// The fields that filter, by their names on the command line.
pub const FIELDS: [&str; 9] = [
    "agent", "project", "branch", "since", "until", "role", "tool", "file", "session",
];

/// No more than this of a query is read. Somebody pasted a log.
const MOST_BYTES: usize = 64 << 10;

/// A query, parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Query {
    /// The whole text as it was typed: the form that other programs give and get.
    pub typed: String,
    /// What was typed, without its filters.
    pub text: String,
    /// What is looked for.
    pub clauses: Vec<Clause>,
    /// Filters: a field and what it must be.
    pub filters: Vec<(&'static str, String)>,
    /// Filters by the agent's own record of the session: a key, as it was typed, and what it must be.
    pub meta: Vec<(String, String)>,
    /// Filters behind a minus or `NOT`, as they were typed. They filter nothing, and are no words either.
    pub excluded_filters: Vec<String>,
}

/// Things of which one is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Any of these will do.
    pub any: Vec<Atom>,
    /// Whether a turn must have it, may have it, or must not.
    pub need: Need,
}

/// How much a clause matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The more the better.
    Wanted,
    /// Nothing without it.
    Required,
    /// Nothing with it.
    Excluded,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Atom {
    /// A word as the index knows it.
    Word(String),
    /// Words that begin so.
    Prefix(String),
    /// Words that stand together, in this order.
    Phrase(Vec<String>),
}

impl From<String> for Query {
    fn from(text: String) -> Self {
        Query::parse(&text)
    }
}

impl From<Query> for String {
    fn from(query: Query) -> Self {
        query.typed
    }
}

impl Query {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Query {
        let mut query = Query {
            typed: text.to_string(),
            ..Query::default()
        };
        let mut joined = Joined::Side;
        for token in tokens(text) {
            match token {
                Token::And => joined = Joined::And,
                Token::Or => joined = Joined::Or,
                Token::Filter(field, value) => query.filters.push((field, value)),
                Token::Meta(key, value) => query.meta.push((key, value)),
                Token::ExcludedFilter(piece) => query.excluded_filters.push(piece),
                Token::Atoms(atoms, need, typed) => {
                    if need != Need::Excluded {
                        if !query.text.is_empty() {
                            query.text.push(' ');
                        }
                        query.text.push_str(typed);
                    }
                    for atom in atoms {
                        query.add(atom, need, joined);
                        // Only the first word of `a OR foo.bar` is the alternative.
                        joined = Joined::Side;
                    }
                }
            }
        }
        query
    }

    /// Whether there is nothing to look for. A filter alone may still list what passes it.
    pub fn is_empty(&self) -> bool {
        !self
            .clauses
            .iter()
            .any(|clause| clause.need != Need::Excluded)
    }

    /// The same query with quoted words that need not stand together; `None` when nothing else would be looked for, or nothing
    /// is quoted.
    pub(super) fn without_quotes(&self) -> Option<Query> {
        let quoted = |clause: &Clause| {
            clause.need == Need::Required && matches!(clause.any[..], [Atom::Phrase(_)])
        };
        let more = self
            .clauses
            .iter()
            .any(|clause| clause.need == Need::Wanted);
        if !more || !self.clauses.iter().any(quoted) {
            return None;
        }
        let mut query = self.clone();
        for clause in query.clauses.iter_mut().filter(|clause| quoted(clause)) {
            clause.need = Need::Wanted;
        }
        Some(query)
    }

    fn add(&mut self, atom: Atom, need: Need, joined: Joined) {
        match (joined, self.clauses.last_mut()) {
            (Joined::Or, Some(last)) if need == Need::Wanted && last.need != Need::Excluded => {
                last.any.push(atom);
                return;
            }
            (Joined::And, Some(last)) if last.need == Need::Wanted => last.need = Need::Required,
            _ => {}
        }
        let need = match (need, joined) {
            (Need::Wanted, Joined::And) => Need::Required,
            _ => need,
        };
        let clause = Clause {
            any: vec![atom],
            need,
        };
        if !self.clauses.contains(&clause) {
            self.clauses.push(clause);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    Side,
    And,
    Or,
}

enum Token<'a> {
    And,
    Or,
    Filter(&'static str, String),
    Meta(String, String),
    /// A filter behind a minus, as it was typed.
    ExcludedFilter(String),
    /// Things to look for, and as they were typed.
    Atoms(Vec<Atom>, Need, &'a str),
}

/// Cuts a query into operators, filters and things to look for.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut rest = &text[..end];
    let mut tokens = Vec::new();
    let mut negated = false;
    loop {
        rest = rest.trim_start_matches(|character: char| {
            character.is_whitespace() || matches!(character, '(' | ')')
        });
        if rest.is_empty() {
            return tokens;
        }
        let (sign, body) = match rest.as_bytes() {
            // `-x` excludes; `--x` is an option that somebody looks for, `- x` a dash.
            [b'-', next, ..] if !next.is_ascii_whitespace() && *next != b'-' => {
                (Need::Excluded, &rest[1..])
            }
            [b'+', next, ..] if !next.is_ascii_whitespace() => (Need::Required, &rest[1..]),
            _ => (Need::Wanted, rest),
        };
        let need = if negated { Need::Excluded } else { sign };
        negated = false;
        if let Some(quoted) = body.strip_prefix('"') {
            // A quote that nothing closes was no quote.
            let Some((phrase, after)) = quoted.split_once('"') else {
                rest = quoted;
                continue;
            };
            rest = after;
            let need = if need == Need::Excluded {
                need
            } else {
                Need::Required
            };
            if let Some(atom) = phrase_atom(phrase) {
                tokens.push(Token::Atoms(vec![atom], need, phrase));
            }
            continue;
        }
        let (piece, after) = cut_piece(body);
        rest = after;
        match piece {
            "AND" | "&&" => tokens.push(Token::And),
            "OR" | "||" => tokens.push(Token::Or),
            "NOT" => negated = true,
            _ if need == Need::Excluded && is_filter(piece) => {
                tokens.push(Token::ExcludedFilter(piece.to_string()));
            }
            _ if let Some((key, value)) = meta_filter(piece) => {
                tokens.push(Token::Meta(key.to_string(), value));
            }
            _ if let Some((field, value)) = filter(piece) => {
                tokens.push(Token::Filter(field, value));
            }
            _ => {
                let atoms = atoms(piece, need);
                if !atoms.is_empty() {
                    tokens.push(Token::Atoms(atoms, need, piece));
                }
            }
        }
    }
}

fn is_filter(piece: &str) -> bool {
    filter(piece).is_some() || meta_filter(piece).is_some()
}

/// Cuts the next piece off: up to a space, or to the quote that closes `field:"a value"`.
fn cut_piece(body: &str) -> (&str, &str) {
    let mut quoted = false;
    let end = body
        .char_indices()
        .find(|(at, character)| {
            if *character == '"' {
                // A quote opens only a field's value; else it ends the piece.
                if !quoted && !body[..*at].ends_with(':') {
                    return true;
                }
                quoted = !quoted;
            }
            !quoted && (character.is_whitespace() || matches!(character, '(' | ')'))
        })
        .map_or(body.len(), |(at, _)| at);
    body.split_at(end)
}

fn filter(piece: &str) -> Option<(&'static str, String)> {
    let (name, value) = piece.split_once(':')?;
    let value = value.trim_matches('"');
    let field = FIELDS.into_iter().find(|field| *field == name)?;
    (!value.is_empty()).then(|| (field, value.to_string()))
}

/// Splits `meta.KEY:VALUE`. Whether the key is valid is for whoever uses it: none of it is ever a search word.
fn meta_filter(piece: &str) -> Option<(&str, String)> {
    let (key, value) = piece.strip_prefix("meta.")?.split_once(':')?;
    Some((key, value.trim_matches('"').to_string()))
}

/// The words of a piece. What must or must not be there, such as `-foo.bar`, is one phrase.
fn atoms(piece: &str, need: Need) -> Vec<Atom> {
    if let Some(beginning) = piece.strip_suffix('*')
        && let Some(prefix) = prefix_atom(beginning)
    {
        return vec![prefix];
    }
    if need != Need::Wanted {
        return phrase_atom(piece).into_iter().collect();
    }
    let mut atoms = Vec::new();
    words(piece, |word| atoms.push(Atom::Word(word.text.to_string())));
    atoms
}

/// A prefix is looked for unfolded: `deploy*` must find `deployment`.
fn prefix_atom(beginning: &str) -> Option<Atom> {
    let plain = beginning.chars().all(char::is_alphanumeric);
    (plain && !beginning.is_empty())
        .then(|| Atom::Prefix(beginning.chars().flat_map(char::to_lowercase).collect()))
}

fn phrase_atom(phrase: &str) -> Option<Atom> {
    let mut texts = Vec::new();
    words(phrase, |word| {
        texts.push(word.text.to_string());
    });
    match texts.len() {
        0 => None,
        1 => texts.pop().map(Atom::Word),
        _ => Some(Atom::Phrase(texts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A query in a form that is easy to compare: `+` required, `-` excluded, `|` between alternatives.
    fn check(text: &str, expect: &str) {
        let query = Query::parse(text);
        let atom = |atom: &Atom| match atom {
            Atom::Word(word) => word.clone(),
            Atom::Prefix(prefix) => format!("{prefix}*"),
            Atom::Phrase(words) => format!("\"{}\"", words.join(" ")),
        };
        let clause = |clause: &Clause| {
            let any: Vec<String> = clause.any.iter().map(atom).collect();
            let sign = match clause.need {
                Need::Wanted => "",
                Need::Required => "+",
                Need::Excluded => "-",
            };
            format!("{sign}{}", any.join("|"))
        };
        let mut parts: Vec<String> = query.clauses.iter().map(clause).collect();
        parts.extend(
            query
                .filters
                .iter()
                .map(|(field, value)| format!("{field}={value}")),
        );
        assert_eq!(parts.join(" "), expect, "{text}");
    }

    #[test]
    fn an_excluded_filter_is_told_and_filters_nothing() {
        let query = Query::parse("auth -agent:codex NOT meta.git.branch:main -file.rs");
        assert_eq!(
            query.excluded_filters,
            ["agent:codex", "meta.git.branch:main"]
        );
        assert!(query.filters.is_empty() && query.meta.is_empty());
        assert_eq!(query.clauses.len(), 2);
    }

    #[test]
    fn what_people_type() {
        check("websocket auth", "websocket auth");
        check("\"rate limit\" retry", "+\"rate limit\" retri");
        check("redis AND cache", "+redi +cach");
        check("redis OR valkey cache", "redi|valkey cach");
        check("docker -compose", "docker -compos");
        check("docker NOT compose", "docker -compos");
        check("depl* prod", "depl* prod");
        check("getUserName", "get user name");
        check(
            "role:user file:src/main.rs crash",
            "crash role=user file=src/main.rs",
        );
        check("project:\"my app\" crash", "crash project=my app");
        check("-foo.bar x", "-\"foo bar\" x");
    }

    #[test]
    fn what_nobody_should_type() {
        check("", "");
        check("AND OR NOT", "");
        check("- -- + ( )", "");
        check("\"unbalanced quote", "unbalanc quot");
        check("fix \"foo", "fix foo");
        check("\"\"", "");
        check("error: no such file", "error no such file");
        check("--no-verify", "no verifi");
        check("role:", "role");
        check("a OR", "a");
        check("OR a", "a");
        check("\u{0}\u{1b}[31m", "31 m");
        check("修复 тест 🎉", "修 复 тест");
    }

    #[test]
    fn a_pasted_log_is_cut() {
        let long = "word, ".repeat(1 << 18);
        let query = Query::parse(&long);
        assert_eq!(query.clauses.len(), 1);
        assert!(query.text.len() <= MOST_BYTES);
    }
}
