//! Carrying over objects of an old file: sessions that are not written anew, and what we do not know.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, Write};

use hdf5_pure::{AttrValue, Chunk, Dataset, Datatype, Group, Layout};

use super::attributes::carried_attribute;
use super::limits::CheckedShape;
use super::open::SessionFile;
use crate::error::{Error, Result};
use crate::hdf5::datatype::encode_datatype;
use crate::hdf5::group::Link;
use crate::hdf5::header::EncodedAttribute;
use crate::hdf5::index::StoredChunk;
use crate::hdf5::texts::TextReader;
use crate::hdf5::{DatasetLayout, FileWriter, Filter, Storage};
use crate::rows::AttributeValue;

/// Groups within groups that are followed.
const MAX_DEPTH: u32 = 32;
/// Bytes that are copied together.
const WINDOW_BYTES: u64 = 1 << 20;
/// Largest row that is stored in chunks.
const MAX_CHUNKED_ROW_BYTES: u64 = 1 << 20;

/// Copies objects of an old file into a new one.
pub(super) struct Copier<'a, W: Write + Seek = File> {
    pub(super) old: &'a SessionFile,
    pub(super) out: &'a mut FileWriter<W>,
    /// Path of the file being written, for errors.
    pub(super) target: &'a std::path::Path,
}

impl SessionFile {
    /// Checks that a group can be carried over with all that is in it, and returns the number of objects.
    pub(super) fn check_carry_over(
        &self,
        group: &Group,
        place: &str,
        depth: u32,
        objects: &mut u64,
    ) -> Result<()> {
        let refuse = |place: &str, what: &str| Error::NotCarriedOver {
            path: self.path().to_owned(),
            place: place.to_owned(),
            what: what.to_owned(),
        };
        // Groups may contain themselves.
        *objects += 1;
        if depth > MAX_DEPTH || *objects > self.file_bytes() / 16 {
            return Err(refuse(place, "its groups are nested too deeply"));
        }
        self.carried_attributes(place, group.attrs(), group.attr_datatypes())?;
        for (name, dataset) in self.child_datasets(group, place)? {
            let place = format!("{place}/{name}");
            *objects += 1;
            self.check_shape(&dataset, &place)?;
            let datatype = dataset
                .datatype()
                .map_err(|error| self.format_error(&place, error))?;
            if encode_datatype(&datatype).is_none() {
                return Err(refuse(
                    &place,
                    "elements of its type refer to other objects or cannot be written",
                ));
            }
            self.start_operation();
            self.carried_attributes(&place, dataset.attrs(), dataset.attr_datatypes())?;
        }
        let types = group
            .named_datatypes()
            .map_err(|error| self.format_error(place, error))?;
        if !types.is_empty() {
            return Err(refuse(place, "it contains named datatypes"));
        }
        for (name, child) in self.child_groups(group, place)? {
            self.check_carry_over(&child, &format!("{place}/{name}"), depth + 1, objects)?;
        }
        Ok(())
    }

    /// Returns attributes as they are written again, sorted by name. One that cannot be written is an error.
    fn carried_attributes(
        &self,
        place: &str,
        values: std::result::Result<std::collections::HashMap<String, AttrValue>, hdf5_pure::Error>,
        types: std::result::Result<std::collections::HashMap<String, Datatype>, hdf5_pure::Error>,
    ) -> Result<Vec<(String, AttributeValue)>> {
        let values = values.map_err(|error| self.format_error(place, error))?;
        let types = types.map_err(|error| self.format_error(place, error))?;
        let mut carried = Vec::new();
        for (name, datatype) in &types {
            let value = values
                .get(name)
                .and_then(|value| carried_attribute(value, Some(datatype)));
            let Some(value) = value else {
                let what = format!("the type of its attribute \"{name}\" cannot be written");
                return Err(Error::NotCarriedOver {
                    path: self.path().to_owned(),
                    place: place.to_owned(),
                    what,
                });
            };
            carried.push((name.clone(), value));
        }
        carried.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(carried)
    }
}

impl<W: Write + Seek> Copier<'_, W> {
    /// Copies a group with all that is in it, and returns its address.
    pub(super) fn copy_group(&mut self, group: &Group, place: &str) -> Result<u64> {
        let links = self.copy_members(group, place, &HashSet::new())?;
        let attributes = self.copy_attributes(group, place, &[])?;
        self.out
            .write_group(&links, &attributes)
            .map_err(Error::io(self.target))
    }

    /// Copies the members of a group but those named.
    pub(super) fn copy_members(
        &mut self,
        group: &Group,
        place: &str,
        except: &HashSet<&str>,
    ) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        for (name, dataset) in self.old.child_datasets(group, place)? {
            if !except.contains(name.as_str()) {
                let address = self.copy_dataset(&dataset, &format!("{place}/{name}"))?;
                links.push((name, address));
            }
        }
        for (name, child) in self.old.child_groups(group, place)? {
            if !except.contains(name.as_str()) {
                let address = self.copy_group(&child, &format!("{place}/{name}"))?;
                links.push((name, address));
            }
        }
        Ok(links)
    }

    /// Copies the attributes of a group but those named.
    pub(super) fn copy_attributes(
        &mut self,
        group: &Group,
        place: &str,
        except: &[&str],
    ) -> Result<Vec<EncodedAttribute>> {
        self.old.start_operation();
        let attributes =
            self.old
                .carried_attributes(place, group.attrs(), group.attr_datatypes())?;
        self.encode_attributes(
            attributes
                .iter()
                .filter(|(name, _)| !except.contains(&name.as_str())),
        )
    }

    fn encode_attributes<'b>(
        &mut self,
        attributes: impl Iterator<Item = &'b (String, AttributeValue)>,
    ) -> Result<Vec<EncodedAttribute>> {
        attributes
            .map(|(name, value)| self.out.encode_attribute(name, value))
            .collect::<io::Result<_>>()
            .map_err(Error::io(self.target))
    }

    fn copy_dataset(&mut self, dataset: &Dataset, place: &str) -> Result<u64> {
        let fail = |error| self.old.format_error(place, error);
        let shape = self.old.check_shape(dataset, place)?;
        let datatype = dataset.datatype().map_err(fail)?;
        let Some(datatype) = encode_datatype(&datatype) else {
            let what = "elements of its type cannot be written".to_owned();
            return Err(Error::NotCarriedOver {
                path: self.old.path().to_owned(),
                place: place.to_owned(),
                what,
            });
        };
        self.old.start_operation();
        let attributes =
            self.old
                .carried_attributes(place, dataset.attrs(), dataset.attr_datatypes())?;
        let attributes = self.encode_attributes(attributes.iter())?;
        let chunk_rows = shape
            .chunk_rows
            .filter(|_| !shape.dims.is_empty() && shape.row_bytes <= MAX_CHUNKED_ROW_BYTES);
        let mut layout = DatasetLayout {
            dims: shape.dims.clone(),
            storage: Storage::Contiguous,
            datatype,
        };
        if let Some(rows) = chunk_rows {
            if !layout.datatype.is_text
                && let Some(copied) = self.copy_chunks(dataset, place, &shape, rows, &mut layout)?
            {
                return self
                    .out
                    .write_chunked(&layout, &copied, &attributes)
                    .map_err(Error::io(self.target));
            }
            let most = (16 * WINDOW_BYTES / shape.row_bytes.max(1)).max(1);
            let filters = if dataset.filters().is_empty() {
                Vec::new()
            } else {
                Filter::package_filters(&layout.datatype)
            };
            layout.storage = Storage::Chunked {
                rows: rows.min(most),
                filters,
            };
        }
        let elements = self.read_elements(dataset, place, &shape, layout.datatype.is_text)?;
        self.out
            .write_dataset(&layout, &[&elements], &attributes)
            .map_err(Error::io(self.target))
    }

    /// Copies chunks as they are stored, without unpacking them. Returns `None` when they have another form than the writer's.
    fn copy_chunks(
        &mut self,
        dataset: &Dataset,
        place: &str,
        shape: &CheckedShape,
        rows: u64,
        layout: &mut DatasetLayout,
    ) -> Result<Option<Vec<Option<StoredChunk>>>> {
        let fail = |error| self.old.format_error(place, error);
        let Layout::Chunked { chunk_shape, .. } = dataset.layout().map_err(fail)? else {
            return Ok(None);
        };
        self.old.start_operation();
        let chunks = dataset.chunks().map_err(fail)?;
        let count = shape.row_count().div_ceil(rows);
        let chunk_bytes = rows.saturating_mul(shape.row_bytes);
        let stored: u64 = chunks
            .iter()
            .map(|chunk| chunk.storage_size)
            .fold(0, u64::saturating_add);
        let whole_rows = chunk_shape.get(1..) == shape.dims.get(1..);
        let in_range = chunks.iter().all(|chunk| {
            let first = chunk.offset.first().copied().unwrap_or(u64::MAX);
            first < shape.row_count()
                && first % rows == 0
                && chunk.storage_size <= chunk_bytes.saturating_mul(2)
                && chunk.storage_size > 0
        });
        if !whole_rows
            || !in_range
            || count > self.old.max_rows()
            || stored > self.old.file_bytes()
            || !self.has_zero_gaps(dataset, place, &chunks, rows, count)?
        {
            return Ok(None);
        }
        let filters = dataset.filter_pipeline();
        let filters = filters
            .into_iter()
            .map(|filter| Filter {
                id: filter.id,
                optional: filter.is_optional,
                values: filter.client_data,
            })
            .collect();
        layout.storage = Storage::Chunked { rows, filters };
        let mut copied = vec![None; count as usize];
        self.old.start_operation();
        for chunk in chunks {
            let packed = self
                .old
                .source
                .read_bytes(chunk.address, chunk.storage_size as usize)
                .map_err(|error| fail(error.into()))?;
            let place = self
                .out
                .append_chunk(&packed, chunk.filter_mask)
                .map_err(Error::io(self.target))?;
            if let Some(slot) = chunk
                .offset
                .first()
                .and_then(|first| copied.get_mut((first / rows) as usize))
            {
                *slot = Some(place);
            }
        }
        Ok(Some(copied))
    }

    /// Returns whether rows whose chunks are not stored are zero, as in our files. They read as the fill value, which may be another.
    fn has_zero_gaps(
        &self,
        dataset: &Dataset,
        place: &str,
        chunks: &[Chunk],
        rows: u64,
        count: u64,
    ) -> Result<bool> {
        let numbers = chunks.iter().filter_map(|chunk| chunk.offset.first());
        let stored: HashSet<u64> = numbers.map(|first| first / rows).collect();
        let Some(missing) = (0..count).find(|number| !stored.contains(number)) else {
            return Ok(stored.len() == chunks.len());
        };
        let row = dataset
            .read_raw_rows(missing * rows, 1)
            .map_err(|error| self.old.format_error(place, error))?;
        Ok(stored.len() == chunks.len() && row.iter().all(|byte| *byte == 0))
    }

    /// Reads all elements; texts are stored in the new file, and their references returned.
    fn read_elements(
        &mut self,
        dataset: &Dataset,
        place: &str,
        shape: &CheckedShape,
        is_text: bool,
    ) -> Result<Vec<u8>> {
        let fail = |error| self.old.format_error(place, error);
        self.old.check_fits_memory(shape, place)?;
        self.old.start_operation();
        let elements = dataset.read_raw().map_err(fail)?;
        if !is_text {
            return Ok(elements);
        }
        let mut references = Vec::with_capacity(elements.len());
        let window = (WINDOW_BYTES / shape.element_bytes.max(1)) as usize * 16;
        for elements in elements.chunks(window) {
            self.old.start_operation();
            let texts = TextReader::new(&self.old.source)
                .read_texts(elements)
                .map_err(|error| fail(error.into()))?;
            for text in texts {
                references.extend_from_slice(
                    &self
                        .out
                        .text_reference(&text)
                        .map_err(Error::io(self.target))?,
                );
            }
        }
        Ok(references)
    }
}
