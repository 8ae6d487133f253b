//! Versions of the program: a worker of another one is not asked, an older one is replaced.

use std::cmp::Ordering;

/// The version of this program, with a mark before it: tests make another version by changing these bytes in a copy.
static VERSION_MARK: &str = concat!("backstory-version:", env!("CARGO_PKG_VERSION"));

/// The version of this program. Read in such a way that the compiler does not look at the mark, and the file alone counts.
pub fn version() -> &'static str {
    let mark = std::hint::black_box(VERSION_MARK);
    mark.split_once(':').map_or(mark, |(_, version)| version)
}

/// Compares two versions by their numbers.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
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
