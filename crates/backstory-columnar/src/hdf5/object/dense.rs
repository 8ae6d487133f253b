//! Dense storage of links and attributes: a B-tree of version 2, whose records refer to messages in a fractal heap.

use super::super::cursor::ByteCursor;
use super::super::{SharedSource, UNDEFINED_ADDRESS};
use super::header::{ObjectHeader, is_sealed};

const MAX_NODE_BYTES: usize = 1 << 20;
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Signature, version, type and checksum of a B-tree node.
const NODE_PREFIX_BYTES: usize = 10;

impl ObjectHeader {
    /// Returns the addresses of heap and tree that an info message has, with a creation order of `order_bytes` before them if it has one:
    /// `None` in it when there is no dense storage.
    pub(super) fn dense_storage(&self, kind: u8, order_bytes: usize) -> Option<Option<(u64, u64)>> {
        if !self.has_message(kind) {
            return Some(None);
        }
        let mut body = ByteCursor(self.one_message(kind)?);
        let (version, flags) = (body.take_number(1)?, body.take_number(1)?);
        if version != 0 {
            return None;
        }
        if flags & 1 != 0 {
            body.take_bytes(order_bytes)?;
        }
        let (heap, tree) = (body.take_number(8)?, body.take_number(8)?);
        Some((heap != UNDEFINED_ADDRESS).then_some((heap, tree)))
    }
}

/// Applies `use_message` to the record and the message of every entry. `record_form` is the type of the records, and the place of the heap id
/// in them.
pub(super) fn read_dense(
    source: &SharedSource,
    heap: u64,
    tree: u64,
    record_form: (u8, usize),
    mut use_message: impl FnMut(&[u8], &[u8]) -> Option<()>,
) -> Option<()> {
    let heap = FractalHeap::read_at(source, heap)?;
    let tree = RecordTree::read_at(source, tree, record_form.0)?;
    tree.visit_records(source, &mut |record| {
        use_message(
            record,
            &heap.read_message(source, record.get(record_form.1..)?)?,
        )
    })
}

/// B-tree of version 2.
struct RecordTree {
    kind: u8,
    node_bytes: usize,
    record_bytes: usize,
    depth: usize,
    root: u64,
    root_records: usize,
}

impl RecordTree {
    fn read_at(source: &SharedSource, address: u64, kind: u8) -> Option<RecordTree> {
        let bytes = source.read_bytes(address, 38).ok()?;
        if !is_sealed(&bytes) {
            return None;
        }
        let mut header = ByteCursor(&bytes);
        if header.take_bytes(6)? != [&b"BTHD\0"[..], &[kind]].concat() {
            return None;
        }
        let tree = RecordTree {
            kind,
            node_bytes: header.take_length(4)?,
            record_bytes: header.take_length(2)?,
            depth: header.take_length(2)?,
            root: {
                header.take_bytes(2)?;
                header.take_number(8)?
            },
            root_records: header.take_length(2)?,
        };
        let possible = (NODE_PREFIX_BYTES + 1..=MAX_NODE_BYTES).contains(&tree.node_bytes)
            && tree.record_bytes > 0
            && tree.depth <= 8;
        possible.then_some(tree)
    }

    fn visit_records(
        &self,
        source: &SharedSource,
        visit: &mut impl FnMut(&[u8]) -> Option<()>,
    ) -> Option<()> {
        if self.root == UNDEFINED_ADDRESS || self.root_records == 0 {
            return Some(());
        }
        // Sizes of the counts of records in a child, and below it, by the height of the node that has them.
        let room = self.node_bytes - NODE_PREFIX_BYTES;
        let leaf_records = (room / self.record_bytes) as u64;
        let count_bytes = encoded_bytes(leaf_records);
        let mut most = leaf_records;
        let mut pointer_bytes = Vec::new();
        let mut total_bytes = 0;
        for _ in 0..self.depth {
            let pointer = 8 + count_bytes + total_bytes;
            pointer_bytes.push((pointer, total_bytes));
            let records = (room.checked_sub(pointer)? / (self.record_bytes + pointer)) as u64;
            most = (records + 1).checked_mul(most)?.checked_add(records)?;
            total_bytes = encoded_bytes(most);
        }
        let shape = NodeShape {
            count_bytes,
            pointer_bytes,
        };
        self.visit_node(
            source,
            &shape,
            self.depth,
            self.root,
            self.root_records,
            visit,
        )
    }

    fn visit_node(
        &self,
        source: &SharedSource,
        shape: &NodeShape,
        height: usize,
        address: u64,
        records: usize,
        visit: &mut impl FnMut(&[u8]) -> Option<()>,
    ) -> Option<()> {
        let below = height.checked_sub(1);
        let pointers = match below {
            Some(below) => (records + 1) * shape.pointer_bytes.get(below)?.0,
            None => 0,
        };
        let length = NODE_PREFIX_BYTES + records * self.record_bytes + pointers;
        if length > self.node_bytes {
            return None;
        }
        let bytes = source.read_bytes(address, length).ok()?;
        let signature: &[u8] = if below.is_some() {
            b"BTIN\0"
        } else {
            b"BTLF\0"
        };
        let mut node = ByteCursor(&bytes);
        if !is_sealed(&bytes)
            || node.take_bytes(5)? != signature
            || node.take_number(1)? != u64::from(self.kind)
        {
            return None;
        }
        for _ in 0..records {
            visit(node.take_bytes(self.record_bytes)?)?;
        }
        if let Some(below) = below {
            for _ in 0..=records {
                let child = node.take_number(8)?;
                let count = node.take_length(shape.count_bytes)?;
                node.take_bytes(shape.pointer_bytes.get(below)?.1)?;
                self.visit_node(source, shape, below, child, count, visit)?;
            }
        }
        Some(())
    }
}

/// Sizes in the nodes of a B-tree.
struct NodeShape {
    count_bytes: usize,
    /// Bytes of a pointer to a child, and of the total in it, by the height of the child.
    pointer_bytes: Vec<(usize, usize)>,
}

/// Bytes that numbers up to `limit` are stored in.
fn encoded_bytes(limit: u64) -> usize {
    limit.max(1).ilog2() as usize / 8 + 1
}

/// Heap of messages.
struct FractalHeap {
    offset_bytes: usize,
    length_bytes: usize,
    width: u64,
    first_block_bytes: u64,
    max_direct_bytes: u64,
    root: u64,
    root_rows: u64,
    /// Bytes of a block of pointers before these.
    indirect_prefix: u64,
}

impl FractalHeap {
    fn read_at(source: &SharedSource, address: u64) -> Option<FractalHeap> {
        let bytes = source.read_bytes(address, 146).ok()?;
        let mut header = ByteCursor(&bytes);
        if !is_sealed(&bytes) || header.take_bytes(5)? != b"FRHP\0" {
            return None;
        }
        header.take_bytes(2)?;
        // Blocks that go through filters have a longer header.
        if header.take_number(2)? != 0 {
            return None;
        }
        header.take_bytes(1)?;
        let max_managed = header.take_number(4)?;
        header.take_bytes(12 * 8)?;
        let width = header.take_number(2)?;
        let first_block_bytes = header.take_number(8)?;
        let max_direct_bytes = header.take_number(8)?;
        let heap_bits = header.take_length(2)?;
        header.take_bytes(2)?;
        let root = header.take_number(8)?;
        let root_rows = header.take_number(2)?;
        let possible = (1..=1024).contains(&width)
            && first_block_bytes.is_power_of_two()
            && max_direct_bytes.is_power_of_two()
            && (first_block_bytes..=1 << 32).contains(&max_direct_bytes)
            && (1..=64).contains(&heap_bits)
            && root_rows <= 64;
        let offset_bytes = heap_bits.div_ceil(8);
        possible.then_some(FractalHeap {
            offset_bytes,
            length_bytes: encoded_bytes(max_direct_bytes.min(max_managed.max(1))),
            width,
            first_block_bytes,
            max_direct_bytes,
            root,
            root_rows,
            indirect_prefix: 13 + offset_bytes as u64,
        })
    }

    /// Reads the message of a heap id.
    fn read_message(&self, source: &SharedSource, id: &[u8]) -> Option<Vec<u8>> {
        let mut id = ByteCursor(id);
        // Version 0, in a block that the heap manages.
        if id.take_number(1)? != 0 {
            return None;
        }
        let offset = id.take_number(self.offset_bytes)?;
        let length = id.take_length(self.length_bytes)?;
        if length > MAX_MESSAGE_BYTES {
            return None;
        }
        let (block, place) = if self.root_rows == 0 {
            (self.root, offset)
        } else {
            self.find_block(source, offset)?
        };
        source.read_bytes(block.checked_add(place)?, length).ok()
    }

    /// Returns the address of the block that has an offset of the heap, and the place in it.
    fn find_block(&self, source: &SharedSource, mut offset: u64) -> Option<(u64, u64)> {
        let mut address = self.root;
        // Each block of pointers is smaller than the one above.
        for _ in 0..64 {
            let (row, row_start, block_bytes) = self.find_row(offset)?;
            let column = (offset - row_start) / block_bytes;
            let pointer = address
                .checked_add(self.indirect_prefix)?
                .checked_add((row * self.width + column) * 8)?;
            let child = little_number(source, pointer)?;
            offset = offset - row_start - column * block_bytes;
            if block_bytes <= self.max_direct_bytes {
                return Some((child, offset));
            }
            address = child;
        }
        None
    }

    /// Returns the row of blocks that has an offset, where it starts, and the size of its blocks.
    fn find_row(&self, offset: u64) -> Option<(u64, u64, u64)> {
        let (mut start, mut block_bytes) = (0_u64, self.first_block_bytes);
        for row in 0..64 {
            // The first two rows have blocks of the same size.
            if row > 1 {
                block_bytes = block_bytes.checked_mul(2)?;
            }
            let end = start.checked_add(block_bytes.checked_mul(self.width)?)?;
            if offset < end {
                return Some((row, start, block_bytes));
            }
            start = end;
        }
        None
    }
}

fn little_number(source: &SharedSource, address: u64) -> Option<u64> {
    let bytes = source.read_bytes(address, 8).ok()?;
    ByteCursor(&bytes).take_number(8)
}
