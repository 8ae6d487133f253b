//! The vectors of a static model: a row of numbers for each token, or for each group of tokens.

use serde::{Deserialize, Serialize};

use crate::image::{Builder, Image, Section, u32_at};
use crate::safetensors::{Kind, Safetensors, Tensor};

/// Longer vectors are refused.
const MOST_DIMENSIONS: usize = 1 << 16;

/// What the table in an image is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// How many vectors there are.
    pub(crate) rows: usize,
    /// How long they are.
    pub(crate) dimensions: usize,
    /// What they are made of.
    pub(crate) form: Form,
    /// The identity of the model, in hexadecimal digits.
    pub(crate) identity: String,
}

/// What numbers a table is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Form {
    /// Half-precision floating point.
    F16,
    /// Whole numbers from -127 to 127 that have one scale, which does not matter to a direction.
    I8,
}

impl Form {
    fn size(self) -> usize {
        match self {
            Form::F16 => 2,
            Form::I8 => 1,
        }
    }
}

/// Lays out the table of a model. The error says what is wrong with the file.
pub(crate) fn compile(
    file: &Safetensors,
    table: &str,
    identity: String,
    builder: &mut Builder,
) -> Result<Shape, String> {
    let tensor = file.tensor(table).ok_or("it has no table")?;
    let &[rows, dimensions] = tensor.shape else {
        return Err("its table is not one of rows and columns".to_owned());
    };
    if rows == 0 || !(1..=MOST_DIMENSIONS).contains(&dimensions) {
        return Err(format!("its table of {rows} by {dimensions} is of no use"));
    }
    let form = match tensor.kind {
        Kind::I8 => Form::I8,
        _ => Form::F16,
    };
    let bytes = match form {
        Form::I8 => tensor.bytes.to_vec(),
        Form::F16 => halves(&tensor)?,
    };
    builder.add(Section::Table, bytes);
    if let Some(mapping) = file.tensor("mapping") {
        let places: Result<Vec<u32>, String> = integers(&mapping)?
            .map(|row| {
                let row = usize::try_from(row).ok().filter(|row| *row < rows);
                row.map(|row| row as u32)
                    .ok_or("it maps a token to a row that is not there".to_owned())
            })
            .collect();
        let places = places?.into_iter().flat_map(u32::to_le_bytes).collect();
        builder.add(Section::Rows, places);
    }
    if let Some(weights) = file.tensor("weights") {
        let factors: Vec<f32> = floats(&weights)?.collect();
        if factors.iter().any(|factor| !factor.is_finite()) {
            return Err("it has weights that are no numbers".to_owned());
        }
        let factors = factors.into_iter().flat_map(f32::to_le_bytes).collect();
        builder.add(Section::Factors, factors);
    }
    let shape = Shape {
        rows,
        dimensions,
        form,
        identity,
    };
    let json = serde_json::to_vec(&shape).map_err(|error| error.to_string())?;
    builder.add(Section::Shape, json);
    Ok(shape)
}

fn halves(tensor: &Tensor<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(tensor.shape.iter().product::<usize>() * 2);
    for number in floats(tensor)? {
        let half = half::f16::from_f32(number);
        if !half.is_finite() {
            return Err(format!(
                "its table holds {number}, which is no number that can be kept"
            ));
        }
        bytes.extend_from_slice(&half.to_le_bytes());
    }
    Ok(bytes)
}

fn floats<'a>(tensor: &Tensor<'a>) -> Result<Box<dyn Iterator<Item = f32> + 'a>, String> {
    let bytes = tensor.bytes;
    Ok(match tensor.kind {
        Kind::F64 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| f64::from_le_bytes(*bytes) as f32),
        ),
        Kind::F32 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes)),
        ),
        Kind::F16 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| half::f16::from_le_bytes(*bytes).to_f32()),
        ),
        Kind::Bf16 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| half::bf16::from_le_bytes(*bytes).to_f32()),
        ),
        kind => {
            return Err(format!(
                "it holds numbers of kind {kind:?} where it should hold fractions"
            ));
        }
    })
}

fn integers<'a>(tensor: &Tensor<'a>) -> Result<Box<dyn Iterator<Item = i64> + 'a>, String> {
    let bytes = tensor.bytes;
    Ok(match tensor.kind {
        Kind::I64 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| i64::from_le_bytes(*bytes)),
        ),
        Kind::I32 => Box::new(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|bytes| i64::from(i32::from_le_bytes(*bytes))),
        ),
        kind => {
            return Err(format!(
                "it holds numbers of kind {kind:?} where it should hold rows"
            ));
        }
    })
}

/// The table of an image, ready to be used in place.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    vectors: &'a [u8],
    rows: &'a [u8],
    factors: &'a [u8],
    dimensions: usize,
    form: Form,
}

impl<'a> Table<'a> {
    /// The table of an image, if it is of the shape that was said.
    pub(crate) fn new(image: &'a Image, shape: &Shape) -> Option<Self> {
        let vectors = image.section(Section::Table);
        let length = shape
            .rows
            .checked_mul(shape.dimensions)?
            .checked_mul(shape.form.size())?;
        let fits = vectors.len() == length && (1..=MOST_DIMENSIONS).contains(&shape.dimensions);
        fits.then(|| Table {
            vectors,
            rows: image.section(Section::Rows),
            factors: image.section(Section::Factors),
            dimensions: shape.dimensions,
            form: shape.form,
        })
    }

    /// Adds a token's vector to a sum, `times` over. A token without a vector adds nothing.
    pub(crate) fn add(&self, token: u32, times: f32, sum: &mut [f32]) {
        let Some((row, factor)) = self.vector(token) else {
            return;
        };
        let times = times * factor;
        match self.form {
            Form::F16 => {
                for (sum, half) in sum.iter_mut().zip(row.as_chunks().0) {
                    *sum += times * widen(u16::from_le_bytes(*half));
                }
            }
            Form::I8 => {
                for (sum, number) in sum.iter_mut().zip(row) {
                    *sum += times * f32::from(*number as i8);
                }
            }
        }
    }

    fn vector(&self, token: u32) -> Option<(&'a [u8], f32)> {
        let token = token as usize;
        let row = if self.rows.is_empty() {
            token
        } else {
            u32_at(self.rows, token.checked_mul(4)?)? as usize
        };
        let factor = if self.factors.is_empty() {
            1.0
        } else {
            f32::from_bits(u32_at(self.factors, token.checked_mul(4)?)?)
        };
        let length = self.dimensions * self.form.size();
        let start = row.checked_mul(length)?;
        Some((self.vectors.get(start..start.checked_add(length)?)?, factor))
    }
}

/// A half-precision number as one of single precision, by moving its bits into place and scaling away the other exponent. Right for
/// all but infinities and the like, which no table holds; unlike a library's, it is a few operations that the compiler does for
/// many numbers at once.
fn widen(half: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * SCALE;
    f32::from_bits(magnitude.to_bits() | u32::from(half & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widens_every_finite_half() {
        for bits in 0..=u16::MAX {
            let half = half::f16::from_bits(bits);
            if half.is_finite() {
                assert_eq!(widen(bits).to_bits(), half.to_f32().to_bits());
            }
        }
    }
}
