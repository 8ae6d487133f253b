//! Reading values whose shape differs from version to version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use backstory_event::TimeMs;
use serde_json::value::RawValue;

use crate::shared::string;
use crate::time;

/// The fields of an object, none for any other value.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(super) fn read(json: &'a str) -> Self {
        Fields(serde_json::from_str(json).unwrap_or_default())
    }

    pub(super) fn of(raw: Option<&'a RawValue>) -> Self {
        raw.map(|raw| Self::read(raw.get())).unwrap_or_default()
    }

    /// The first of these fields that is there.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'a RawValue> {
        let found = names.iter().filter_map(|name| self.0.get(*name).copied());
        found.into_iter().find(|raw| raw.get() != "null")
    }

    /// The first of these fields that is a string with something in it.
    pub(super) fn text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        let texts = names
            .iter()
            .filter_map(|name| string(self.0.get(*name).copied()));
        texts.into_iter().find(|text| !text.trim().is_empty())
    }

    /// The first of these fields that is a string, be it empty.
    pub(super) fn string(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        let mut texts = names
            .iter()
            .filter_map(|name| string(self.0.get(*name).copied()));
        texts.next()
    }

    /// The first of these fields that is a string with something in it, as one of its own.
    pub(super) fn owned(&self, names: &[&str]) -> Option<String> {
        self.text(names).map(Cow::into_owned)
    }

    /// A number that is not negative, if the field is one.
    pub(super) fn unsigned(&self, name: &str) -> Option<u64> {
        number(self.0.get(name).copied())
            .filter(|number| *number >= 0.0)
            .map(|number| number as u64)
    }

    /// A count, whichever way the number is written.
    pub(super) fn count(&self, name: &str) -> u64 {
        // Negative numbers become zero, absurd ones the largest.
        number(self.0.get(name).copied()).map_or(0, |number| number as u64)
    }

    /// A time, as text or as a number.
    pub(super) fn time(&self, names: &[&str]) -> Option<TimeMs> {
        names
            .iter()
            .find_map(|name| moment(self.0.get(*name).copied()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (name.as_str(), *raw))
    }
}

/// A number.
pub(super) fn number(raw: Option<&RawValue>) -> Option<f64> {
    raw?.get().parse().ok()
}

/// A whole number.
pub(super) fn integer(raw: Option<&RawValue>) -> Option<i64> {
    raw?.get().parse().ok()
}

/// A point in time, in unix milliseconds. Zero is what programs write when they do not know.
pub(super) fn moment(raw: Option<&RawValue>) -> Option<TimeMs> {
    match string(raw) {
        Some(text) => time::milliseconds(&text),
        None => number(raw)
            .filter(|number| *number > 0.0)
            .and_then(time::from_unix),
    }
}
