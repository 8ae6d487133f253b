//! A file of a table on its way into its place.

use std::path::Path;

use super::column_buffer::Value;
use super::footer::PartContent;
use super::schema::Table;
use super::table_writer::TableWriter;
use crate::error::{Error, Result};
use crate::files::create_private_folder;
use crate::replacement::{NewVersion, resolve_target};

/// Writer of the file of a table, which appears whole or not at all.
pub(super) struct PartWriter {
    new: NewVersion,
    table: Table,
    writer: TableWriter,
}

impl PartWriter {
    /// Begins the file, for the holder of its lock or that of its folder; creates its folder if there is none.
    pub(super) fn create(path: &Path, table: Table) -> Result<Self> {
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let target = resolve_target(path)?;
        let new = NewVersion::create(&target)?;
        let file = new.file().try_clone().map_err(Error::io(&target))?;
        let writer = TableWriter::new(table, file).map_err(Error::parquet(&target))?;
        Ok(PartWriter { new, table, writer })
    }

    pub(super) fn push_row(&mut self, row: impl IntoIterator<Item = Value>) -> Result<()> {
        let pushed = self.writer.push_row(row);
        pushed.map_err(Error::parquet(self.new.target()))
    }

    /// Completes the file and puts it in its place; returns the numbers of rows and bytes.
    pub(super) fn finish_part(self, content: &PartContent) -> Result<(u64, u64)> {
        debug_assert_eq!(content.table, self.table);
        let finished = self.writer.finish_table(content);
        let rows = finished.map_err(Error::parquet(self.new.target()))?;
        Ok((rows, self.new.replace_target()?))
    }
}
