//! Writing the columns of one session.

use std::fs::File;
use std::io::{self, Seek, Write};

use super::save_files::pack_logs;
use super::schema::{
    ARTIFACTS, CALL_FIELDS, CALL_TEXTS, CHUNK_BYTES, CHUNK_ROWS, CONTENT_FIELDS, LOG,
    MESSAGE_TEXTS, MESSAGES, RESULT_DATA, ROWS_USED, TOOL_CALLS, range_type, usage_type,
};
use crate::hdf5::datatype::{EncodedType, double_type, integer_type, single_type, text_type};
use crate::hdf5::group::Link;
use crate::hdf5::header::EncodedAttribute;
use crate::hdf5::index::StoredChunk;
use crate::hdf5::{DatasetLayout, FileWriter, Filter, Storage};
use crate::rows::{AttributeValue, Message, SessionAttributes, SessionColumns, ToolCall};

/// Members carried over from the old session.
#[derive(Default)]
pub(super) struct CarriedMembers {
    pub(super) session: Vec<Link>,
    pub(super) messages: CarriedTable,
    pub(super) tool_calls: CarriedTable,
    pub(super) artifacts: Vec<Link>,
    pub(super) result_data: Option<u64>,
}

/// Parts of `messages` or `tool_calls` that are carried over.
#[derive(Default)]
pub(super) struct CarriedTable {
    /// Members and attributes that we do not write.
    pub(super) links: Vec<Link>,
    pub(super) attributes: Vec<EncodedAttribute>,
    /// Chunks that the contents begin with.
    pub(super) chunks: Vec<StoredChunk>,
}

/// Writes sessions into a file.
pub(super) struct SessionWriter<'w, W: Write + Seek = File> {
    pub(super) out: &'w mut FileWriter<W>,
}

impl<W: Write + Seek> SessionWriter<'_, W> {
    /// Writes a session and returns the address of its group.
    pub(super) fn write_session(
        &mut self,
        session: &SessionColumns,
        carried: CarriedMembers,
    ) -> io::Result<u64> {
        // What takes longest is done beside the rest.
        let threads = self.out.threads();
        std::thread::scope(|scope| {
            let packing = scope.spawn(|| pack_logs(&session.logs, &session.messages, threads));
            let mut links = carried.session;
            let messages = self.write_messages(&session.messages, carried.messages)?;
            links.push((MESSAGES.into(), messages));
            let calls =
                self.write_calls(&session.tool_calls, carried.tool_calls, carried.result_data)?;
            links.push((TOOL_CALLS.into(), calls));
            links.push((
                ARTIFACTS.into(),
                self.write_artifacts(&session.artifacts, carried.artifacts)?,
            ));
            let packed = packing.join();
            let packed = packed.map_err(|_| io::Error::other("a thread ended too early"))??;
            if !packed.is_empty() {
                links.push((LOG.into(), self.write_logs(&session.logs, &packed)?));
            }
            let attributes = self.session_attributes(&session.attributes)?;
            self.out.write_group(&links, &attributes)
        })
    }

    fn session_attributes(
        &mut self,
        attributes: &SessionAttributes,
    ) -> io::Result<Vec<EncodedAttribute>> {
        let text = |text: &String| Some(AttributeValue::Text(text.clone()));
        let text_or_empty =
            |text: &Option<String>| Some(AttributeValue::Text(text.clone().unwrap_or_default()));
        let values = [
            ("model", text(&attributes.model)),
            (
                "created_at",
                Some(AttributeValue::Float(attributes.created_at)),
            ),
            ("summary", text(&attributes.summary)),
            ("cwd", text(&attributes.cwd)),
            ("git_branch", text(&attributes.git_branch)),
            ("agent_version", text(&attributes.agent_version)),
            (
                "agent",
                text(&attributes.agent).filter(|_| !attributes.agent.is_empty()),
            ),
            (
                "permission_mode",
                text_or_empty(&attributes.permission_mode),
            ),
            (
                "session_id_original",
                attributes.session_id_original.as_ref().and_then(text),
            ),
            ("missing", text_or_empty(&attributes.missing)),
            (
                "embedding_model",
                text_or_empty(&attributes.embedding_model),
            ),
        ];
        let ours = values
            .iter()
            .filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        let others = attributes
            .other
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        ours.chain(others)
            .map(|(name, value)| self.out.encode_attribute(name, value))
            .collect()
    }

    fn write_messages(&mut self, messages: &[Message], carried: CarriedTable) -> io::Result<u64> {
        let CarriedTable {
            mut links,
            mut attributes,
            chunks,
        } = carried;
        let texts: [fn(&Message) -> &String; 5] = [
            |row| &row.uuid,
            |row| &row.parent_uuid,
            |row| &row.kind,
            |row| &row.role,
            |row| &row.model,
        ];
        for (name, text) in MESSAGE_TEXTS.into_iter().zip(texts) {
            links.push((name.into(), self.write_texts(messages, text)?));
        }
        links.push((
            "timestamp".into(),
            self.write_rows(double_type(), messages, |row| row.timestamp.to_le_bytes())?,
        ));
        let usage = |row: &Message| {
            let usage = &row.usage;
            concat_fields([
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_creation_input_tokens,
                usage.cache_read_input_tokens,
            ])
        };
        links.push((
            "usage".into(),
            self.write_rows(usage_type(), messages, usage)?,
        ));
        let contents: Vec<[&str; 2]> = messages
            .iter()
            .map(|row| [row.text.as_str(), row.json.as_str()])
            .collect();
        self.write_contents(
            &contents,
            ("content_index", CONTENT_FIELDS),
            "content_bytes",
            chunks,
            &mut links,
        )?;
        links.push((
            "has_embedding".into(),
            self.write_rows(integer_type(1, false), messages, |row| {
                [u8::from(row.embedding.is_some())]
            })?,
        ));
        links.push((
            "seq".into(),
            self.write_rows(integer_type(4, false), messages, |row| {
                row.seq.to_le_bytes()
            })?,
        ));
        if let Some(length) = messages
            .iter()
            .find_map(|row| row.embedding.as_ref().map(Vec::len))
        {
            links.push((
                "embeddings".into(),
                self.write_embeddings(messages, length)?,
            ));
        }
        attributes.push(
            self.out
                .encode_attribute(ROWS_USED, &AttributeValue::Integer(messages.len() as i64))?,
        );
        self.out.write_group(&links, &attributes)
    }

    fn write_calls(
        &mut self,
        calls: &[ToolCall],
        carried: CarriedTable,
        result_data: Option<u64>,
    ) -> io::Result<u64> {
        let CarriedTable {
            mut links,
            mut attributes,
            chunks,
        } = carried;
        let texts: [fn(&ToolCall) -> &String; 4] = [
            |row| &row.tool_use_id,
            |row| &row.message_uuid,
            |row| &row.name,
            |row| &row.result_uuid,
        ];
        for (name, text) in CALL_TEXTS.into_iter().zip(texts) {
            links.push((name.into(), self.write_texts(calls, text)?));
        }
        links.push((
            "timestamp".into(),
            self.write_rows(double_type(), calls, |row| row.timestamp.to_le_bytes())?,
        ));
        links.push((
            "is_error".into(),
            self.write_rows(integer_type(1, false), calls, |row| {
                [u8::from(row.is_error)]
            })?,
        ));
        let contents: Vec<[&str; 2]> = calls
            .iter()
            .map(|row| [row.args.as_str(), row.result.as_str()])
            .collect();
        self.write_contents(
            &contents,
            ("call_index", CALL_FIELDS),
            "call_bytes",
            chunks,
            &mut links,
        )?;
        let result_data = match result_data {
            Some(address) => address,
            None => self.out.write_group(&[], &[])?,
        };
        links.push((RESULT_DATA.into(), result_data));
        attributes.push(
            self.out
                .encode_attribute(ROWS_USED, &AttributeValue::Integer(calls.len() as i64))?,
        );
        self.out.write_group(&links, &attributes)
    }

    fn write_texts<T>(&mut self, rows: &[T], text: impl Fn(&T) -> &String) -> io::Result<u64> {
        let mut elements = Vec::with_capacity(rows.len() * 16);
        for row in rows {
            elements.extend_from_slice(&self.out.text_reference(text(row))?);
        }
        self.write_column(text_type(), rows.len(), CHUNK_ROWS, &[&elements])
    }

    fn write_rows<T, const N: usize>(
        &mut self,
        datatype: EncodedType,
        rows: &[T],
        value: impl Fn(&T) -> [u8; N],
    ) -> io::Result<u64> {
        let elements: Vec<u8> = rows.iter().flat_map(value).collect();
        self.write_column(datatype, rows.len(), CHUNK_ROWS, &[&elements])
    }

    fn write_column(
        &mut self,
        datatype: EncodedType,
        rows: usize,
        chunk_rows: u64,
        pieces: &[&[u8]],
    ) -> io::Result<u64> {
        let layout = column_layout(datatype, rows as u64, chunk_rows);
        self.out.write_dataset(&layout, pieces, &[])
    }

    /// Writes two texts a row: their places, and the bytes, of which the first `chunks` are stored already.
    fn write_contents(
        &mut self,
        rows: &[[&str; 2]],
        index: (&str, [&str; 4]),
        bytes: &str,
        chunks: Vec<StoredChunk>,
        links: &mut Vec<Link>,
    ) -> io::Result<()> {
        let mut places = Vec::with_capacity(rows.len() * 24);
        let mut end = 0_u64;
        for text in rows.iter().flatten() {
            let length = u32::try_from(text.len()).map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidInput, "a row holds more than 4 GiB")
            })?;
            places.extend_from_slice(&end.to_le_bytes());
            places.extend_from_slice(&length.to_le_bytes());
            end += u64::from(length);
        }
        links.push((
            index.0.into(),
            self.write_column(range_type(index.1), rows.len(), CHUNK_ROWS, &[&places])?,
        ));
        let pieces: Vec<&[u8]> = rows.iter().flatten().map(|text| text.as_bytes()).collect();
        let layout = column_layout(integer_type(1, false), end, CHUNK_BYTES);
        let chunks = chunks.into_iter().map(Some).collect();
        let column = self
            .out
            .write_further_chunks(&layout, chunks, &pieces, &[])?;
        links.push((bytes.into(), column));
        Ok(())
    }

    fn write_embeddings(&mut self, messages: &[Message], length: usize) -> io::Result<u64> {
        let mut numbers = Vec::with_capacity(messages.len() * length * 4);
        for message in messages {
            match &message.embedding {
                Some(embedding) => {
                    numbers.extend(embedding.iter().flat_map(|number| number.to_le_bytes()));
                }
                None => numbers.resize(numbers.len() + length * 4, 0),
            }
        }
        let storage = Storage::Chunked {
            rows: CHUNK_ROWS,
            filters: Vec::new(),
        };
        let layout = DatasetLayout {
            datatype: single_type(),
            dims: vec![messages.len() as u64, length as u64],
            storage,
        };
        self.out.write_dataset(&layout, &[&numbers], &[])
    }
}

/// Layout of a column as the package has it.
fn column_layout(datatype: EncodedType, rows: u64, chunk_rows: u64) -> DatasetLayout {
    let filters = Filter::package_filters(&datatype);
    let storage = Storage::Chunked {
        rows: chunk_rows,
        filters,
    };
    DatasetLayout {
        datatype,
        dims: vec![rows],
        storage,
    }
}

fn concat_fields(values: [i64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}
