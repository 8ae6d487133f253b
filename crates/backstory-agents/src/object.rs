//! JSON objects whose fields may be of any type: one that is not as expected is as good as none.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{json, shared};

/// The fields of an object in their order, each as it is written.
///
/// A list and not a struct, because a derived struct refuses a record over one odd or doubled field.
#[derive(Debug)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Reads an object. Fails when the JSON is damaged or something else.
    pub(crate) fn parse(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// Reads a value that may be an object.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        value
            .get()
            .starts_with('{')
            .then(|| Self::parse(value.get()).ok())?
    }

    /// Whether the field is there, be it null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A field that is not null. Of doubled ones the last, as every JSON library has it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().rev().find(|(key, _)| key == name)?;
        (value.get() != "null").then_some(*value)
    }

    /// A string. Lone surrogates are replaced, for they would else cost the text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        string(self.get(name)?)
    }

    /// A string, borrowed when nothing in it is escaped.
    pub(crate) fn word(&self, name: &str) -> Option<Cow<'a, str>> {
        shared::string(self.get(name))
    }

    /// A string that names something, so not an empty one.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// An object.
    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        Object::of(self.get(name)?)
    }

    /// The elements of a list, none when it is something else.
    pub(crate) fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.get(name)
            .and_then(|value| serde_json::from_str(value.get()).ok())
            .unwrap_or_default()
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// A count; one that is missing or below zero is none at all.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.get(name)
            .and_then(|value| serde_json::from_str(value.get()).ok())
            .unwrap_or(0)
    }

    /// Whether the field says `expected`.
    pub(crate) fn says(&self, name: &str, expected: bool) -> bool {
        self.get(name)
            .is_some_and(|value| value.get() == if expected { "true" } else { "false" })
    }

    /// All fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }
}

/// A value that is a string.
pub(crate) fn string(value: &RawValue) -> Option<String> {
    value.get().starts_with('"').then(|| json::text_of(value))
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

        let mut fields = Vec::with_capacity(8);
        while let Some((Key(key), value)) = map.next_entry()? {
            fields.push((key, value));
        }
        Ok(Object(fields))
    }
}
