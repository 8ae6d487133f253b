//! Writing JSON in the order the code names the fields, straight into the file's bytes.
//!
//! `serde_json::json!` would sort the keys and build a tree for every line. Agents do not sort theirs, and readers that look at
//! the first bytes of a line should meet what they meet in real logs.

use std::io::Write as _;

/// A value that can be written as JSON.
pub(crate) trait Json {
    fn write(&self, out: &mut Vec<u8>);
}

/// An object, with its fields in this order.
pub(crate) struct Object<'a>(pub(crate) Fields<'a>);

/// The fields of an object.
pub(crate) type Fields<'a> = &'a [(&'a str, &'a dyn Json)];

/// A list of unlike values.
pub(crate) struct List<'a>(pub(crate) &'a [&'a dyn Json]);

/// `fields! { "key": value, … }`: the fields of an object.
macro_rules! fields {
    ($($key:literal : $value:expr),* $(,)?) => {
        &[$(($key, &$value as &dyn $crate::sample::json::Json)),*]
    };
}

/// `object! { "key": value, … }`: an object.
macro_rules! object {
    ($($key:literal : $value:expr),* $(,)?) => {
        $crate::sample::json::Object($crate::sample::json::fields! { $($key: $value),* })
    };
}

/// `list![value, …]`: a list of unlike values.
macro_rules! list {
    ($($value:expr),* $(,)?) => {
        $crate::sample::json::List(&[$(&$value as &dyn $crate::sample::json::Json),*])
    };
}

pub(crate) use {fields, list, object};

/// The value as text, for formats that keep JSON inside a JSON string.
pub(crate) fn text_of(value: &dyn Json) -> String {
    let mut out = Vec::new();
    value.write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes `"key":value` for every field, with commas between.
pub(crate) fn write_fields(fields: Fields<'_>, out: &mut Vec<u8>) {
    for (position, (key, value)) in fields.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        key.write(out);
        out.push(b':');
        value.write(out);
    }
}

impl Json for Object<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        write_fields(self.0, out);
        out.push(b'}');
    }
}

impl Json for List<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

impl Json for str {
    fn write(&self, out: &mut Vec<u8>) {
        // Neither a string nor writing to memory can fail.
        let _ = serde_json::to_writer(out, self);
    }
}

impl Json for String {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_str().write(out);
    }
}

impl Json for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

macro_rules! write_displayed {
    ($($number:ty),*) => {$(
        impl Json for $number {
            fn write(&self, out: &mut Vec<u8>) {
                let _ = write!(out, "{self}");
            }
        }
    )*};
}

write_displayed!(u8, u64, i64, i32, usize);

impl<T: Json> Json for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: Json + ?Sized> Json for &T {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
}

impl<T: Json> Json for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (position, value) in self.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            value.write(out);
        }
        out.push(b']');
    }
}

impl<T: Json> Json for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}

impl<T: Json, const COUNT: usize> Json for [T; COUNT] {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }
}
