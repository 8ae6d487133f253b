//! The worker: one process for a store that stays, answers at once and does what hooks have no time for.
//!
//! It speaks HTTP over a Unix socket that only its user can reach. Everything works without it, only slower: who asks it does so
//! with a deadline and then does the thing itself. `place` is where its files lie, `start` and `life` how it comes
//! and goes, `serve` the loop that talks to clients, `pool` the threads that answer, `api` what they answer, `round` what is
//! done without being asked.

mod api;
mod client;
mod connection;
mod http;
mod life;
mod place;
mod pool;
mod question;
mod round;
mod serve;
mod share;
mod shared;
mod start;

use std::cmp::Ordering;

pub(crate) use client::{Question, ask};
pub(crate) use life::{Stopped, state, stop};
pub(crate) use place::{Info, Place, spools};
pub(crate) use round::{Scope, go_round};
pub(crate) use start::{start, start_daemon, start_detached};

/// The version of this program, with a mark before it: tests make another version by changing these bytes in a copy.
static VERSION_MARK: &str = concat!("backstory-version:", env!("CARGO_PKG_VERSION"));

/// The version of this program. Read in such a way that the compiler does not look at the mark, and the file alone counts.
pub(crate) fn version() -> &'static str {
    let mark = std::hint::black_box(VERSION_MARK);
    mark.split_once(':').map_or(mark, |(_, version)| version)
}

/// Which of two versions is the newer one.
fn compare_versions(left: &str, right: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release
            .split('.')
            .map(|part| part.parse().unwrap_or(0))
            .collect()
    };
    // A release is newer than what came before it: 1.0.0 than 1.0.0-rc.1.
    let is_release = |version: &str| !version.contains('-');
    numbers(left)
        .cmp(&numbers(right))
        .then(is_release(left).cmp(&is_release(right)))
        .then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (left, right, expected) in [
            ("0.1.0", "0.1.0", Ordering::Equal),
            ("0.9.0", "0.10.0", Ordering::Less),
            ("1.0.0-rc.1", "1.0.0", Ordering::Less),
            ("1.0.1", "1.0.0-rc.1", Ordering::Greater),
            ("", "0.0.1", Ordering::Less),
        ] {
            assert_eq!(
                compare_versions(left, right),
                expected,
                "{left} and {right}"
            );
            assert_eq!(compare_versions(right, left), expected.reverse());
        }
    }
}
