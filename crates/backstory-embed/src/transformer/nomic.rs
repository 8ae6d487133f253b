//! Encoders with rotary positions and gated layers: nomic-embed-text.

use std::path::Path;

use candle_core::{Device, Result, Tensor};
use serde::Deserialize;

use crate::Description;

use super::batch::{Batch, Pooling};
use super::config::{Config, Size};
use super::layers::{Linear, Norm, Table};
use super::numbers::{self, Rotations};
use super::tensors::{attend, change, change_rows};
use super::weights::Weights;
use super::{MOST_TOKENS, Network, Usage};

/// The network.
pub(super) struct Nomic {
    words: Table,
    /// The vector of the first sentence, which is added to each token's.
    sentence: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    rotations: Rotations,
    heads: usize,
    width: usize,
}

struct Layer {
    attention: Linear,
    output: Linear,
    output_norm: Norm,
    up: Linear,
    gate: Linear,
    down: Linear,
    down_norm: Norm,
}

#[derive(Deserialize)]
struct Settings {
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    n_inner: usize,
    type_vocab_size: usize,
    layer_norm_epsilon: f32,
    activation_function: String,
    rotary_emb_base: f64,
    rotary_emb_fraction: f64,
    #[serde(default)]
    rotary_emb_interleaved: bool,
    #[serde(default)]
    prenorm: bool,
    #[serde(default)]
    use_rms_norm: bool,
    #[serde(default)]
    causal: bool,
    #[serde(default)]
    qkv_proj_bias: bool,
    #[serde(default)]
    mlp_fc1_bias: bool,
    #[serde(default)]
    mlp_fc2_bias: bool,
}

/// Reads the network of a folder.
pub(super) fn open(
    folder: &Path,
    _: &Description,
    weights: &Weights,
) -> crate::Result<(Box<dyn Network>, Usage)> {
    let config = Config::<Settings>::read(&folder.join("config.json"))?;
    let settings = &config.settings;
    config.check_sizes(&[
        ("n_embd", Size::Width, settings.n_embd),
        ("n_layer", Size::Layers, settings.n_layer),
        ("n_head", Size::Heads, settings.n_head),
        ("n_inner", Size::Width, settings.n_inner),
        ("type_vocab_size", Size::Rows, settings.type_vocab_size),
    ])?;
    let head = settings.n_embd / settings.n_head;
    config.check_sizes(&[("size of heads", Size::Head, head)])?;
    config.check(
        settings.n_embd.is_multiple_of(2 * settings.n_head),
        "n_head",
    )?;
    config.check(
        settings.activation_function == "swiglu",
        "activation_function",
    )?;
    config.check(
        settings.rotary_emb_fraction == 1.0 && !settings.rotary_emb_interleaved,
        "rotary_emb_fraction",
    )?;
    config.check(settings.rotary_emb_base > 0.0, "rotary_emb_base")?;
    config.check(
        !settings.prenorm && !settings.use_rms_norm && !settings.causal,
        "order of layers",
    )?;
    let network = read(weights, settings)?;
    let usage = Usage {
        query: "search_query: ",
        passage: "search_document: ",
        first: Some("[CLS]"),
        last: "[SEP]",
        // Within the length it was trained with, so that its rotations need no stretching.
        longest: MOST_TOKENS,
        pooling: Pooling::Mean,
        standardised: true,
        can_be_cut: true,
    };
    Ok((Box::new(network), usage))
}

fn read(weights: &Weights, settings: &Settings) -> crate::Result<Nomic> {
    let (width, inner) = (settings.n_embd, settings.n_inner);
    let norm = |name: &str| weights.norm(name, width, settings.layer_norm_epsilon);
    let mut sentence = weights.values(
        "embeddings.token_type_embeddings.weight",
        &[settings.type_vocab_size, width],
    )?;
    sentence.truncate(width);
    let mut layers = Vec::new();
    for index in 0..settings.n_layer {
        let layer = |name: &str| format!("encoder.layers.{index}.{name}");
        let linear = |name: &str, output: usize, input: usize, bias: bool| {
            weights.linear(&[&layer(name)], output, input, bias)
        };
        layers.push(Layer {
            attention: linear("attn.Wqkv", 3 * width, width, settings.qkv_proj_bias)?,
            output: linear("attn.out_proj", width, width, settings.qkv_proj_bias)?,
            output_norm: norm(&layer("norm1"))?,
            up: linear("mlp.fc11", inner, width, settings.mlp_fc1_bias)?,
            gate: linear("mlp.fc12", inner, width, settings.mlp_fc1_bias)?,
            down: linear("mlp.fc2", width, inner, settings.mlp_fc2_bias)?,
            down_norm: norm(&layer("norm2"))?,
        });
    }
    Ok(Nomic {
        words: weights.table("embeddings.word_embeddings.weight", width)?,
        sentence,
        norm: norm("emb_ln")?,
        layers,
        rotations: Rotations::new(
            settings.rotary_emb_base,
            width / settings.n_head,
            MOST_TOKENS,
        ),
        heads: settings.n_head,
        width,
    })
}

impl Network for Nomic {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, batch: &Batch) -> Result<Tensor> {
        let mut rows = self.words.rows(&batch.ids)?;
        for row in rows.chunks_exact_mut(self.width) {
            numbers::add(row, &self.sentence);
            self.norm.apply(row);
        }
        let mut hidden = Tensor::from_vec(rows, (batch.ids.len(), self.width), &Device::Cpu)?;
        for layer in &self.layers {
            hidden = self.layer(layer, &hidden, batch)?;
        }
        Ok(hidden)
    }
}

impl Nomic {
    fn layer(&self, layer: &Layer, hidden: &Tensor, batch: &Batch) -> Result<Tensor> {
        let head = self.width / self.heads;
        let three = layer.attention.forward(hidden)?;
        change(&three, |values| {
            for (row, position) in values
                .chunks_exact_mut(3 * self.width)
                .zip(batch.positions())
            {
                let turned = row[..2 * self.width].chunks_exact_mut(head);
                turned.for_each(|head| self.rotations.turn(head, position));
            }
        })?;
        let three = three.reshape((batch.ids.len(), 3 * self.heads, head))?;
        let [queries, keys, values] =
            [0, 1, 2].map(|part| three.narrow(1, part * self.heads, self.heads));
        let mixed = attend(&[queries?], &keys?, &values?, &batch.texts, false)?;
        let hidden = layer.output_norm.after(&layer.output, &mixed, hidden)?;
        let inner = layer.up.forward(&hidden)?;
        change_rows(&inner, &layer.gate.forward(&hidden)?, numbers::gate)?;
        layer.down_norm.after(&layer.down, &inner, &hidden)
    }
}
