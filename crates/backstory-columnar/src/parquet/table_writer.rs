//! A table on its way into a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use ::parquet::errors::Result;
use ::parquet::file::writer::SerializedFileWriter;

use super::column_buffer::{ColumnBuffer, Value};
use super::footer::{PartContent, content_checksum};
use super::schema::Table;

/// Maximum number of rows of a row group: what DuckDB reads on one thread.
const MAX_ROW_GROUP_ROWS: u64 = 122_880;

/// Memory of the values of a row group at which it ends.
const MAX_ROW_GROUP_BYTES: usize = 24 << 20;

/// Rows between two checks of the size of a page, and thus the most by which a page of long texts grows.
const PAGE_CHECK_ROWS: usize = 64;

/// Writer of the rows of a table. Not more than a row group is in memory.
pub(super) struct TableWriter {
    writer: SerializedFileWriter<HashingWriter<BufWriter<File>>>,
    columns: Vec<ColumnBuffer>,
    buffered_rows: u64,
    buffered_bytes: usize,
    rows: u64,
}

impl TableWriter {
    pub(super) fn new(table: Table, file: File) -> Result<Self> {
        let properties = table
            .writer_properties()?
            .set_write_batch_size(PAGE_CHECK_ROWS);
        let schema = table.parquet_schema()?;
        let properties = Arc::new(properties.build());
        Ok(TableWriter {
            writer: SerializedFileWriter::new(
                HashingWriter {
                    out: BufWriter::with_capacity(1 << 18, file),
                    hasher: blake3::Hasher::new(),
                },
                schema,
                properties,
            )?,
            columns: table.columns().iter().map(ColumnBuffer::new).collect(),
            buffered_rows: 0,
            buffered_bytes: 0,
            rows: 0,
        })
    }

    /// Adds a row, its values in the order of the columns.
    pub(super) fn push_row(&mut self, row: impl IntoIterator<Item = Value>) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.buffered_bytes += column.push_value(value);
        }
        self.buffered_rows += 1;
        if self.buffered_rows >= MAX_ROW_GROUP_ROWS || self.buffered_bytes >= MAX_ROW_GROUP_BYTES {
            self.write_row_group()?;
        }
        Ok(())
    }

    fn write_row_group(&mut self) -> Result<()> {
        let mut row_group = self.writer.next_row_group()?;
        for buffer in &mut self.columns {
            if let Some(column) = row_group.next_column()? {
                buffer.write_column(column)?;
            }
        }
        row_group.close()?;
        self.rows += self.buffered_rows;
        (self.buffered_rows, self.buffered_bytes) = (0, 0);
        Ok(())
    }

    /// Writes what is left and the footer; returns the number of rows.
    pub(super) fn finish_table(mut self, content: &PartContent) -> Result<u64> {
        if self.buffered_rows > 0 {
            self.write_row_group()?;
        }
        self.writer.flush()?;
        let mut hasher = self.writer.inner().hasher.clone();
        let checksum = content_checksum(
            &mut hasher,
            self.writer.flushed_row_groups(),
            &content.sessions,
        );
        for entry in content.to_metadata(checksum) {
            self.writer.append_key_value_metadata(entry);
        }
        let rows = self.rows;
        self.writer.into_inner()?.flush()?;
        Ok(rows)
    }
}

/// Writer that hashes what is written.
struct HashingWriter<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
