//! Reader of object headers, links and attributes: the few structures that `inspect` needs, read without opening datasets, and what
//! that does not list (soft links, shapes of attributes).
//!
//! Everything returns `None` for what is damaged or has a form that is not understood; callers then ask `hdf5-pure`, which returns the error.
//! Offsets and lengths are checked by the source, whose allowance also bounds the time that structures take which refer to each other.

mod attribute;
mod chunk_index;
mod dense;
mod header;
mod links;
mod packed_rows;

pub(crate) use attribute::AttributeKind;
pub(crate) use header::{ObjectHeader, root_address};
pub(crate) use links::{LinkTarget, NamedLink};
pub(crate) use packed_rows::{PackedRows, Unpacker};
