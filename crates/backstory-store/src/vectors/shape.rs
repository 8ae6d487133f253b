//! How a vector of so many dimensions is kept: its code and its values.
//!
//! The code is what is scanned, at most a few bits for each dimension; the values are what the best are scored by.

use super::rotate::Rotation;
use super::scan::Kernel;

/// The most dimensions a vector may have: more would not fit the numbers that are added up.
pub(super) const MOST_DIMENSIONS: usize = 4096;

/// The query is rounded to whole numbers up to this; then no sum over [`MOST_DIMENSIONS`] leaves 32 bits.
const QUERY_MOST: f32 = 4095.0;

/// Rows are rounded to whole numbers up to this: then the upper eight bits are no more than 127.
const ROW_MOST: f32 = 2039.0;

/// How wide the levels of a code are, for values whose mean square is one: the best for normally distributed ones, which is what
/// a rotation makes.
const TWO_BIT_STEP: f32 = 0.996;
const FOUR_BIT_STEP: f32 = 0.335;

/// How vectors of so many dimensions are kept.
#[derive(Debug)]
pub(super) struct Shape {
    dimensions: usize,
    bits: usize,
    rotation: Rotation,
}

impl Shape {
    /// The shape for so many dimensions; `None` when there are none or too many.
    pub(super) fn new(dimensions: usize) -> Option<Self> {
        if dimensions == 0 || dimensions > MOST_DIMENSIONS {
            return None;
        }
        // Few dimensions have to say more each: on real vectors of 64 dimensions one bit puts .89 of the right ten among the best five
        // hundred, four bits all of them.
        let bits = match dimensions {
            ..=64 => 4,
            65..=192 => 2,
            _ => 1,
        };
        Some(Shape {
            dimensions,
            bits,
            rotation: Rotation::new(dimensions),
        })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many bits of a code stand for a dimension.
    pub(super) fn bits(&self) -> usize {
        self.bits
    }

    /// How many values those bits can have.
    pub(super) fn levels(&self) -> usize {
        1 << self.bits
    }

    /// The length of a code, a multiple of eight bytes.
    pub(super) fn code_bytes(&self) -> usize {
        self.padded() * self.bits / 8
    }

    /// The length of a row: its values, then the number that they are multiplied with.
    pub(super) fn row_bytes(&self) -> usize {
        self.value_bytes() + 4
    }

    /// Twelve bits for each value: the upper eight of all, then the lower four of all. Comparing all of 100,000 real vectors with eight bits
    /// alone gives .995 of the right ten for 256 dimensions and .987 for 64; with twelve all of them.
    fn value_bytes(&self) -> usize {
        self.padded() + self.padded() / 2
    }

    fn padded(&self) -> usize {
        self.dimensions.next_multiple_of(64)
    }

    /// Turns a vector as all that are kept, and makes it one long. `None` for one that points nowhere.
    pub(super) fn direction(&self, vector: &[f32]) -> Option<Vec<f32>> {
        let length = dot(vector, vector).sqrt();
        if vector.len() != self.dimensions || !length.is_normal() {
            return None;
        }
        let unit = vector
            .iter()
            .map(|value| (f64::from(*value) / length) as f32);
        Some(self.rotation.turn(unit.collect()))
    }

    /// Adds the code and the row of a vector. One that points nowhere gets a row that no search gives back.
    pub(super) fn encode(&self, vector: &[f32], codes: &mut Vec<u8>, rows: &mut Vec<u8>) {
        let direction = self.direction(vector);
        let code_start = codes.len();
        codes.resize(code_start + self.code_bytes(), 0);
        let row_start = rows.len();
        rows.resize(row_start + self.row_bytes(), 0);
        if let Some(direction) = direction {
            self.write_code(&direction, &mut codes[code_start..]);
            self.write_row(&direction, &mut rows[row_start..]);
        }
    }

    fn write_code(&self, direction: &[f32], code: &mut [u8]) {
        let levels = match self.bits {
            4 => self.levels_of(direction, FOUR_BIT_STEP),
            2 => self.levels_of(direction, TWO_BIT_STEP),
            _ => direction
                .iter()
                .map(|value| u8::from(*value >= 0.0))
                .collect(),
        };
        for (at, level) in levels.iter().enumerate() {
            let bit = at * self.bits;
            code[bit / 8] |= level << (bit % 8);
        }
    }

    /// Rounds to levels about `step` apart. The dot product of the levels with the vector itself should be the same for every row,
    /// else the scores of two rows cannot be compared; it grows with what the vector is multiplied by before it is rounded.
    fn levels_of(&self, direction: &[f32], step: f32) -> Vec<u8> {
        let unit = (self.dimensions as f32).sqrt() / step;
        let middle = self.levels() as f32 / 2.0;
        let (mut least, mut most) = (0.5 * unit, 1.6 * unit);
        let mut levels = vec![0; self.dimensions];
        for _ in 0..14 {
            let factor = f32::midpoint(least, most);
            let mut reached = 0.0;
            for (level, value) in levels.iter_mut().zip(direction) {
                // A number below the lowest level becomes zero.
                *level = ((value * factor + middle) as u8).min(self.levels() as u8 - 1);
                reached += (f32::from(*level) + 0.5 - middle) * value;
            }
            if reached < 0.95 * unit {
                least = factor;
            } else {
                most = factor;
            }
        }
        levels
    }

    fn write_row(&self, direction: &[f32], row: &mut [u8]) {
        let largest = direction
            .iter()
            .fold(0.0f32, |most, value| most.max(value.abs()));
        let padded = self.padded();
        // With this factor a vector's score against itself is one.
        let mut own = 0.0;
        for (at, value) in direction.iter().enumerate() {
            let whole = (value / largest * ROW_MOST).round();
            own += f64::from(whole) * f64::from(*value);
            let whole = whole as i32;
            // The lower four bits count from -8 to 7, the upper ones what is then left.
            let upper = (whole + 8) >> 4;
            row[at] = (upper as i8).cast_unsigned();
            let lower = (whole - (upper << 4)) as u8 & 15;
            // A byte holds the lower bits of two values that lie half a row apart.
            let (byte, shift) = if at < padded / 2 {
                (at, 0)
            } else {
                (at - padded / 2, 4)
            };
            row[padded + byte] |= lower << shift;
        }
        row[self.value_bytes()..].copy_from_slice(&((1.0 / own) as f32).to_le_bytes());
    }
}

impl Shape {
    /// Returns the vector of a row, of length one and rounded to twelve bits; `None` for one that points nowhere.
    pub(super) fn decode(&self, row: &[u8]) -> Option<Vec<f32>> {
        let (values, factor) = row.split_at_checked(self.value_bytes())?;
        let factor = f32::from_le_bytes(factor.try_into().ok()?);
        if !factor.is_normal() {
            return None;
        }
        let (upper, lower) = values.split_at_checked(self.padded())?;
        let half = self.padded() / 2;
        let whole = |at: usize| {
            let (byte, shift) = if at < half { (at, 0) } else { (at - half, 4) };
            let low = lower
                .get(byte)
                .map_or(0, |byte| i32::from(byte >> shift & 15));
            // Four bits with a sign.
            let low = if low > 7 { low - 16 } else { low };
            i32::from(upper.get(at).map_or(0, |byte| byte.cast_signed())) * 16 + low
        };
        let turned: Vec<f32> = (0..self.dimensions).map(|at| whole(at) as f32).collect();
        let length = dot(&turned, &turned).sqrt();
        if !length.is_normal() {
            return None;
        }
        let unit = turned
            .iter()
            .map(|value| (f64::from(*value) / length) as f32);
        Some(self.rotation.turn_back(unit.collect()))
    }
}

/// A query, made ready to be compared with rows.
#[derive(Debug)]
pub(super) struct RowQuery {
    values: Vec<i16>,
    factor: f64,
}

impl RowQuery {
    /// Takes a direction that [`Shape::direction`] gave.
    pub(super) fn new(shape: &Shape, direction: &[f32]) -> Self {
        let largest = direction
            .iter()
            .fold(0.0f32, |most, value| most.max(value.abs()));
        let mut values: Vec<i16> = direction
            .iter()
            .map(|value| (value / largest * QUERY_MOST).round() as i16)
            .collect();
        values.resize(shape.padded(), 0);
        RowQuery {
            values,
            factor: f64::from(largest) / f64::from(QUERY_MOST),
        }
    }

    /// The cosine of a row, `None` for one that points nowhere.
    pub(super) fn cosine(&self, shape: &Shape, row: &[u8]) -> Option<f32> {
        let (values, factor) = row.split_at_checked(shape.value_bytes())?;
        let factor = f32::from_le_bytes(factor.try_into().ok()?);
        if !factor.is_normal() {
            return None;
        }
        let whole = Kernel::best().dot(&self.values, values);
        Some((whole as f64 * self.factor * f64::from(factor)) as f32)
    }
}

fn dot(left: &[f32], right: &[f32]) -> f64 {
    left.iter()
        .zip(right)
        .map(|(left, right)| f64::from(*left) * f64::from(*right))
        .sum()
}
