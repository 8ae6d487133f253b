//! Fields that agents call differently and sometimes give in another type.

use serde_json::value::RawValue;

use crate::object::{Object, string};
use crate::time;

/// The first of these fields that is there and not null.
pub(super) fn value<'a>(object: &Object<'a>, names: &[&str]) -> Option<&'a RawValue> {
    names.iter().find_map(|name| object.get(name))
}

/// The first of these fields that is a string.
pub(super) fn text(object: &Object<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.text(name))
}

/// The first of these fields that is a string with something in it.
pub(super) fn name(object: &Object<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.name(name))
}

/// The first of these fields that is a number, be it in quotes.
pub(super) fn number(object: &Object<'_>, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| number_of(object.get(name)?))
}

/// A point in time, as text or as a number, in unix milliseconds.
pub(super) fn time(object: &Object<'_>, name: &str) -> Option<i64> {
    let raw = object.get(name)?;
    // Zero is what programs write when they do not know.
    let number = number_of(raw).filter(|number| *number > 0.0);
    number
        .and_then(time::from_unix)
        .or_else(|| time::milliseconds(&string(raw)?))
}

fn number_of(raw: &RawValue) -> Option<f64> {
    let written = raw.get();
    let bare = written
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let number: f64 = bare.unwrap_or(written).trim().parse().ok()?;
    number.is_finite().then_some(number)
}
