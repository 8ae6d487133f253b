//! The raw tier: stored bytes in compressed blocks, attachments cut out of them.

mod stored;

use std::cell::RefCell;
use std::ops::Range;

use crate::attachment;
use backstory_event::StreamId;
use rusqlite::{Connection, OptionalExtension};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

pub(crate) use self::stored::read_attachment;
use self::stored::{STORED_BLOCK, StoredBlock, is_mending, restore};
use crate::checksums::{Scope, damage, store_sum};
use crate::error::{Error, Result};
use crate::open::Store;

/// How much text a block holds. Larger blocks compress better (256 KiB ×5.9, 1 MiB ×6.9 on real logs at level 1), and one
/// decompresses in less than a millisecond, which is what a tail costs.
pub const BLOCK_BYTES: usize = 1 << 20;

/// No block holds more; one that claims to is damaged.
const MOST_BYTES: u64 = 1 << 28;

/// So much of a block is decompressed at once when only its beginning is needed.
const STEP: usize = 16 << 10;

/// Level 3 stores real logs in 4 % less than level 2, and 10 % less than level 1, for little of a sweep's time.
const LEVEL: i32 = 3;

/// Notes are small and written seldom: level 9 takes 6 % less than level 3 there.
const NOTES_LEVEL: i32 = 9;

/// Level 6 stores snapshots in 10 % less than level 3; level 9 would save another 1.5 % and take twice the time.
const SNAPSHOT_LEVEL: i32 = 6;

/// A payload taken out of the text: where it was, and what it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// A payload that the store may not have yet: its bytes and their hash.
    New {
        /// Position in the text without payloads.
        at: usize,
        /// Hash of the bytes.
        hash: [u8; 32],
        /// The bytes, decoded.
        bytes: Vec<u8>,
    },
    /// One that the store has.
    Known {
        /// Position in the text without payloads.
        at: usize,
        /// Its row.
        attachment: i64,
    },
}

/// A piece of a stream, ready to be stored.
#[derive(Debug)]
pub struct Packed {
    /// How many stored bytes it stands for, payloads included.
    pub length: u64,
    /// The text without payloads, compressed.
    pub data: Vec<u8>,
    /// The payloads.
    pub cuts: Vec<Cut>,
}

/// Packs pieces of streams; holds what the compressor needs, which is dear to make anew for each piece.
pub struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    /// Room for the longest that a piece could become; what it becomes is copied, in a buffer of that size it would take as much memory.
    room: Vec<u8>,
}

impl Packer {
    /// Makes a packer.
    pub fn new() -> Result<Self> {
        Packer::at(LEVEL)
    }

    /// Makes a packer for what is distilled.
    pub(crate) fn for_notes() -> Result<Self> {
        Packer::at(NOTES_LEVEL)
    }

    /// Makes a packer for snapshots of source files.
    pub(crate) fn for_snapshots() -> Result<Self> {
        Packer::at(SNAPSHOT_LEVEL)
    }

    fn at(level: i32) -> Result<Self> {
        let compressor = zstd::bulk::Compressor::new(level).map_err(Error::Compression)?;
        Ok(Packer {
            compressor,
            room: Vec::new(),
        })
    }

    /// Takes the payloads in `ranges` out of a piece of a stream and compresses the rest.
    pub fn pack(&mut self, bytes: &[u8], ranges: &[Range<usize>]) -> Result<Packed> {
        let (text, cuts) = cut_out(bytes, ranges);
        Ok(Packed {
            length: bytes.len() as u64,
            data: self.compress(&text)?,
            cuts,
        })
    }

    pub(crate) fn compress(&mut self, text: &[u8]) -> Result<Vec<u8>> {
        self.room.clear();
        self.room
            .reserve(zstd::zstd_safe::compress_bound(text.len()));
        self.compressor
            .compress_to_buffer(text, &mut self.room)
            .map_err(Error::Compression)?;
        Ok(self.room.clone())
    }
}

impl Packed {
    /// The bytes that were packed.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let text = decompress(&self.data)?;
        let mut bytes = Vec::with_capacity(self.length as usize);
        let mut copied = 0;
        for cut in &self.cuts {
            if let Cut::New {
                at, bytes: payload, ..
            } = cut
            {
                bytes.extend_from_slice(text.get(copied..*at).unwrap_or_default());
                bytes.extend_from_slice(attachment::encode(payload).as_bytes());
                copied = *at;
            }
        }
        bytes.extend_from_slice(text.get(copied..).unwrap_or_default());
        Ok(bytes)
    }

    /// The same piece with spaces in place of these ranges, so that all else stays where it is.
    pub(crate) fn blanked(self, ranges: &[Range<usize>]) -> Result<Packed> {
        let mut bytes = self.bytes()?;
        blank(&mut bytes, ranges);
        let attachments = attachment::find(&bytes);
        Packer::new()?.pack(&bytes, &attachments)
    }
}

/// Puts spaces in the place of all but newlines.
pub(crate) fn blank(bytes: &mut [u8], ranges: &[Range<usize>]) {
    for range in ranges {
        let end = range.end.min(bytes.len());
        for byte in bytes.get_mut(range.start..end).unwrap_or_default() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
}

fn cut_out<'a>(bytes: &'a [u8], ranges: &[Range<usize>]) -> (std::borrow::Cow<'a, [u8]>, Vec<Cut>) {
    if ranges.is_empty() {
        return (bytes.into(), Vec::new());
    }
    let mut text = Vec::with_capacity(bytes.len());
    let mut cuts = Vec::new();
    let mut copied = 0;
    for range in ranges {
        let Some(payload) = attachment::decode(&bytes[range.clone()]) else {
            continue;
        };
        text.extend_from_slice(&bytes[copied..range.start]);
        cuts.push(Cut::New {
            at: text.len(),
            hash: *blake3::hash(&payload).as_bytes(),
            bytes: payload,
        });
        copied = range.end;
    }
    text.extend_from_slice(&bytes[copied..]);
    (text.into(), cuts)
}

/// Stores a piece at the end of a stream. A short last block is taken up and written again together with the piece, so that a
/// session that grows line by line still lies in few, well compressed blocks.
pub(crate) fn append(
    connection: &Connection,
    stream: StreamId,
    start: u64,
    piece: Packed,
) -> Result<()> {
    let mut piece = piece;
    let mut start = start;
    let last = format!(
        "SELECT {STORED_BLOCK} FROM blocks WHERE length + ?2 <= ?3 AND id = \
         (SELECT id FROM blocks WHERE stream = ?1 ORDER BY start DESC LIMIT 1)"
    );
    let row = |row: &rusqlite::Row<'_>| {
        let block = StoredBlock::from_row(stream, row)?;
        let cuts = block.cuts.map(str::to_string);
        let data = block.is_sound().then(|| block.data.to_vec());
        Ok((block.id, block.start, block.length, cuts, data))
    };
    let last = connection
        .prepare_cached(&last)?
        .query_row((stream, piece.length, BLOCK_BYTES), row)
        .optional()?;
    // A damaged block stays as it is: what follows must not be lost with it.
    if let Some((id, last_start, length, cuts, Some(data))) = last {
        let mut text = decompress(&data)?;
        let before = text.len();
        text.extend_from_slice(&decompress(&piece.data)?);
        let mut all: Vec<Cut> = parse_cuts(cuts.as_deref())
            .into_iter()
            .map(|(at, attachment)| Cut::Known { at, attachment })
            .collect();
        all.extend(piece.cuts.into_iter().map(|cut| shift(cut, before)));
        piece = Packed {
            length: length + piece.length,
            data: Packer::new()?.compress(&text)?,
            cuts: all,
        };
        start = last_start;
        connection
            .prepare_cached("DELETE FROM blocks WHERE id = ?1")?
            .execute([id])?;
    }
    let cuts = store_cuts(connection, piece.cuts)?;
    connection
        .prepare_cached(
            "INSERT INTO blocks (stream, start, length, cuts, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((stream, start, piece.length, &cuts, &piece.data))?;
    let block = StoredBlock {
        id: connection.last_insert_rowid(),
        stream,
        start,
        length: piece.length,
        cuts: cuts.as_deref(),
        data: &piece.data,
        sum: None,
    };
    store_sum(connection, Scope::Blocks, block.id, None, block.checksum())
}

/// Remembers the number of newlines before a piece, unless the piece was added to a block that began earlier.
pub(crate) fn save_line(
    connection: &Connection,
    stream: StreamId,
    start: u64,
    newlines: u64,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO block_lines (stream, start, line) SELECT ?1, ?2, ?3 \
             WHERE EXISTS (SELECT 1 FROM blocks WHERE stream = ?1 AND start = ?2)",
        )?
        .execute((stream, start, newlines))?;
    Ok(())
}

impl Store {
    /// Returns the start of the last block at or before a byte of a stream whose line is known, and the number of newlines before it.
    pub fn line_before(&self, stream: StreamId, offset: u64) -> Result<Option<(u64, u64)>> {
        let query = "SELECT start, line FROM block_lines WHERE stream = ?1 AND start <= ?2 ORDER BY start DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(statement.query_row((stream, offset), row).optional()?)
    }
}

/// The blocks of a stream, in their order: row, first byte, length.
pub(crate) fn of_stream(connection: &Connection, stream: StreamId) -> Result<Vec<(i64, u64, u64)>> {
    let query = "SELECT id, start, length FROM blocks WHERE stream = ?1 ORDER BY start";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([stream], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Puts other bytes of the same length in the place of a block's.
pub(crate) fn replace(connection: &Connection, block: i64, bytes: &[u8]) -> Result<()> {
    let packed = Packer::new()?.pack(bytes, &attachment::find(bytes))?;
    let cuts = store_cuts(connection, packed.cuts)?;
    let (stream, start, length) = connection
        .prepare_cached(
            "UPDATE blocks SET cuts = ?2, data = ?3 WHERE id = ?1 RETURNING stream, start, length",
        )?
        .query_row((block, &cuts, &packed.data), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let block = StoredBlock {
        id: block,
        stream,
        start,
        length,
        cuts: cuts.as_deref(),
        data: &packed.data,
        sum: None,
    };
    store_sum(connection, Scope::Blocks, block.id, None, block.checksum())
}

fn shift(cut: Cut, by: usize) -> Cut {
    match cut {
        Cut::New { at, hash, bytes } => Cut::New {
            at: at + by,
            hash,
            bytes,
        },
        Cut::Known { at, attachment } => Cut::Known {
            at: at + by,
            attachment,
        },
    }
}

fn store_cuts(connection: &Connection, cuts: Vec<Cut>) -> Result<Option<String>> {
    if cuts.is_empty() {
        return Ok(None);
    }
    let mut places: Vec<(usize, i64)> = Vec::new();
    for cut in cuts {
        places.push(match cut {
            Cut::Known { at, attachment } => (at, attachment),
            Cut::New { at, hash, bytes } => {
                let insert = "INSERT INTO attachments (hash, data) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING";
                connection.prepare_cached(insert)?.execute((&hash, &bytes))?;
                let find = "SELECT id FROM attachments WHERE hash = ?1";
                let id = connection.prepare_cached(find)?.query_row([&hash], |row| row.get(0))?;
                // One that is damaged is mended by the way.
                let stored = "SELECT LENGTH(data) FROM attachments WHERE id = ?1";
                let length: usize = connection.prepare_cached(stored)?.query_row([id], |row| row.get(0))?;
                if length != bytes.len() || (is_mending(connection)? && read_attachment(connection, id)?.is_none()) {
                    let mend = "UPDATE attachments SET data = ?2 WHERE id = ?1";
                    connection.prepare_cached(mend)?.execute((id, &bytes))?;
                }
                (at, id)
            }
        });
    }
    Ok(serde_json::to_string(&places).ok())
}

pub(crate) fn parse_cuts(cuts: Option<&str>) -> Vec<(usize, i64)> {
    cuts.and_then(|cuts| serde_json::from_str(cuts).ok())
        .unwrap_or_default()
}

thread_local! {
    /// Making one takes longer than decompressing a few kilobytes.
    static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

pub(crate) fn decompress(data: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    DECODER.with_borrow_mut(|decoder| decompress_into(decoder, data, &mut bytes))?;
    Ok(bytes)
}

/// Decompresses a block in place of what `bytes` held.
fn decompress_into(decoder: &mut DCtx<'_>, data: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    bytes.reserve(content_length(data)?);
    decoder.decompress(bytes, data).map_err(damaged)?;
    Ok(())
}

/// Like [`decompress_into`], but stops once there are `needed` bytes.
fn decompress_beginning(
    decoder: &mut DCtx<'_>,
    data: &[u8],
    needed: usize,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    bytes.clear();
    bytes.reserve(content_length(data)?);
    let session = ResetDirective::SessionAndParameters;
    decoder.reset(session).map_err(damaged)?;
    // Else all would be decompressed into a buffer of the decoder first.
    let direct = DParameter::StableOutBuffer(true);
    decoder.set_parameter(direct).map_err(damaged)?;
    let mut output = OutBuffer::around(bytes);
    let mut read = 0;
    while output.pos() < needed && read < data.len() {
        let mut input = InBuffer::around(&data[..data.len().min(read + STEP)]);
        input.set_pos(read);
        decoder
            .decompress_stream(&mut output, &mut input)
            .map_err(damaged)?;
        if input.pos() == read {
            break;
        }
        read = input.pos();
    }
    Ok(())
}

fn content_length(data: &[u8]) -> Result<usize> {
    match zstd::zstd_safe::get_frame_content_size(data) {
        Ok(Some(length)) if length <= MOST_BYTES => Ok(length as usize),
        _ => {
            let error = std::io::Error::other("a stored block has no sensible length");
            Err(Error::Compression(error))
        }
    }
}

fn damaged(code: usize) -> Error {
    let name = zstd::zstd_safe::get_error_name(code);
    Error::Compression(std::io::Error::other(name))
}

/// Reads stored bytes; remembers the last block, for neighbouring events lie in the same one.
pub struct BlockReader<'a> {
    connection: &'a Connection,
    decoder: DCtx<'static>,
    last: Option<Block>,
}

struct Block {
    stream: StreamId,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> BlockReader<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        BlockReader {
            connection,
            decoder: DCtx::create(),
            last: None,
        }
    }

    /// The stored bytes of a span; shorter than asked for where the stream ends.
    pub fn read(&mut self, stream: StreamId, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.read_span(stream, offset, length, false)
    }

    /// Like [`BlockReader::read`], for a span whose neighbours are not read: no more of its block is decompressed than is needed.
    pub fn read_alone(&mut self, stream: StreamId, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.read_span(stream, offset, length, true)
    }

    fn read_span(
        &mut self,
        stream: StreamId,
        offset: u64,
        length: u64,
        alone: bool,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let at = offset + bytes.len() as u64;
            let wanted = (length - bytes.len() as u64) as usize;
            let needed = (alone && bytes.is_empty()).then_some(wanted);
            let Some(block) = self.block(stream, at, needed)? else {
                break;
            };
            let from = (at - block.start) as usize;
            let Some(available) = block.bytes.get(from..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            bytes.extend_from_slice(&available[..wanted.min(available.len())]);
        }
        Ok(bytes)
    }

    /// The block that holds a byte of a stream, or its beginning with so many bytes from there on.
    fn block(
        &mut self,
        stream: StreamId,
        at: u64,
        needed: Option<usize>,
    ) -> Result<Option<&Block>> {
        let holds = |block: &Block| {
            block.stream == stream
                && block.start <= at
                && at < block.start + block.bytes.len() as u64
        };
        if self.last.as_ref().is_some_and(holds) {
            return Ok(self.last.as_ref());
        }
        let query = format!(
            "SELECT {STORED_BLOCK} FROM blocks WHERE stream = ?1 AND start <= ?2 ORDER BY start DESC LIMIT 1"
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let mut rows = statement.query((stream, at))?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let stored = StoredBlock::from_row(stream, row)?;
        // The memory of the last block serves for this one: to get new one costs as much as to decompress.
        let mut bytes = self.last.take().map(|last| last.bytes).unwrap_or_default();
        let connection = self.connection;
        let damaged = || damage::bytes(connection, stream, stored.start, stored.length);
        if !stored.is_sound() {
            return Err(damaged()?.into());
        }
        let cuts = parse_cuts(stored.cuts);
        let decompressed = match needed {
            Some(needed) if cuts.is_empty() => {
                let needed = (at - stored.start) as usize + needed;
                decompress_beginning(&mut self.decoder, stored.data, needed, &mut bytes)
            }
            _ => decompress_into(&mut self.decoder, stored.data, &mut bytes),
        };
        if decompressed.is_err() {
            return Err(damaged()?.into());
        }
        if !cuts.is_empty() {
            let Some(restored) = restore(connection, &bytes, &cuts)? else {
                return Err(damaged()?.into());
            };
            bytes = restored;
        }
        if needed.is_none() && bytes.len() as u64 != stored.length {
            return Err(damaged()?.into());
        }
        let start = stored.start;
        Ok(Some(self.last.insert(Block {
            stream,
            start,
            bytes,
        })))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_the_beginning() {
        let text: Vec<u8> = (0..300_000_u32)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let data = Packer::new().unwrap().compress(&text).unwrap();
        let mut decoder = DCtx::create();
        let mut bytes = Vec::new();
        for needed in [0, 1, 4_096, 200_000, text.len(), text.len() + 9] {
            decompress_beginning(&mut decoder, &data, needed, &mut bytes).unwrap();
            assert!(bytes.len() >= needed.min(text.len()), "{needed}");
            assert_eq!(bytes, text[..bytes.len()], "{needed}");
        }
        decompress_beginning(&mut decoder, &data, 100, &mut bytes).unwrap();
        assert!(bytes.len() < text.len() / 2, "{}", bytes.len());
        // One decoder serves for both ways, and for bytes that are no block.
        decompress_into(&mut decoder, &data, &mut bytes).unwrap();
        assert_eq!(bytes, text);
        for cut in [0, 3, 10, data.len() / 2] {
            assert!(decompress_into(&mut decoder, &data[..cut], &mut bytes).is_err());
            let _ = decompress_beginning(&mut decoder, &data[..cut], 100, &mut bytes);
        }
        decompress_beginning(&mut decoder, &data, 100, &mut bytes).unwrap();
        assert_eq!(bytes[..100], text[..100]);
    }
}
