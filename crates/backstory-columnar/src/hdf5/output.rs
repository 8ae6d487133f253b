//! The file being written: appended to, with few places written again.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// Appending writer that knows the address of what it appends.
pub(crate) struct Output<W: Write + Seek> {
    inner: BufWriter<W>,
    end: u64,
}

impl<W: Write + Seek> Output<W> {
    /// Starts at the beginning of `inner`, which must be empty.
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner: BufWriter::with_capacity(1 << 20, inner),
            end: 0,
        }
    }

    /// Address of the next byte appended.
    pub(crate) fn end_address(&self) -> u64 {
        self.end
    }

    /// Appends `bytes` and returns their address.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let address = self.end;
        self.inner.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(address)
    }

    /// Appends `length` zero bytes, to be overwritten later, and returns their address.
    pub(crate) fn reserve_bytes(&mut self, length: usize) -> io::Result<u64> {
        let address = self.end;
        io::copy(
            &mut io::Read::take(io::repeat(0), length as u64),
            &mut self.inner,
        )?;
        self.end += length as u64;
        Ok(address)
    }

    /// Replaces bytes that were appended or reserved before.
    pub(crate) fn overwrite_bytes(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.inner.seek(SeekFrom::Start(address))?;
        self.inner.write_all(bytes)?;
        self.inner.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }

    /// Writes what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    /// Writes what is buffered and returns the writer.
    #[cfg(test)]
    pub(crate) fn into_inner(self) -> io::Result<W> {
        self.inner
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
    }
}
