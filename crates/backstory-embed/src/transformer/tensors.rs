//! What candle's tensors lack here: work on their numbers in place, and attention over several texts at once.

use std::ops::Range;

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result, Storage, Tensor, bail};

use super::numbers;

/// Changes the numbers of a tensor.
pub(super) fn change(tensor: &Tensor, action: impl Fn(&mut [f32])) -> Result<()> {
    tensor.inplace_op1(&Change(action))
}

/// Changes the rows of a tensor, given the row of another one.
pub(super) fn change_rows(
    tensor: &Tensor,
    other: &Tensor,
    action: impl Fn(&mut [f32], &[f32]),
) -> Result<()> {
    let width = tensor.dim(1)?;
    if width == 0 || other.dims() != tensor.dims() {
        bail!(
            "rows of {:?} do not belong to rows of {:?}",
            other.dims(),
            tensor.dims()
        );
    }
    let rows = |values: &mut [f32], others: &[f32]| {
        for (row, other) in values
            .chunks_exact_mut(width)
            .zip(others.chunks_exact(width))
        {
            action(row, other);
        }
    };
    tensor.inplace_op2(other, &Change(rows))
}

/// Reads the numbers of a tensor.
pub(super) fn read<T>(tensor: &Tensor, action: impl FnOnce(&[f32]) -> T) -> Result<T> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => Ok(action(contiguous(storage.as_slice()?, layout)?)),
        _ => bail!("the numbers are on a device"),
    }
}

/// Attention within each text. `queries`, `keys` and `values` hold for each token and head a vector; where several queries share a
/// key (grouped heads), `queries` has a tensor for each of them. The texts lie one behind the other, without padding, so no mask is
/// needed: each text is a matter of its own.
pub(super) fn attend(
    queries: &[Tensor],
    keys: &Tensor,
    values: &Tensor,
    texts: &[Range<usize>],
    causal: bool,
) -> Result<Tensor> {
    let (tokens, heads, head) = keys.dims3()?;
    let groups = queries.len();
    let width = heads * groups * head;
    let scale = 1.0 / (head as f32).sqrt();
    let mut mixed = vec![0f32; tokens * width];
    for text in texts {
        let length = text.len();
        let keys = keys.narrow(0, text.start, length)?.permute((1, 2, 0))?;
        let values = values.narrow(0, text.start, length)?.transpose(0, 1)?;
        for (group, queries) in queries.iter().enumerate() {
            let queries = queries.narrow(0, text.start, length)?.transpose(0, 1)?;
            let scores = queries.matmul(&keys)?;
            change(&scores, |scores| {
                for (index, row) in scores.chunks_exact_mut(length).enumerate() {
                    let seen = if causal { index % length + 1 } else { length };
                    let (seen, unseen) = row.split_at_mut(seen);
                    numbers::softmax(seen, scale);
                    unseen.fill(0.0);
                }
            })?;
            read(&scores.matmul(&values)?, |values| {
                for (index, vector) in values.chunks_exact(head).enumerate() {
                    let (place, token) = (index / length, text.start + index % length);
                    let at = token * width + (place * groups + group) * head;
                    mixed[at..at + head].copy_from_slice(vector);
                }
            })?;
        }
    }
    Tensor::from_vec(mixed, (tokens, width), keys.device())
}

struct Change<F>(F);

impl<F: Fn(&mut [f32])> InplaceOp1 for Change<F> {
    fn name(&self) -> &'static str {
        "change"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        (self.0)(contiguous_mut(storage, layout)?);
        Ok(())
    }
}

impl<F: Fn(&mut [f32], &[f32])> InplaceOp2 for Change<F> {
    fn name(&self) -> &'static str {
        "change"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        other: &CpuStorage,
        other_layout: &Layout,
    ) -> Result<()> {
        let other = contiguous(other.as_slice()?, other_layout)?;
        (self.0)(contiguous_mut(storage, layout)?, other);
        Ok(())
    }
}

fn contiguous<'a>(values: &'a [f32], layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => bail!("the numbers do not lie together"),
    }
}

fn contiguous_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((start, end))) => Ok(&mut values[start..end]),
        _ => bail!("the numbers do not lie together or are not of single precision"),
    }
}
