//! What a rule is.

use std::ops::Range;

use super::search::Search;

/// One kind of secret: how it is noticed, how it is recognised, and an example to test both.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Lower-case kebab-case name, as it stands in the marker.
    pub id: &'static str,
    /// Texts of three bytes or more, one of which stands in or beside every such secret. The rarer in ordinary text the better.
    pub(super) keywords: &'static [&'static str],
    pub(super) matcher: Matcher,
    /// A template of text with such a secret; see `plant`.
    pub(super) example: &'static str,
    /// A template of text that only looks like one.
    pub(super) near_miss: &'static str,
}

/// How a rule recognises its secret once one of its keywords was seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Matcher {
    /// A token that begins with the keyword: the pattern is tried right there. Its first group, if it has one, is the secret.
    Token(&'static str),
    /// A token that begins at most so many word characters before the keyword.
    Around(usize, &'static str),
    /// A value assigned to a name that has the keyword in it: the pattern must fit the whole value.
    Assigned(&'static str),
    /// Code, for what no pattern can express.
    Code(fn(&mut Search<'_>, &Range<usize>) -> Option<Found>, Case),
}

/// Whether the case of letters in keywords matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    Ignored,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    /// The value to hash when it is not simply the unescaped bytes of the range.
    pub(super) value: Option<Vec<u8>>,
}

impl Found {
    pub(super) fn plain(range: Range<usize>) -> Self {
        Self { range, value: None }
    }
}

impl Rule {
    /// Whether the case of letters in this rule's keywords matters. Names of variables are written in any case, tokens are not.
    pub(super) const fn case(&self) -> Case {
        match self.matcher {
            Matcher::Token(_) | Matcher::Around(..) => Case::Exact,
            Matcher::Assigned(_) => Case::Ignored,
            Matcher::Code(_, case) => case,
        }
    }
}

/// A rule for tokens that begin with one of `keywords`.
pub(super) const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
    near_miss: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        matcher: Matcher::Token(pattern),
        example,
        near_miss,
    }
}

/// A rule for tokens that have one of `keywords` at most `before` word characters after their beginning.
pub(super) const fn around(
    id: &'static str,
    keywords: &'static [&'static str],
    before: usize,
    pattern: &'static str,
    example: &'static str,
    near_miss: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        matcher: Matcher::Around(before, pattern),
        example,
        near_miss,
    }
}

/// A rule for values of a variable that has one of `keywords` in its name and is called a key, a token, a password or the like.
pub(super) const fn assigned(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
    near_miss: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        matcher: Matcher::Assigned(pattern),
        example,
        near_miss,
    }
}

/// A rule that is code.
pub(super) const fn code(
    id: &'static str,
    keywords: &'static [&'static str],
    find: fn(&mut Search<'_>, &Range<usize>) -> Option<Found>,
    case: Case,
    example: &'static str,
    near_miss: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        matcher: Matcher::Code(find, case),
        example,
        near_miss,
    }
}
