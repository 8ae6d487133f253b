//! Writing artifacts and logs of a session.

use std::io::{self, Seek, Write};

use super::frames::{pack_frame, plan_frames};
use super::save::SessionWriter;
use super::schema::frame_type;
use crate::hdf5::chunks::map_in_order;
use crate::hdf5::datatype::{EncodedType, integer_type};
use crate::hdf5::group::Link;
use crate::hdf5::header::EncodedAttribute;
use crate::hdf5::{DatasetLayout, Storage};
use crate::rows::{Artifact, AttributeValue, LogFile, Message};

impl<W: Write + Seek> SessionWriter<'_, W> {
    pub(super) fn write_artifacts(
        &mut self,
        artifacts: &[Artifact],
        mut links: Vec<Link>,
    ) -> io::Result<u64> {
        for artifact in artifacts {
            let mut attributes = Vec::new();
            for (name, text) in [
                ("media_type", &artifact.media_type),
                ("origin", &artifact.origin),
            ] {
                if !text.is_empty() {
                    attributes.push(
                        self.out
                            .encode_attribute(name, &AttributeValue::Text(text.clone()))?,
                    );
                }
            }
            links.push((
                artifact.name.clone(),
                self.write_bytes(
                    integer_type(1, false),
                    artifact.bytes.len(),
                    &[&artifact.bytes],
                    &attributes,
                )?,
            ));
        }
        self.out.write_group(&links, &[])
    }

    fn write_bytes(
        &mut self,
        datatype: EncodedType,
        elements: usize,
        pieces: &[&[u8]],
        attributes: &[EncodedAttribute],
    ) -> io::Result<u64> {
        let layout = DatasetLayout {
            datatype,
            dims: vec![elements as u64],
            storage: Storage::Contiguous,
        };
        self.out.write_dataset(&layout, pieces, attributes)
    }

    pub(super) fn write_logs(&mut self, logs: &[LogFile], packed: &[PackedLog]) -> io::Result<u64> {
        let mut links = Vec::new();
        for (number, (log, packed)) in logs.iter().zip(packed).enumerate() {
            let values = [
                ("path", AttributeValue::Text(log.path.clone())),
                ("agent", AttributeValue::Text(log.agent.clone())),
                ("length", AttributeValue::Integer(log.bytes.len() as i64)),
            ];
            let attributes: Vec<_> = values
                .iter()
                .map(|(name, value)| self.out.encode_attribute(name, value))
                .collect::<io::Result<_>>()?;
            let frames: Vec<&[u8]> = packed.frames.iter().map(Vec::as_slice).collect();
            let length = frames.iter().map(|frame| frame.len()).sum();
            links.push((
                number.to_string(),
                self.write_bytes(integer_type(1, false), length, &frames, &attributes)?,
            ));
            links.push((
                format!("{number}_index"),
                self.write_bytes(frame_type(), frames.len(), &[&packed.index], &[])?,
            ));
        }
        self.out.write_group(&links, &[])
    }
}

/// Frames of a log, and the rows of their index.
pub(super) struct PackedLog {
    frames: Vec<Vec<u8>>,
    index: Vec<u8>,
}

/// Packs logs into frames that refer to the contents of these messages.
pub(super) fn pack_logs(
    logs: &[LogFile],
    messages: &[Message],
    threads: usize,
) -> io::Result<Vec<PackedLog>> {
    let content_ends: Vec<u64> = messages
        .iter()
        .scan(0, |end, row| {
            *end += (row.text.len() + row.json.len()) as u64;
            Some(*end)
        })
        .collect();
    let pack_log = |log: &LogFile| {
        let plans = plan_frames(log, &content_ends);
        let packed = map_in_order(threads, &plans, |plan| {
            pack_frame(log, plan, messages, &content_ends)
        })?;
        let mut index = Vec::new();
        for (plan, (frame, prefix)) in plans.iter().zip(&packed) {
            for value in [
                plan.raw.len() as u64,
                frame.len() as u64,
                prefix.start,
                prefix.end - prefix.start,
            ] {
                index.extend_from_slice(&value.to_le_bytes());
            }
        }
        let frames = packed.into_iter().map(|(frame, _)| frame).collect();
        Ok(PackedLog { frames, index })
    };
    logs.iter().map(pack_log).collect()
}
