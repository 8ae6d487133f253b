//! The weights of a network, whichever kind of file they lie in.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Tensor};
use half::{bf16, f16};

use crate::safetensors::{self, Safetensors};
use crate::{Description, Error, Result};

use super::gguf::Gguf;
use super::layers::{Linear, Matrix, Norm, Table};

/// The named tensors of one file.
pub(super) struct Weights {
    path: PathBuf,
    file: File,
}

enum File {
    Safetensors(Safetensors),
    Gguf(Gguf),
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Single,
    Half,
    Brain,
    Block(GgmlDType),
}

impl Kind {
    /// How many bytes the numbers of a tensor take; nothing where they cannot be written in this way.
    pub(super) fn bytes(self, shape: &[usize]) -> Option<usize> {
        let count = shape
            .iter()
            .try_fold(1usize, |count, length| count.checked_mul(*length))?;
        match self {
            Kind::Single => count.checked_mul(4),
            Kind::Half | Kind::Brain => count.checked_mul(2),
            Kind::Block(block) => {
                let whole = shape.last()?.is_multiple_of(block.block_size());
                let blocks = whole.then_some(count / block.block_size())?;
                blocks.checked_mul(block.type_size())
            }
        }
    }
}

/// One tensor in its file.
pub(super) struct Stored<'a> {
    pub(super) kind: Kind,
    pub(super) shape: &'a [usize],
    pub(super) bytes: &'a [u8],
}

impl Weights {
    /// Opens the file of weights that a description names.
    pub(super) fn open(folder: &Path, description: &Description) -> Result<Self> {
        let mut names = description.files.keys();
        let is_weights = |name: &&String| name.ends_with(".safetensors") || name.ends_with(".gguf");
        let Some(name) = names.find(is_weights) else {
            let reason = "its description names no file of weights";
            return Err(Error::malformed(folder, reason));
        };
        Weights::read(folder.join(name))
    }

    fn read(path: PathBuf) -> Result<Self> {
        let file = if path.extension().is_some_and(|end| end == "gguf") {
            File::Gguf(Gguf::open(&path)?)
        } else {
            File::Safetensors(Safetensors::open(&path)?)
        };
        Ok(Weights { path, file })
    }

    /// The file, where it is a GGUF file: it has its own settings and names.
    pub(super) fn gguf(&self) -> Option<&Gguf> {
        match &self.file {
            File::Gguf(file) => Some(file),
            File::Safetensors(_) => None,
        }
    }

    /// Where the file lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The numbers of a tensor.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.tensor(name, shape)?
            .values()
            .map_err(|error| self.unusable(name, &error))
    }

    /// A layer that multiplies with a matrix, or with several of the same shape at once; their results lie side by side. Names are
    /// given without `.weight` and `.bias`.
    pub(super) fn linear(
        &self,
        names: &[&str],
        output: usize,
        input: usize,
        has_bias: bool,
    ) -> Result<Linear> {
        let mut bias = Vec::new();
        for name in names.iter().filter(|_| has_bias) {
            bias.extend(self.values(&format!("{name}.bias"), &[output])?);
        }
        Ok(Linear {
            matrix: self.matrix(names, output, input)?,
            bias,
        })
    }

    fn matrix(&self, names: &[&str], output: usize, input: usize) -> Result<Matrix> {
        let mut rows = Vec::new();
        for name in names.iter().map(|name| format!("{name}.weight")) {
            let tensor = self.tensor(&name, &[output, input])?;
            if let (Kind::Block(block), [_]) = (tensor.kind, names) {
                return quantised(block, tensor.bytes, tensor.shape)
                    .map(Matrix::Blocks)
                    .map_err(|error| self.unusable(&name, &error));
            }
            let values = tensor
                .values()
                .map_err(|error| self.unusable(&name, &error))?;
            if rows.is_empty() {
                rows = values;
            } else {
                rows.extend(values);
            }
        }
        Tensor::from_vec(rows, (output * names.len(), input), &Device::Cpu)
            .and_then(|matrix| matrix.t())
            .map(Matrix::Dense)
            .map_err(|error| Error::malformed(&self.path, error.to_string()))
    }

    /// A norm that scales and shifts.
    pub(super) fn norm(&self, name: &str, width: usize, epsilon: f32) -> Result<Norm> {
        let weight = self.values(&format!("{name}.weight"), &[width])?;
        let bias = self.values(&format!("{name}.bias"), &[width])?;
        Ok(Norm {
            weight,
            bias,
            epsilon,
        })
    }

    /// A table whose rows will be looked up.
    pub(super) fn table(&self, name: &str, width: usize) -> Result<Table> {
        let rows = self
            .find(name)
            .and_then(|tensor| tensor.shape.first().copied());
        self.tensor(name, &[rows.unwrap_or(0), width])?;
        // Opened anew: this map goes when the weights have been read, and with it the memory of what was read.
        Ok(Table {
            weights: Weights::read(self.path.clone())?,
            name: name.to_owned(),
            width,
        })
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Stored<'_>> {
        let reason = match self.find(name) {
            Some(tensor) if tensor.shape == shape => return Ok(tensor),
            Some(tensor) => format!(
                "its tensor {name} has the shape {:?} instead of {shape:?}",
                tensor.shape
            ),
            None => format!("it has no tensor {name} of a kind that is known here"),
        };
        Err(Error::malformed(&self.path, reason))
    }

    /// The tensor of a name, if it is of a kind that is known here.
    pub(super) fn find(&self, name: &str) -> Option<Stored<'_>> {
        match &self.file {
            File::Gguf(file) => file.tensor(name),
            File::Safetensors(file) => {
                let tensor = file.tensor(name)?;
                let kind = match tensor.kind {
                    safetensors::Kind::F32 => Kind::Single,
                    safetensors::Kind::F16 => Kind::Half,
                    safetensors::Kind::Bf16 => Kind::Brain,
                    _ => return None,
                };
                Some(Stored {
                    kind,
                    shape: tensor.shape,
                    bytes: tensor.bytes,
                })
            }
        }
    }

    fn unusable(&self, name: &str, error: &candle_core::Error) -> Error {
        Error::malformed(
            &self.path,
            format!("its tensor {name} cannot be used: {error}"),
        )
    }
}

impl Stored<'_> {
    fn values(&self) -> candle_core::Result<Vec<f32>> {
        decode(self.kind, self.bytes, self.shape)
    }
}

/// The numbers that bytes stand for.
pub(super) fn decode(kind: Kind, bytes: &[u8], shape: &[usize]) -> candle_core::Result<Vec<f32>> {
    let pairs = || bytes.as_chunks::<2>().0.iter();
    let fours = || bytes.as_chunks::<4>().0.iter();
    Ok(match kind {
        Kind::Single => fours().map(|four| f32::from_le_bytes(*four)).collect(),
        Kind::Half => pairs()
            .map(|two| f16::from_le_bytes(*two).to_f32())
            .collect(),
        Kind::Brain => pairs()
            .map(|two| bf16::from_le_bytes(*two).to_f32())
            .collect(),
        Kind::Block(block) => {
            let values = quantised(block, bytes, shape)?.dequantize(&Device::Cpu)?;
            values.flatten_all()?.to_vec1()?
        }
    })
}

fn quantised(block: GgmlDType, bytes: &[u8], shape: &[usize]) -> candle_core::Result<QTensor> {
    let storage = QStorage::from_data(Cow::Borrowed(bytes), &Device::Cpu, block)?;
    QTensor::new(storage, shape)
}
