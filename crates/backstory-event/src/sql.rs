//! Enums and ids as SQLite columns.

use std::error::Error;
use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::event::{Action, EventKey, Kind};
use crate::symbol::{SymbolChangeKind, SymbolKind};

/// A stored number that stands for nothing: the row is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownNumber {
    /// What it should be.
    pub what: &'static str,
    /// The number.
    pub number: i64,
}

impl fmt::Display for UnknownNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is no {}", self.number, self.what)
    }
}

impl Error for UnknownNumber {}

impl UnknownNumber {
    /// Returns whether reading a row failed for such a number.
    pub fn is_cause_of(error: &rusqlite::Error) -> bool {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, cause) => cause.is::<UnknownNumber>(),
            // No id is so large.
            rusqlite::Error::IntegralValueOutOfRange(..) => true,
            _ => false,
        }
    }
}

/// Returns the variant that a stored number stands for, by its place in `all`.
pub fn variant_from_sql<T: Copy>(
    value: ValueRef<'_>,
    all: &[T],
    what: &'static str,
) -> FromSqlResult<T> {
    let number = value.as_i64()?;
    let place = usize::try_from(number).ok();
    let variant = place.and_then(|place| all.get(place));
    variant.copied().ok_or_else(|| {
        let unknown = UnknownNumber { what, number };
        FromSqlError::Other(Box::new(unknown))
    })
}

/// Implements `ToSql` and `FromSql` for an enum that is stored as a number: the place of the variant in its `ALL`.
#[macro_export]
macro_rules! impl_sql_enum {
    ($name:ty, $what:literal) => {
        impl ::rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> ::rusqlite::Result<::rusqlite::types::ToSqlOutput<'_>> {
                Ok((*self as u8).into())
            }
        }

        impl ::rusqlite::types::FromSql for $name {
            fn column_result(
                value: ::rusqlite::types::ValueRef<'_>,
            ) -> ::rusqlite::types::FromSqlResult<Self> {
                $crate::variant_from_sql(value, &Self::ALL, $what)
            }
        }

        // Numbers are places.
        const _: () = {
            let mut place = 0;
            while place < <$name>::ALL.len() {
                assert!(<$name>::ALL[place] as usize == place);
                place += 1;
            }
        };
    };
}

/// Implements `ToSql` and `FromSql` for an id that is a number.
macro_rules! impl_sql_id {
    ($name:ident, $number:ty) => {
        impl ::rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> ::rusqlite::Result<::rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.get().into())
            }
        }

        impl ::rusqlite::types::FromSql for $name {
            fn column_result(
                value: ::rusqlite::types::ValueRef<'_>,
            ) -> ::rusqlite::types::FromSqlResult<Self> {
                <$number>::column_result(value).map($name::from)
            }
        }

        impl $name {
            /// Returns the id of the row that a statement has just inserted.
            pub fn last_inserted(connection: &::rusqlite::Connection) -> ::rusqlite::Result<Self> {
                let row = connection.last_insert_rowid();
                let out_of_range = |_| ::rusqlite::Error::IntegralValueOutOfRange(0, row);
                let number = <$number>::try_from(row).map_err(out_of_range)?;
                Ok($name::from(number))
            }
        }
    };
}
pub(crate) use impl_sql_id;

impl ToSql for EventKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for EventKey {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(EventKey)
    }
}

impl_sql_enum!(Kind, "kind of event");
impl_sql_enum!(Action, "action on a file");
impl_sql_enum!(SymbolKind, "kind of symbol");
impl_sql_enum!(SymbolChangeKind, "change of a symbol");

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::ids::Seq;

    fn read<T: FromSql>(expression: &str) -> rusqlite::Result<T> {
        let connection = Connection::open_in_memory()?;
        connection.query_row(&format!("SELECT {expression}"), [], |row| row.get(0))
    }

    #[test]
    fn enums_keep_their_numbers() {
        let connection = Connection::open_in_memory().unwrap();
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            let stored: usize = connection
                .query_row("SELECT ?1", [kind], |row| row.get(0))
                .unwrap();
            assert_eq!(stored, number);
            assert_eq!(read::<Kind>(&number.to_string()).unwrap(), kind);
        }
        assert_eq!(read::<Action>("2").unwrap(), Action::Delete);
    }

    #[test]
    fn an_unknown_number_is_an_error_that_names_it() {
        for number in ["3", "-1", "9223372036854775807"] {
            let error = read::<Action>(number).unwrap_err();
            assert!(UnknownNumber::is_cause_of(&error));
            let text = error.to_string();
            assert!(text.contains(&format!("{number} is no action on a file")));
        }
        for number in ["4294967296", "-1"] {
            assert!(UnknownNumber::is_cause_of(
                &read::<Seq>(number).unwrap_err()
            ));
        }
        let error = read::<Kind>("'prompt'").unwrap_err();
        assert!(!UnknownNumber::is_cause_of(&error));
    }
}
