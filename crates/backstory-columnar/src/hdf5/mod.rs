//! HDF5 files: a writer of the structures that session files consist of, and a byte source that lets `hdf5-pure` read files of libhdf5 2.0.
//!
//! Nothing here knows what a session is. The writer appends: members are written before the group that links them, and only the superblock
//! and the collection of texts that is being filled are written twice.

pub(crate) mod checksum;
pub(crate) mod chunks;
pub(crate) mod cursor;
pub(crate) mod datatype;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod heap;
pub(crate) mod index;
mod mend;
pub(crate) mod object;
mod output;
pub(crate) mod source;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
pub(crate) mod writer;

pub(crate) use source::SharedSource;
pub(crate) use writer::{DatasetLayout, FileWriter, Filter, Storage};

/// Address that HDF5 reads as "not allocated".
pub(crate) const UNDEFINED_ADDRESS: u64 = u64::MAX;
