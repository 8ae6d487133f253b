//! Numbers out of bytes, each checked against the end.

/// Bytes that are taken from the front.
#[derive(Clone, Copy)]
pub(crate) struct ByteCursor<'a>(pub(crate) &'a [u8]);

impl<'a> ByteCursor<'a> {
    /// Takes the next `count` bytes.
    pub(crate) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a little-endian number of up to eight bytes.
    pub(crate) fn take_number(&mut self, bytes: usize) -> Option<u64> {
        Some(little_endian(self.take_bytes(bytes)?))
    }

    /// Takes a number and returns it as a length.
    pub(crate) fn take_length(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.take_number(bytes)?).ok()
    }
}

/// Returns the number of up to eight bytes.
pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
