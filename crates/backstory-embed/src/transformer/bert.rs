//! Encoders with the layers of BERT: all-MiniLM, bge and their like.

use std::path::Path;

use candle_core::{Device, Result, Tensor};
use serde::Deserialize;

use crate::Description;

use super::batch::{Batch, Pooling};
use super::config::{self, Config, Size};
use super::layers::{Linear, Norm, Table};
use super::numbers;
use super::tensors::{attend, change};
use super::weights::Weights;
use super::{MOST_TOKENS, Network, Usage};

/// The network.
pub(super) struct Bert {
    words: Table,
    /// What is added to the vector of a token at each position: that of the position and that of the first sentence.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    width: usize,
}

struct Layer {
    attention: Linear,
    output: Linear,
    output_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

#[derive(Deserialize)]
struct Settings {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f32,
    hidden_act: String,
    position_embedding_type: Option<String>,
}

/// What models that take the first token's vector were trained to see before a question.
const INSTRUCTION: &str = "Represent this sentence for searching relevant passages: ";

/// How many tokens a text may have where no file says it.
const USUAL_TOKENS: usize = 512;

/// Reads the network of a folder.
pub(super) fn open(
    folder: &Path,
    description: &Description,
    weights: &Weights,
) -> crate::Result<(Box<dyn Network>, Usage)> {
    let config = Config::<Settings>::read(&folder.join("config.json"))?;
    let settings = &config.settings;
    config.check_sizes(&[
        ("hidden_size", Size::Width, settings.hidden_size),
        (
            "num_hidden_layers",
            Size::Layers,
            settings.num_hidden_layers,
        ),
        (
            "num_attention_heads",
            Size::Heads,
            settings.num_attention_heads,
        ),
        ("intermediate_size", Size::Width, settings.intermediate_size),
        (
            "max_position_embeddings",
            Size::Rows,
            settings.max_position_embeddings,
        ),
        ("type_vocab_size", Size::Rows, settings.type_vocab_size),
    ])?;
    let absolute = settings
        .position_embedding_type
        .as_deref()
        .unwrap_or("absolute")
        == "absolute";
    config.check(
        settings
            .hidden_size
            .is_multiple_of(settings.num_attention_heads),
        "num_attention_heads",
    )?;
    config.check(settings.hidden_act == "gelu", "hidden_act")?;
    config.check(absolute, "position_embedding_type")?;
    let network = read(weights, settings)?;
    // The models of this family that came without the file are all-MiniLM, which takes the mean, and bge, which does not.
    let is_bge = description.name.to_lowercase().contains("bge");
    let usual = if is_bge {
        Pooling::First
    } else {
        Pooling::Mean
    };
    let pooling = config::pooling(folder)?.unwrap_or(usual);
    let longest = config::longest(folder)?
        .unwrap_or(USUAL_TOKENS)
        .min(settings.max_position_embeddings);
    config.check(longest >= 3, "max_seq_length")?;
    let usage = Usage {
        query: if pooling == Pooling::First {
            INSTRUCTION
        } else {
            ""
        },
        passage: "",
        first: Some("[CLS]"),
        last: "[SEP]",
        longest: longest.min(MOST_TOKENS),
        pooling,
        standardised: false,
        can_be_cut: false,
    };
    Ok((Box::new(network), usage))
}

fn read(weights: &Weights, settings: &Settings) -> crate::Result<Bert> {
    let (width, inner) = (settings.hidden_size, settings.intermediate_size);
    // Networks that were saved together with a head for some task have their own part under this name.
    let prefix = if weights.has("bert.embeddings.word_embeddings.weight") {
        "bert."
    } else {
        ""
    };
    let norm = |name: String| weights.norm(&name, width, settings.layer_norm_eps);
    let part = |name: &str| format!("{prefix}embeddings.{name}.weight");
    let mut positions = weights.values(
        &part("position_embeddings"),
        &[settings.max_position_embeddings, width],
    )?;
    positions.truncate(MOST_TOKENS * width);
    let types = weights.values(
        &part("token_type_embeddings"),
        &[settings.type_vocab_size, width],
    )?;
    positions
        .chunks_exact_mut(width)
        .for_each(|row| numbers::add(row, &types));
    let mut layers = Vec::new();
    for index in 0..settings.num_hidden_layers {
        let layer = |name: &str| format!("{prefix}encoder.layer.{index}.{name}");
        let linear = |name: &str, output: usize, input: usize| {
            weights.linear(&[&layer(name)], output, input, true)
        };
        let three = ["query", "key", "value"].map(|name| layer(&format!("attention.self.{name}")));
        layers.push(Layer {
            attention: weights.linear(&three.each_ref().map(String::as_str), width, width, true)?,
            output: linear("attention.output.dense", width, width)?,
            output_norm: norm(layer("attention.output.LayerNorm"))?,
            up: linear("intermediate.dense", inner, width)?,
            down: linear("output.dense", width, inner)?,
            down_norm: norm(layer("output.LayerNorm"))?,
        });
    }
    Ok(Bert {
        words: weights.table(&part("word_embeddings"), width)?,
        positions,
        norm: norm(format!("{prefix}embeddings.LayerNorm"))?,
        layers,
        heads: settings.num_attention_heads,
        width,
    })
}

impl Network for Bert {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, batch: &Batch) -> Result<Tensor> {
        let mut rows = self.words.rows(&batch.ids)?;
        for (row, position) in rows.chunks_exact_mut(self.width).zip(batch.positions()) {
            numbers::add(
                row,
                self.positions
                    .get(position * self.width..)
                    .unwrap_or_default(),
            );
            self.norm.apply(row);
        }
        let mut hidden = Tensor::from_vec(rows, (batch.ids.len(), self.width), &Device::Cpu)?;
        for layer in &self.layers {
            hidden = self.layer(layer, &hidden, batch)?;
        }
        Ok(hidden)
    }
}

impl Bert {
    fn layer(&self, layer: &Layer, hidden: &Tensor, batch: &Batch) -> Result<Tensor> {
        let three = layer.attention.forward(hidden)?;
        let three = three.reshape((batch.ids.len(), 3 * self.heads, self.width / self.heads))?;
        let [queries, keys, values] =
            [0, 1, 2].map(|part| three.narrow(1, part * self.heads, self.heads));
        let mixed = attend(&[queries?], &keys?, &values?, &batch.texts, false)?;
        let hidden = layer.output_norm.after(&layer.output, &mixed, hidden)?;
        let inner = layer.up.multiply(&hidden)?;
        change(&inner, |values| {
            let rows = values.chunks_exact_mut(layer.up.bias.len());
            rows.for_each(|row| numbers::gelu(row, &layer.up.bias));
        })?;
        layer.down_norm.after(&layer.down, &inner, &hidden)
    }
}
