//! The outermost fields of a record.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::note::Note;

/// The outermost fields of a record, by which its kind shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    /// The record itself: old logs have notifications without an envelope.
    #[serde(skip)]
    whole: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a record.
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        if !json.trim_start().starts_with('{') {
            // Damaged JSON says so itself; a list would pass for the fields of a line, in their order.
            serde_json::from_str::<&RawValue>(json)?;
            return Err(serde::de::Error::custom("a record is an object"));
        }
        serde_json::from_str(json).map(|line| Line {
            whole: json,
            ..line
        })
    }

    /// The notification that the record is, if it is one. Fails when a field is named twice.
    pub(super) fn note(&self) -> serde_json::Result<Option<Note<'a>>> {
        match (self.params, self.update) {
            (Some(params), _) => Note::read(params.get(), self.timestamp),
            (None, Some(_)) => Note::read(self.whole, self.timestamp),
            (None, None) => Ok(None),
        }
    }
}
