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

    pub(super) fn write_logs(&mut self, logs: &[LogFile], messages: &[Message]) -> io::Result<u64> {
        let content_ends: Vec<u64> = messages
            .iter()
            .scan(0, |end, row| {
                *end += (row.text.len() + row.json.len()) as u64;
                Some(*end)
            })
            .collect();
        let mut links = Vec::new();
        for (number, log) in logs.iter().enumerate() {
            let plans = plan_frames(log, &content_ends);
            let frames = map_in_order(self.out.threads(), &plans, |plan| {
                pack_frame(log, plan, messages, &content_ends)
            })?;
            let mut index = Vec::new();
            for (plan, (packed, prefix)) in plans.iter().zip(&frames) {
                for value in [
                    plan.raw.len() as u64,
                    packed.len() as u64,
                    prefix.start,
                    prefix.end - prefix.start,
                ] {
                    index.extend_from_slice(&value.to_le_bytes());
                }
            }
            let values = [
                ("path", AttributeValue::Text(log.path.clone())),
                ("agent", AttributeValue::Text(log.agent.clone())),
                ("length", AttributeValue::Integer(log.bytes.len() as i64)),
            ];
            let attributes: Vec<_> = values
                .iter()
                .map(|(name, value)| self.out.encode_attribute(name, value))
                .collect::<io::Result<_>>()?;
            let packed: Vec<&[u8]> = frames.iter().map(|(packed, _)| packed.as_slice()).collect();
            let length = packed.iter().map(|frame| frame.len()).sum();
            links.push((
                number.to_string(),
                self.write_bytes(integer_type(1, false), length, &packed, &attributes)?,
            ));
            links.push((
                format!("{number}_index"),
                self.write_bytes(frame_type(), frames.len(), &[&index], &[])?,
            ));
        }
        self.out.write_group(&links, &[])
    }
}
