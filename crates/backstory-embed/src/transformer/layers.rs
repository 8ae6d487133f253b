//! The parts that networks are made of.

use candle_core::quantized::QTensor;
use candle_core::{Result, Tensor, bail};

use super::numbers;
use super::tensors::{change, change_rows};
use super::weights::{Weights, decode};

/// Multiplies rows with a matrix and adds a bias.
pub(super) struct Linear {
    pub(super) matrix: Matrix,
    /// What is to be added to each row; empty where the layer adds nothing.
    pub(super) bias: Vec<f32>,
}

/// The numbers of a layer, one row for each output.
pub(super) enum Matrix {
    /// Numbers of single precision.
    Dense(Tensor),
    /// Numbers in blocks that share a scale. They are unpacked for each product: with AVX2, candle's own product of blocks takes
    /// four times as long for texts of 120 tokens.
    Blocks(QTensor),
}

impl Linear {
    /// The product alone, for those who add the bias while they do something else.
    pub(super) fn multiply(&self, rows: &Tensor) -> Result<Tensor> {
        match &self.matrix {
            Matrix::Dense(matrix) => rows.matmul(matrix),
            Matrix::Blocks(matrix) => rows.matmul(&matrix.dequantize(rows.device())?.t()?),
        }
    }

    pub(super) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let product = self.multiply(rows)?;
        if !self.bias.is_empty() {
            change(&product, |values| {
                let rows = values.chunks_exact_mut(self.bias.len());
                rows.for_each(|row| numbers::add(row, &self.bias));
            })?;
        }
        Ok(product)
    }
}

/// The norm behind a layer.
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

impl Norm {
    pub(super) fn apply(&self, row: &mut [f32]) {
        numbers::layer_norm(row, &self.weight, &self.bias, self.epsilon);
    }

    /// Runs a layer, adds what was there before it, and norms.
    pub(super) fn after(&self, layer: &Linear, rows: &Tensor, before: &Tensor) -> Result<Tensor> {
        let product = layer.multiply(rows)?;
        change_rows(&product, before, |row, before| {
            numbers::add(row, &layer.bias);
            numbers::add(row, before);
            self.apply(row);
        })?;
        Ok(product)
    }
}

/// A table that stays in its file; rows are read when they are looked up. For a small model it is half of all weights.
pub(super) struct Table {
    pub(super) weights: Weights,
    pub(super) name: String,
    pub(super) width: usize,
}

impl Table {
    /// The rows with these numbers, one behind the other.
    pub(super) fn rows(&self, ids: &[u32]) -> Result<Vec<f32>> {
        let Some(table) = self.weights.find(&self.name) else {
            bail!("its table of tokens is gone");
        };
        let length = table.kind.bytes(&[self.width]).unwrap_or(0).max(1);
        let mut found = Vec::with_capacity(ids.len() * self.width);
        for id in ids {
            let Some(row) = table.bytes.chunks_exact(length).nth(*id as usize) else {
                bail!("it has no row for the token {id}");
            };
            found.extend(decode(table.kind, row, &[1, self.width])?);
        }
        Ok(found)
    }
}
