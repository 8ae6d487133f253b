//! Qwen3 as an embedding model: a decoder whose last token stands for the text.

mod sizes;

use std::path::Path;

use candle_core::{Device, Result, Tensor};

use crate::Description;

use super::batch::{Batch, Pooling};
use super::layers::{Linear, Table};
use super::numbers::{self, Rotations};
use super::tensors::{attend, change, change_rows, read};
use super::weights::Weights;
use super::{MOST_TOKENS, Network, Usage};
use sizes::Sizes;

/// The network.
pub(super) struct Qwen3 {
    words: Table,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    rotations: Rotations,
    sizes: Sizes,
}

struct Layer {
    norm: Vec<f32>,
    query: Linear,
    key: Linear,
    value: Linear,
    query_norm: Vec<f32>,
    key_norm: Vec<f32>,
    output: Linear,
    inner_norm: Vec<f32>,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// What the tensors are called in a kind of file.
struct Names {
    words: &'static str,
    norm: &'static str,
    layer: &'static str,
    /// Those of a layer, in the order of the fields of [`Layer`].
    parts: [&'static str; 11],
}

const SAFETENSORS: Names = Names {
    words: "embed_tokens.weight",
    norm: "norm.weight",
    layer: "layers.",
    parts: [
        "input_layernorm.weight",
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.q_norm.weight",
        "self_attn.k_norm.weight",
        "self_attn.o_proj",
        "post_attention_layernorm.weight",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    ],
};

const GGUF: Names = Names {
    words: "token_embd.weight",
    norm: "output_norm.weight",
    layer: "blk.",
    parts: [
        "attn_norm.weight",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_q_norm.weight",
        "attn_k_norm.weight",
        "attn_output",
        "ffn_norm.weight",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
    ],
};

/// What stands before a question, in the form that the model was trained with; which task it names is free.
const INSTRUCTION: &str = "Instruct: Given a question about past coding sessions, retrieve the turns that answer it\nQuery:";

/// Reads the network of a folder.
pub(super) fn open(
    folder: &Path,
    _: &Description,
    weights: &Weights,
) -> crate::Result<(Box<dyn Network>, Usage)> {
    let network = if let Some(file) = weights.gguf() {
        build(weights, Sizes::from_file(weights.path(), file)?, &GGUF, "")?
    } else {
        // Networks that were saved together with a head have their own part under this name.
        let prefix = if weights.has("model.embed_tokens.weight") {
            "model."
        } else {
            ""
        };
        build(weights, Sizes::from_config(folder)?, &SAFETENSORS, prefix)?
    };
    let usage = Usage {
        query: INSTRUCTION,
        passage: "",
        first: None,
        last: "<|endoftext|>",
        longest: MOST_TOKENS,
        pooling: Pooling::Last,
        standardised: false,
        can_be_cut: true,
    };
    Ok((Box::new(network), usage))
}

fn build(weights: &Weights, sizes: Sizes, names: &Names, prefix: &str) -> crate::Result<Qwen3> {
    let (width, head) = (sizes.width, sizes.head);
    let (queries, keys) = (sizes.heads * head, sizes.shared * head);
    let mut layers = Vec::new();
    for index in 0..sizes.layers {
        let full = |part: usize| format!("{prefix}{}{index}.{}", names.layer, names.parts[part]);
        let vector = |part: usize, length: usize| weights.values(&full(part), &[length]);
        let linear = |part: usize, output: usize, input: usize| {
            weights.linear(&[&full(part)], output, input, false)
        };
        layers.push(Layer {
            norm: vector(0, width)?,
            query: linear(1, queries, width)?,
            key: linear(2, keys, width)?,
            value: linear(3, keys, width)?,
            query_norm: vector(4, head)?,
            key_norm: vector(5, head)?,
            output: linear(6, width, queries)?,
            inner_norm: vector(7, width)?,
            gate: linear(8, sizes.inner, width)?,
            up: linear(9, sizes.inner, width)?,
            down: linear(10, width, sizes.inner)?,
        });
    }
    let words = format!("{prefix}{}", names.words);
    Ok(Qwen3 {
        words: weights.table(&words, width)?,
        layers,
        norm: weights.values(&format!("{prefix}{}", names.norm), &[width])?,
        rotations: Rotations::new(sizes.base, head, MOST_TOKENS),
        sizes,
    })
}

impl Network for Qwen3 {
    fn width(&self) -> usize {
        self.sizes.width
    }

    fn forward(&self, batch: &Batch) -> Result<Tensor> {
        let shape = (batch.ids.len(), self.sizes.width);
        let mut hidden = Tensor::from_vec(self.words.rows(&batch.ids)?, shape, &Device::Cpu)?;
        for layer in &self.layers {
            hidden = self.layer(layer, &hidden, batch)?;
        }
        self.normed(&hidden, &self.norm)
    }
}

impl Qwen3 {
    fn layer(&self, layer: &Layer, hidden: &Tensor, batch: &Batch) -> Result<Tensor> {
        let Sizes {
            heads,
            shared,
            head,
            ..
        } = self.sizes;
        let tokens = batch.ids.len();
        let normed = self.normed(hidden, &layer.norm)?;
        let queries = self.turned(&layer.query, &layer.query_norm, &normed, batch)?;
        let queries = queries.reshape((tokens, shared, heads / shared, head))?;
        let queries = (0..heads / shared).map(|group| queries.narrow(2, group, 1)?.squeeze(2));
        let keys = self
            .turned(&layer.key, &layer.key_norm, &normed, batch)?
            .reshape((tokens, shared, head))?;
        let values = layer
            .value
            .forward(&normed)?
            .reshape((tokens, shared, head))?;
        let mixed = attend(
            &queries.collect::<Result<Vec<_>>>()?,
            &keys,
            &values,
            &batch.texts,
            true,
        )?;
        let attended = layer.output.forward(&mixed)?;
        change_rows(&attended, hidden, numbers::add)?;
        let normed = self.normed(&attended, &layer.inner_norm)?;
        let inner = layer.up.forward(&normed)?;
        change_rows(&inner, &layer.gate.forward(&normed)?, numbers::gate)?;
        let outer = layer.down.forward(&inner)?;
        change_rows(&outer, &attended, numbers::add)?;
        Ok(outer)
    }

    fn normed(&self, hidden: &Tensor, weight: &[f32]) -> Result<Tensor> {
        let mut rows = read(hidden, <[f32]>::to_vec)?;
        let each = rows.chunks_exact_mut(self.sizes.width);
        each.for_each(|row| numbers::rms_norm(row, weight, self.sizes.epsilon));
        Tensor::from_vec(rows, hidden.shape(), &Device::Cpu)
    }

    /// Queries or keys: each head is normed, then turned by its position.
    fn turned(
        &self,
        linear: &Linear,
        norm: &[f32],
        normed: &Tensor,
        batch: &Batch,
    ) -> Result<Tensor> {
        let product = linear.forward(normed)?;
        let width = product.dim(1)?;
        change(&product, |values| {
            for (row, position) in values.chunks_exact_mut(width).zip(batch.positions()) {
                for head in row.chunks_exact_mut(self.sizes.head) {
                    numbers::rms_norm(head, norm, self.sizes.epsilon);
                    self.rotations.turn(head, position);
                }
            }
        })?;
        Ok(product)
    }
}
