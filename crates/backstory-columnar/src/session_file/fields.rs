//! Integers in compounds.

use hdf5_pure::{Datatype, DatatypeByteOrder};

use crate::hdf5::cursor::little_endian;

/// Place of an integer in a compound.
#[derive(Clone, Copy)]
pub(super) struct FieldPlace {
    offset: usize,
    size: usize,
    signed: bool,
}

impl FieldPlace {
    /// Returns the integer in a row.
    pub(super) fn value_in(self, row: &[u8]) -> i64 {
        let bytes = &row[self.offset..self.offset + self.size];
        let value = little_endian(bytes);
        let unused = 64 - 8 * self.size as u32;
        if self.signed {
            (value << unused) as i64 >> unused
        } else {
            value as i64
        }
    }
}

/// Returns the places of integers by name, or `None` when the compound lacks one.
pub(super) fn field_places(datatype: &Datatype, fields: [&str; 4]) -> Option<[FieldPlace; 4]> {
    let Datatype::Compound {
        size: total,
        members,
    } = datatype
    else {
        return None;
    };
    let mut places = [FieldPlace {
        offset: 0,
        size: 0,
        signed: false,
    }; 4];
    for (place, field) in places.iter_mut().zip(fields) {
        let member = members.iter().find(|member| member.name == field)?;
        let Datatype::FixedPoint {
            size,
            byte_order: DatatypeByteOrder::LittleEndian,
            layout,
        } = &member.datatype
        else {
            return None;
        };
        let end = member.byte_offset.checked_add(u64::from(*size))?;
        if !(1..=8).contains(size) || end > u64::from(*total) {
            return None;
        }
        *place = FieldPlace {
            offset: member.byte_offset as usize,
            size: *size as usize,
            signed: layout.signed,
        };
    }
    Some(places)
}
