//! Values of a row group, column by column, until they are written.

use std::borrow::Cow;

use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::writer::SerializedColumnWriter;

use super::schema::{ColumnKind, ColumnSchema};

/// Bytes of memory that a value takes beside its text.
const VALUE_BYTES: usize = 16;

/// A value of a row. Texts share their memory with their copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Text(ByteArray),
    List(Vec<ByteArray>),
    Integer(i64),
    Boolean(bool),
    /// Days since 1970.
    Date(i32),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(ByteArray::from(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(ByteArray::from(text.into_bytes()))
    }
}

impl From<&ByteArray> for Value {
    fn from(text: &ByteArray) -> Self {
        Value::Text(text.clone())
    }
}

impl From<&[String]> for Value {
    fn from(texts: &[String]) -> Self {
        Value::List(
            texts
                .iter()
                .map(|text| ByteArray::from(text.as_str()))
                .collect(),
        )
    }
}

impl From<&[&'static str]> for Value {
    fn from(texts: &[&'static str]) -> Self {
        Value::List(texts.iter().map(|text| ByteArray::from(*text)).collect())
    }
}

impl From<&[Cow<'static, str>]> for Value {
    fn from(texts: &[Cow<'static, str>]) -> Self {
        let texts = texts.iter().map(|text| ByteArray::from(text.as_ref()));
        Value::List(texts.collect())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Boolean(truth)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// Values of one column and, where it has nulls or lists, their levels.
pub(super) struct ColumnBuffer {
    values: Values,
    /// 1 for a value, 0 for a null or an empty list; unused where neither can be.
    definitions: Vec<i16>,
    /// 0 for the first value of a row, 1 for the others of its list; unused without lists.
    repetitions: Vec<i16>,
    nullable: bool,
    is_list: bool,
}

enum Values {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
    Dates(Vec<i32>),
}

impl ColumnBuffer {
    pub(super) fn new(column: &ColumnSchema) -> Self {
        ColumnBuffer {
            values: match column.kind {
                ColumnKind::Name | ColumnKind::Text | ColumnKind::TextList => {
                    Values::Texts(Vec::new())
                }
                ColumnKind::Integer | ColumnKind::Timestamp => Values::Integers(Vec::new()),
                ColumnKind::Boolean => Values::Booleans(Vec::new()),
                ColumnKind::Date => Values::Dates(Vec::new()),
            },
            definitions: Vec::new(),
            repetitions: Vec::new(),
            nullable: column.nullable,
            is_list: column.kind == ColumnKind::TextList,
        }
    }

    /// Adds the value of the next row, and returns the bytes of memory that it takes.
    pub(super) fn push_value(&mut self, value: Value) -> usize {
        let text_bytes = match &value {
            Value::Text(text) => text.len(),
            Value::List(texts) => texts.iter().map(|text| text.len() + VALUE_BYTES).sum(),
            _ => 0,
        };
        match (&mut self.values, value) {
            (Values::Texts(texts), Value::List(list)) if self.is_list => {
                // Without a value, the row still has a place.
                let places = list.len().max(1);
                let definition = i16::from(!list.is_empty());
                self.definitions
                    .resize(self.definitions.len() + places, definition);
                self.repetitions.push(0);
                self.repetitions
                    .resize(self.repetitions.len() + places - 1, 1);
                texts.extend(list);
                return text_bytes + VALUE_BYTES;
            }
            (Values::Texts(texts), Value::Text(text)) if !self.is_list => texts.push(text),
            (Values::Integers(numbers), Value::Integer(number)) => numbers.push(number),
            (Values::Booleans(truths), Value::Boolean(truth)) => truths.push(truth),
            (Values::Dates(days), Value::Date(day)) => days.push(day),
            (_, other) => {
                debug_assert!(
                    self.nullable && other == Value::Null,
                    "{other:?} has not the type of its column"
                );
                self.definitions.push(0);
                return VALUE_BYTES;
            }
        }
        if self.nullable {
            self.definitions.push(1);
        }
        text_bytes + VALUE_BYTES
    }

    /// Writes the values as the column of a row group, and forgets them.
    pub(super) fn write_column(&mut self, mut column: SerializedColumnWriter<'_>) -> Result<()> {
        let has_definitions = self.nullable || self.is_list;
        let definitions = has_definitions.then_some(self.definitions.as_slice());
        let repetitions = self.is_list.then_some(self.repetitions.as_slice());
        match &mut self.values {
            Values::Texts(values) => {
                let writer = column.typed::<ByteArrayType>();
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Integers(values) => {
                let writer = column.typed::<Int64Type>();
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Booleans(values) => {
                let writer = column.typed::<BoolType>();
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            Values::Dates(values) => {
                let writer = column.typed::<Int32Type>();
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
        }
        self.definitions.clear();
        self.repetitions.clear();
        column.close()
    }
}
