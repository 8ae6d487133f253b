//! A small seeded source of randomness, and the identifiers made from it.
//!
//! Splitmix64 and integers only: the same seed gives the same bytes on every machine and with every version of every library,
//! which a benchmark needs more than it needs good randomness.

use std::fmt::Write as _;

use backstory_event::TimeMs;

/// Sizes of a log-normal distribution (sigma 1.3) with a long tail, as percent of the median, at
/// seventeen evenly spaced quantiles.
const LOG_NORMAL_PERCENT: [u64; 17] = [
    4, 14, 22, 32, 42, 53, 66, 81, 100, 123, 151, 189, 240, 317, 446, 736, 3000,
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A stream of pseudo-random numbers.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent stream, so that one session does not depend on how many numbers another one drew.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound` (0 when `bound` is 0).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` up to and without `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of `items`, the first ones more often than the last: words of real text are not evenly used either.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        // The least of three draws, each from 21 bits of one number.
        let bits = self.next();
        let draw = |shift: u32| (bits >> shift) & 0x1f_ffff;
        let least = draw(0).min(draw(21)).min(draw(42));
        items[((least * items.len() as u64) >> 21) as usize]
    }

    /// One of `items`, all equally often.
    pub(crate) fn any<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// A size whose logarithm is about normally distributed around that of `median`.
    pub(crate) fn log_normal(&mut self, median: u64) -> u64 {
        let position = self.below(16 * 1024);
        let (step, part) = ((position / 1024) as usize, position % 1024);
        let (low, high) = (LOG_NORMAL_PERCENT[step], LOG_NORMAL_PERCENT[step + 1]);
        median * (low * 1024 + (high - low) * part) / 102_400
    }

    /// An identifier in the shape of a version 4 UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        uuid_text(high >> 16, 0x4000 | (high & 0xfff), low)
    }

    /// An identifier in the shape of a version 7 UUID, made at `time`.
    pub(crate) fn uuid_at(&mut self, time: TimeMs) -> String {
        let (high, low) = (self.next(), self.next());
        uuid_text(
            time.get() as u64 & 0xffff_ffff_ffff,
            0x7000 | (high & 0xfff),
            low,
        )
    }

    /// `prefix` and `length` letters and digits, as in `toolu_01…` and `call_…`.
    pub(crate) fn token(&mut self, prefix: &str, length: usize) -> String {
        let mut text = String::with_capacity(prefix.len() + length);
        text.push_str(prefix);
        let end = prefix.len() + length;
        while text.len() < end {
            // The last two letters of the alphabet are `+` and `/`, which no identifier has.
            text.push(BASE64[self.below(62) as usize] as char);
        }
        text
    }

    pub(crate) fn hexadecimal(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            let _ = write!(text, "{:016x}", self.next());
        }
        text.truncate(length);
        text
    }

    /// Noise in base64, `length` characters of it, as signatures and images look.
    pub(crate) fn base64(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 10);
        while text.len() < length {
            let mut bits = self.next();
            for _ in 0..10 {
                text.push(BASE64[(bits & 63) as usize] as char);
                bits >>= 6;
            }
        }
        text.truncate(length);
        text
    }
}

fn uuid_text(time: u64, version: u64, low: u64) -> String {
    format!(
        "{:08x}-{:04x}-{version:04x}-{:04x}-{:012x}",
        time >> 16,
        time & 0xffff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}
