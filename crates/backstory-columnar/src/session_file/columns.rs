//! Columns of `messages` and `tool_calls`: windows of rows, with every size checked before it is read.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hdf5_pure::{AttrValue, Dataset, Datatype, Group};

use super::appended::AppendedRows;
use super::fields::field_places;
use super::limits::{CheckedShape, max_content_bytes};
use super::open::SessionFile;
use super::read::Session;
use super::schema::{CALL_FIELDS, CONTENT_FIELDS, ROWS_USED};
use crate::error::Result;
use crate::hdf5::texts::TextReader;

/// Rows that are looked at together when the end of the used rows is searched.
const SEARCH_ROWS: u64 = 4096;
/// Largest gap between two texts that is read with them.
const MAX_GAP_BYTES: u64 = 1 << 16;

/// Datasets of a group.
pub(super) struct Columns<'a> {
    file: &'a SessionFile,
    place: String,
    group: Group,
    /// Datasets that were found together, until they are used.
    listed: RefCell<Option<HashMap<String, Dataset>>>,
    datasets: RefCell<HashMap<String, Option<(Dataset, CheckedShape)>>>,
}

impl<'a> Columns<'a> {
    /// Opens a group of a session, if there is one.
    pub(super) fn open(session: &Session<'a>, name: &str) -> Result<Option<Columns<'a>>> {
        let place = format!("{}/{name}", session.place());
        let file = session.file();
        let group = file.child_group(session.group(), name, &place)?;
        Ok(group.map(|group| Columns {
            file,
            place,
            group,
            listed: RefCell::default(),
            datasets: RefCell::default(),
        }))
    }

    /// Opens a group and finds all its datasets at once: by name, each would take a walk through all links.
    pub(super) fn open_all(session: &Session<'a>, name: &str) -> Result<Option<Columns<'a>>> {
        let Some(columns) = Columns::open(session, name)? else {
            return Ok(None);
        };
        let listed = columns
            .file
            .child_datasets(&columns.group, &columns.place)?
            .into_iter()
            .collect();
        columns.listed.replace(Some(listed));
        Ok(Some(columns))
    }

    fn open_dataset(&self, name: &str) -> std::result::Result<Option<Dataset>, hdf5_pure::Error> {
        if let Some(listed) = self.listed.borrow_mut().as_mut() {
            return Ok(listed.remove(name));
        }
        match self.group.dataset(name) {
            Ok(dataset) => Ok(Some(dataset)),
            Err(hdf5_pure::Error::Format(hdf5_pure::FormatError::PathNotFound(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn file(&self) -> &'a SessionFile {
        self.file
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Applies `read` to a dataset, or returns `None` when there is none of that name.
    pub(super) fn with_dataset<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Dataset, &CheckedShape) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut datasets = self.datasets.borrow_mut();
        if !datasets.contains_key(name) {
            self.file.start_operation();
            let place = self.dataset_place(name);
            let opened = self
                .open_dataset(name)
                .map_err(|error| self.file.format_error(&place, error))?;
            let opened = match opened {
                Some(dataset) => {
                    let shape = self.file.check_shape(&dataset, &place)?;
                    Some((dataset, shape))
                }
                None => None,
            };
            datasets.insert(name.to_owned(), opened);
        }
        match datasets.get(name) {
            Some(Some((dataset, shape))) => {
                self.file.start_operation();
                read(dataset, shape).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn dataset_place(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }

    /// Number of rows of a dataset, 0 when there is none.
    pub(super) fn dataset_rows(&self, name: &str) -> Result<u64> {
        Ok(self
            .with_dataset(name, |_, shape| Ok(shape.row_count()))?
            .unwrap_or(0))
    }

    /// Attributes of a dataset, none when there is no such dataset.
    pub(super) fn dataset_attributes(&self, name: &str) -> Result<HashMap<String, AttrValue>> {
        let read = self.with_dataset(name, |dataset, _| {
            dataset
                .attrs()
                .map_err(|error| self.file.format_error(&self.dataset_place(name), error))
        })?;
        Ok(read.unwrap_or_default())
    }

    /// Number of messages.
    pub(super) fn message_rows(&self) -> Result<u64> {
        self.used_rows("uuid", "content_index", CONTENT_FIELDS)
    }

    /// Number of tool calls.
    pub(super) fn call_rows(&self) -> Result<u64> {
        self.used_rows("tool_use_id", "call_index", CALL_FIELDS)
    }

    /// Number of tool calls with different ids, and of those without one, but for calls of appended messages that are in a log.
    pub(super) fn distinct_calls(&self, appended: &AppendedRows) -> Result<u64> {
        let rows = 0..self.call_rows()?;
        let [ids, messages, results] = ["tool_use_id", "message_uuid", "result_uuid"]
            .map(|name| self.read_texts(name, rows.clone()));
        let (ids, messages, results) = (ids?, messages?, results?);
        let mut known = HashSet::new();
        let calls = ids.iter().zip(messages.iter().zip(&results));
        let calls = calls.filter(|(id, (message, result))| {
            !appended.is_logged_call(message, result) && (id.is_empty() || known.insert(*id))
        });
        Ok(calls.count() as u64)
    }

    /// Number of rows before those that were only allocated. A file that was not closed does not have it: then rows at the end without id,
    /// time and content are unused.
    fn used_rows(&self, id: &str, index: &str, fields: [&str; 4]) -> Result<u64> {
        let rows = self.dataset_rows(id)?;
        if rows > self.file.max_rows() {
            let what = format!(
                "{rows} rows cannot be in a file of {} bytes",
                self.file.file_bytes()
            );
            return Err(self.file.damaged_error(&self.dataset_place(id), what));
        }
        let attributes = self.file.group_attributes(&self.group, &self.place)?;
        let recorded = attributes
            .get(ROWS_USED)
            .and_then(AttrValue::as_u64)
            .unwrap_or(0)
            .min(rows);
        let mut end = rows;
        while end > recorded {
            let start = end.saturating_sub(SEARCH_ROWS).max(recorded);
            let times = self.read_numbers("timestamp", start..end)?;
            let ranges = self.read_fields(index, start..end, fields)?;
            let texts = self.read_texts(id, start..end)?;
            let used = times
                .iter()
                .zip(&ranges)
                .zip(&texts)
                .rposition(|((time, range), id)| {
                    *time != 0.0 || *range != [0; 4] || !id.is_empty()
                });
            match used {
                Some(last) => return Ok(start + last as u64 + 1),
                None => end = start,
            }
        }
        Ok(end)
    }

    /// Elements of `rows` as stored. Rows that the column does not have are missing at the end.
    pub(super) fn read_raw_rows(&self, name: &str, rows: Range<u64>) -> Result<Vec<u8>> {
        let read = self.with_dataset(name, |dataset, _| {
            dataset
                .read_raw_rows(rows.start, rows.end - rows.start)
                .map_err(|error| self.file.format_error(&self.dataset_place(name), error))
        })?;
        Ok(read.unwrap_or_default())
    }

    /// Texts of `rows`, empty for those that the column does not have.
    pub(super) fn read_texts(&self, name: &str, rows: Range<u64>) -> Result<Vec<String>> {
        let count = (rows.end - rows.start) as usize;
        let read = self.with_dataset(name, |dataset, shape| {
            let place = self.dataset_place(name);
            let fail = |error| self.file.format_error(&place, error);
            let datatype = dataset.datatype().map_err(fail)?;
            if !matches!(
                datatype,
                Datatype::VariableLength {
                    is_string: true,
                    ..
                }
            ) || shape.element_bytes != 16
                || shape.dims.len() != 1
            {
                return Err(self
                    .file
                    .damaged_error(&place, "it is not a column of texts".into()));
            }
            let elements = dataset
                .read_raw_rows(rows.start, rows.end - rows.start)
                .map_err(fail)?;
            TextReader::new(&self.file.source)
                .read_texts(&elements)
                .map_err(|error| fail(error.into()))
        })?;
        let mut texts = read.unwrap_or_default();
        texts.resize(count, String::new());
        Ok(texts)
    }

    /// Numbers of `rows`, 0 for those that the column does not have.
    pub(super) fn read_numbers(&self, name: &str, rows: Range<u64>) -> Result<Vec<f64>> {
        let count = (rows.end - rows.start) as usize;
        let read = self.with_dataset(name, |dataset, shape| {
            if shape.dims.len() != 1 {
                return Err(self.file.damaged_error(
                    &self.dataset_place(name),
                    "it is not a column of numbers".into(),
                ));
            }
            dataset
                .read_f64_rows(rows.start, rows.end - rows.start)
                .map_err(|error| self.file.format_error(&self.dataset_place(name), error))
        })?;
        let mut numbers = read.unwrap_or_default();
        numbers.resize(count, 0.0);
        Ok(numbers)
    }

    /// Four integer fields of a compound column, 0 for rows that it does not have.
    pub(super) fn read_fields(
        &self,
        name: &str,
        rows: Range<u64>,
        fields: [&str; 4],
    ) -> Result<Vec<[i64; 4]>> {
        let count = (rows.end - rows.start) as usize;
        let read = self.with_dataset(name, |dataset, shape| {
            let place = self.dataset_place(name);
            let fail = |error| self.file.format_error(&place, error);
            let datatype = dataset.datatype().map_err(fail)?;
            let Some(places) = field_places(&datatype, fields).filter(|_| shape.dims.len() == 1)
            else {
                return Err(self.file.damaged_error(
                    &place,
                    format!("it lacks integers named {}", fields.join(", ")),
                ));
            };
            let raw = dataset
                .read_raw_rows(rows.start, rows.end - rows.start)
                .map_err(fail)?;
            let row = |bytes: &[u8]| places.map(|place| place.value_in(bytes));
            Ok(raw
                .chunks_exact(shape.element_bytes as usize)
                .map(row)
                .collect::<Vec<_>>())
        })?;
        let mut values = read.unwrap_or_default();
        values.resize(count, [0; 4]);
        Ok(values)
    }

    /// Embeddings of `rows`: numbers of all rows one after the other, and how many a row has.
    pub(super) fn read_embeddings(&self, rows: Range<u64>) -> Result<(Vec<f32>, usize)> {
        let name = "embeddings";
        let read = self.with_dataset(name, |dataset, shape| {
            let place = self.dataset_place(name);
            let [_, length] = shape.dims[..] else {
                return Err(self
                    .file
                    .damaged_error(&place, "it is not a table of numbers".into()));
            };
            let numbers = dataset
                .read_f32_rows(rows.start, rows.end - rows.start)
                .map_err(|error| self.file.format_error(&place, error))?;
            Ok((numbers, length as usize))
        })?;
        Ok(read.unwrap_or_default())
    }

    /// Reads pairs of texts at (offset, length, offset, length) of a byte column.
    pub(super) fn read_text_pairs(
        &self,
        name: &str,
        ranges: &[[i64; 4]],
    ) -> Result<Vec<[String; 2]>> {
        let place = self.dataset_place(name);
        let length = self.dataset_rows(name)?;
        let bad = |range: &Range<u64>| {
            let what = format!(
                "a row refers to bytes {}..{}, but there are {length}",
                range.start, range.end
            );
            self.file.damaged_error(&place, what)
        };
        let mut parts: Vec<(Range<u64>, usize)> = Vec::with_capacity(ranges.len() * 2);
        let mut total = 0_u64;
        for (row, [first_start, first_length, second_start, second_length]) in
            ranges.iter().enumerate()
        {
            for (part, (start, length)) in
                [(first_start, first_length), (second_start, second_length)]
                    .into_iter()
                    .enumerate()
            {
                let (start, length) = (*start as u64, *length as u64);
                total = total.saturating_add(length);
                if length > 0 {
                    parts.push((start..start.saturating_add(length), row * 2 + part));
                }
            }
        }
        if total
            > length
                .saturating_mul(2)
                .saturating_add(max_content_bytes(0))
        {
            return Err(self.file.damaged_error(
                &place,
                format!("rows refer to {total} bytes, but there are {length}"),
            ));
        }
        parts.sort_unstable_by_key(|(range, _)| range.start);
        let mut texts = vec![[String::new(), String::new()]; ranges.len()];
        let mut next = 0;
        while let Some((first, _)) = parts.get(next) {
            let mut span = first.clone();
            let mut last = next;
            while let Some((range, _)) = parts
                .get(last)
                .filter(|(range, _)| range.start <= span.end + MAX_GAP_BYTES)
            {
                span.end = span.end.max(range.end);
                last += 1;
            }
            if span.end > length {
                return Err(bad(&span));
            }
            let bytes = self.read_raw_rows(name, span.clone())?;
            if bytes.len() as u64 != span.end - span.start {
                return Err(self
                    .file
                    .damaged_error(&place, "it is not a column of bytes".into()));
            }
            for (range, target) in &parts[next..last] {
                let text =
                    &bytes[(range.start - span.start) as usize..(range.end - span.start) as usize];
                texts[target / 2][target % 2] = String::from_utf8_lossy(text).into_owned();
            }
            next = last;
        }
        Ok(texts)
    }
}
