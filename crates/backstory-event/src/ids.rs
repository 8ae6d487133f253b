//! Ids: numbers of different kinds cannot be mixed up.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Defines ids that are numbers. Stores keep them as they are.
macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($number);

        impl $name {
            /// Returns the id that is this number.
            pub const fn new(number: $number) -> Self {
                $name(number)
            }

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
    /// Row of a project.
    ProjectId(u32);
    /// Row of a source file that agents work on.
    FileId(u32);
    /// Number of an event in its session, from 1; as a bound, 0 stands before the first.
    Seq(u32);
    /// Number of a turn in its session, from 1; 0 before the first prompt.
    TurnNo(u32);
    /// Time in milliseconds since 1970.
    TimeMs(i64);
}

impl Seq {
    /// Before the first event of a session.
    pub const ZERO: Seq = Seq(0);

    /// The first event of a session.
    pub const FIRST: Seq = Seq(1);

    /// The last number that an event can have.
    pub const MAX: Seq = Seq(u32::MAX);

    /// Returns the number of the event after this one.
    pub const fn next(self) -> Self {
        Seq(self.0.saturating_add(1))
    }

    /// Returns the number of the event before this one; of the first, 0.
    pub const fn previous(self) -> Self {
        Seq(self.0.saturating_sub(1))
    }

    /// Returns the number of the last of so many events.
    pub fn last_of(events: u64) -> Self {
        Seq(u32::try_from(events).unwrap_or(u32::MAX))
    }

    /// Returns how many events there are up to this one.
    pub fn count(self) -> u64 {
        self.0.into()
    }
}

impl TurnNo {
    /// Before the first prompt of a session.
    pub const ZERO: TurnNo = TurnNo(0);

    /// The first turn of a session.
    pub const FIRST: TurnNo = TurnNo(1);

    /// Returns the number of the turn after this one.
    pub const fn next(self) -> Self {
        TurnNo(self.0.saturating_add(1))
    }

    /// Returns the number of the last of so many turns.
    pub fn last_of(turns: u64) -> Self {
        TurnNo(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    /// Returns how many turns there are up to this one.
    pub fn count(self) -> u64 {
        self.0.into()
    }
}

impl TimeMs {
    /// The beginning of 1970; where a time is never missing, this stands for an unknown one.
    pub const ZERO: TimeMs = TimeMs(0);

    /// Before every other time.
    pub const MIN: TimeMs = TimeMs(i64::MIN);

    /// After every other time.
    pub const MAX: TimeMs = TimeMs(i64::MAX);

    /// Returns the milliseconds since an earlier time; below 0 if that is later.
    pub const fn since(self, earlier: TimeMs) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time so many milliseconds later.
    pub const fn plus_ms(self, milliseconds: i64) -> Self {
        TimeMs(self.0.saturating_add(milliseconds))
    }

    /// Returns the time so many milliseconds earlier.
    pub const fn minus_ms(self, milliseconds: i64) -> Self {
        TimeMs(self.0.saturating_sub(milliseconds))
    }
}

/// An agent's own id of a session: ids are unique only among the sessions of one agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName {
    /// Name of the agent.
    pub agent: AgentName,
    /// The agent's own id.
    pub id: Arc<str>,
}

/// Name of an agent; stores may have sessions of agents that this program does not know.
pub type AgentName = Cow<'static, str>;

impl SessionName {
    /// Names a session.
    pub fn new(agent: impl Into<AgentName>, id: impl Into<Arc<str>>) -> Self {
        SessionName {
            agent: agent.into(),
            id: id.into(),
        }
    }

    /// Returns whether this is the session of an agent with this id.
    pub fn is(&self, agent: &str, id: &str) -> bool {
        self.agent == agent && *self.id == *id
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_numbers_in_json() {
        let ids = (Seq::new(7), TurnNo::FIRST, TimeMs::new(-1), FileId::new(3));
        let json = serde_json::to_string(&ids).unwrap();
        assert_eq!(json, "[7,1,-1,3]");
        let read: (Seq, TurnNo, TimeMs, FileId) = serde_json::from_str(&json).unwrap();
        assert_eq!(read, ids);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(Seq::MAX.next(), Seq::MAX);
        assert_eq!(Seq::ZERO.previous(), Seq::ZERO);
        assert_eq!(Seq::last_of(u64::MAX), Seq::MAX);
        assert_eq!(TimeMs::MAX.since(TimeMs::MIN), i64::MAX);
        assert_eq!(TimeMs::MIN.minus_ms(1), TimeMs::MIN);
        assert_eq!(TimeMs::MAX.plus_ms(1), TimeMs::MAX);
    }
}
