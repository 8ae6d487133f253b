//! Counts the bytes that redaction examines, so that a test can hold every rule to a multiple of the length of its input.
//!
//! Every loop over text reports its length here. Outside of tests and of fuzzing the report is an empty function.

/// Number of bytes that may be examined for each byte of a text, whatever stands in it.
///
/// A value is looked at by some twenty tests, for up to three overlapping candidates of each of several rules, in a line that is
/// also searched without its escapes and without hidden characters, and once more around each marker. The generated texts stay
/// below 140; a search by mutation has found 372.
#[cfg(any(test, feature = "count-examined"))]
pub const MAX_EXAMINED_PER_BYTE: u64 = 512;

#[cfg(any(test, feature = "count-examined"))]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static EXAMINED_BYTES: Cell<u64> = const { Cell::new(0) };
    }

    /// Adds `bytes` to the count of this thread.
    pub(crate) fn examined(bytes: usize) {
        EXAMINED_BYTES.with(|count| count.set(count.get() + bytes as u64));
    }

    /// Returns the number of bytes that `work` examined.
    pub fn count_examined_bytes(work: impl FnOnce()) -> u64 {
        let before = EXAMINED_BYTES.with(Cell::get);
        work();
        EXAMINED_BYTES.with(Cell::get) - before
    }
}

#[cfg(any(test, feature = "count-examined"))]
pub use counter::count_examined_bytes;
#[cfg(any(test, feature = "count-examined"))]
pub(super) use counter::examined;

/// Does nothing: the bytes are counted only in tests and when fuzzing.
#[cfg(not(any(test, feature = "count-examined")))]
#[inline(always)]
pub(super) fn examined(_bytes: usize) {}

/// Returns the number of elements at the start of `bytes` that satisfy `test`, and counts them as examined.
#[inline]
pub(super) fn count_leading<'a>(
    bytes: impl Iterator<Item = &'a u8>,
    test: impl Fn(u8) -> bool,
) -> usize {
    let length = bytes.take_while(|byte| test(**byte)).count();
    examined(length + 1);
    length
}
