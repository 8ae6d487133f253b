//! Schema depth check before the `parquet` crate parses a footer.
//!
//! The crate bounds lists by the bytes that are left, but builds and drops nested groups of the schema by recursion: a footer of some
//! hundred kilobytes overflows the stack. So the depth of the schema is found here, without recursion, in Thrift's compact protocol.

/// Groups may be nested as deep as that.
const MAX_SCHEMA_DEPTH: usize = 100;

/// Values that are skipped may be nested as deep as that: one more than any Parquet footer needs.
const MAX_SKIP_DEPTH: usize = 16;

/// Number of the schema in the footer, and of the number of children in an element of the schema.
const SCHEMA_FIELD: i64 = 2;
const CHILDREN_FIELD: i64 = 5;

/// Types of the compact protocol.
const TYPE_STOP: u8 = 0;
const TYPE_TRUE: u8 = 1;
const TYPE_FALSE: u8 = 2;
const TYPE_BYTE: u8 = 3;
const TYPE_I32: u8 = 5;
const TYPE_I64: u8 = 6;
const TYPE_DOUBLE: u8 = 7;
const TYPE_BINARY: u8 = 8;
const TYPE_LIST: u8 = 9;
const TYPE_SET: u8 = 10;
const TYPE_STRUCT: u8 = 12;

/// Returns the reason if a schema is too deep or malformed.
pub(super) fn check_schema_depth(footer: &[u8]) -> Result<(), &'static str> {
    let mut input = Input { bytes: footer };
    let mut field = 0;
    while let Some(kind) = input.next_field(&mut field)? {
        if field == SCHEMA_FIELD && kind == TYPE_LIST {
            check_elements(&mut input)?;
        } else {
            input.skip_value(kind, 0)?;
        }
    }
    Ok(())
}

/// Elements of the schema are the nodes of a tree, each before its children.
fn check_elements(input: &mut Input<'_>) -> Result<(), &'static str> {
    let (kind, count) = input.take_list_header()?;
    if kind != TYPE_STRUCT {
        return Err("its schema is not a list of elements");
    }
    // Children that are still to come, of every group that is not complete.
    let mut open: Vec<u64> = Vec::new();
    for _ in 0..count {
        let mut children = 0;
        let mut field = 0;
        while let Some(kind) = input.next_field(&mut field)? {
            if field == CHILDREN_FIELD && kind == TYPE_I32 {
                children = input.take_zigzag()?;
            } else {
                input.skip_value(kind, 0)?;
            }
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if let Ok(children @ 1..) = u64::try_from(children) {
            open.push(children);
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err("its schema is nested too deeply");
        }
    }
    Ok(())
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl Input<'_> {
    fn take_byte(&mut self) -> Result<u8, &'static str> {
        let (first, rest) = self
            .bytes
            .split_first()
            .ok_or("its footer ends too early")?;
        self.bytes = rest;
        Ok(*first)
    }

    fn take_varint(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take_byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("its footer has a number that is too long")
    }

    fn take_zigzag(&mut self) -> Result<i64, &'static str> {
        let number = self.take_varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip_bytes(&mut self, count: u64) -> Result<(), &'static str> {
        let count = usize::try_from(count).map_err(|_| "its footer ends too early")?;
        self.bytes = self.bytes.get(count..).ok_or("its footer ends too early")?;
        Ok(())
    }

    /// Returns the type of the next field, whose number takes the place of the one before; `None` at the end of the struct.
    fn next_field(&mut self, number: &mut i64) -> Result<Option<u8>, &'static str> {
        let header = self.take_byte()?;
        let kind = header & 0x0f;
        if kind == TYPE_STOP {
            return Ok(None);
        }
        *number = match header >> 4 {
            0 => self.take_zigzag()?,
            step => number.saturating_add(i64::from(step)),
        };
        Ok(Some(kind))
    }

    /// Returns type and number of the elements of a list, which cannot be more than there are bytes.
    fn take_list_header(&mut self) -> Result<(u8, u64), &'static str> {
        let header = self.take_byte()?;
        let count = match header >> 4 {
            15 => self.take_varint()?,
            count => u64::from(count),
        };
        if count > self.bytes.len() as u64 {
            return Err("its footer has a list that is too long");
        }
        Ok((header & 0x0f, count))
    }

    fn skip_value(&mut self, kind: u8, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_SKIP_DEPTH {
            return Err("its footer is nested too deeply");
        }
        match kind {
            TYPE_TRUE | TYPE_FALSE => Ok(()),
            TYPE_BYTE => self.skip_bytes(1),
            4..=TYPE_I64 => self.take_varint().map(|_| ()),
            TYPE_DOUBLE => self.skip_bytes(8),
            TYPE_BINARY => {
                let length = self.take_varint()?;
                self.skip_bytes(length)
            }
            TYPE_LIST | TYPE_SET => {
                let (kind, count) = self.take_list_header()?;
                for _ in 0..count {
                    match kind {
                        // In lists, unlike in structs, they have a byte of their own.
                        TYPE_TRUE | TYPE_FALSE => self.skip_bytes(1)?,
                        kind => self.skip_value(kind, depth + 1)?,
                    }
                }
                Ok(())
            }
            TYPE_STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.next_field(&mut field)? {
                    self.skip_value(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err("its footer has a value of an unknown type"),
        }
    }
}
