//! Names of kinds, resolutions and reasons, as they are stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Names that are stored as numbers, their places here: kinds, resolutions and reasons. Only ever added to.
const NAMES: [&str; 18] = [
    "function",
    "async_function",
    "method",
    "async_method",
    "class",
    "struct",
    "trait",
    "interface",
    "enum",
    "direct",
    "self_method",
    "import",
    "unresolved",
    "injected",
    "chained",
    "dynamic",
    "unknown_base",
    "external",
];

/// A name of [`NAMES`], or any other.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Code<'a> {
    Known(usize),
    Other(#[serde(borrow)] Cow<'a, str>),
}

impl<'a> Code<'a> {
    pub(super) fn of(name: &'a str) -> Self {
        match NAMES.iter().position(|known| *known == name) {
            Some(place) => Code::Known(place),
            None => Code::Other(Cow::from(name)),
        }
    }

    pub(super) fn into_name(self) -> String {
        match self {
            Code::Known(place) => NAMES.get(place).copied().unwrap_or_default().to_string(),
            Code::Other(name) => name.into_owned(),
        }
    }
}
