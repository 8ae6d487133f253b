//! Ids: numbers of different kinds cannot be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Defines ids that are numbers. Stores keep them as they are.
macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($number);

        impl $name {
            /// Returns the number.
            pub const fn get(self) -> $number {
                self.0
            }
        }

        impl From<$number> for $name {
            fn from(number: $number) -> Self {
                $name(number)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                id.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        #[cfg(feature = "sqlite")]
        $crate::sql::impl_sql_id!($name, $number);
    )*};
}

number_ids! {
    /// Row of a session.
    SessionId(u32);
    /// Row of a stream: the stored bytes of one generation of a source file.
    StreamId(u32);
}
