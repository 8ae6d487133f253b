//! Text of rows that may be damaged: bytes that are not UTF-8 cost a character, not the whole list. Checksums name the damage.

use rusqlite::Row;

use crate::checksums::damage::lossy_text;

pub(crate) trait LossyRow {
    /// Text of a column.
    fn text(&self, column: usize) -> rusqlite::Result<String>;

    /// Text of a column that may be NULL.
    fn optional_text(&self, column: usize) -> rusqlite::Result<Option<String>>;
}

impl LossyRow for Row<'_> {
    fn text(&self, column: usize) -> rusqlite::Result<String> {
        Ok(lossy_text(self.get_ref(column)?))
    }

    fn optional_text(&self, column: usize) -> rusqlite::Result<Option<String>> {
        let value = self.get_ref(column)?;
        Ok((value != rusqlite::types::ValueRef::Null).then(|| lossy_text(value)))
    }
}
