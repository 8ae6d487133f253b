//! Fields that should be objects. They are read in the same pass as the record around them: reading big ones twice takes as long
//! as all else.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Number of elements of a list that are kept.
const MAX_ELEMENTS: usize = 3;

/// A field that should be an object; any other value costs nothing but the field.
#[derive(Debug, Default)]
pub(super) enum ObjectField<'a, T> {
    /// Not there, or null.
    #[default]
    Missing,
    /// The first elements of a list.
    List(Vec<Option<&'a RawValue>>),
    /// A string, number or boolean.
    Scalar,
    /// The object.
    Object(T),
}

impl<T> ObjectField<'_, T> {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, ObjectField::Missing)
    }

    /// The object, if it is one.
    pub(super) fn object(&self) -> Option<&T> {
        match self {
            ObjectField::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for ObjectField<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor(PhantomData))
    }
}

struct FieldVisitor<'a, T>(PhantomData<(&'a (), T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for FieldVisitor<'a, T> {
    type Value = ObjectField<'a, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(ObjectField::Object)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        let mut first = Vec::new();
        while first.len() < MAX_ELEMENTS {
            match list.next_element()? {
                Some(element) => first.push(element),
                None => return Ok(ObjectField::List(first)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ObjectField::List(first))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ObjectField::Missing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(ObjectField::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(ObjectField::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(ObjectField::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(ObjectField::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(ObjectField::Scalar)
    }
}
