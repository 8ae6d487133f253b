//! How large the parts of a Qwen3 network are.

use std::path::Path;

use serde::Deserialize;

use crate::{Error, Result};

use super::super::config::{self, Config, Size};
use super::super::gguf::{Gguf, Value};

/// How large the parts are, and two numbers that are not sizes.
pub(super) struct Sizes {
    pub(super) width: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    /// How many heads there are for keys and values; several heads of queries share one.
    pub(super) shared: usize,
    pub(super) head: usize,
    pub(super) inner: usize,
    pub(super) epsilon: f32,
    pub(super) base: f64,
}

impl Sizes {
    /// Reads `config.json`.
    pub(super) fn from_config(folder: &Path) -> Result<Sizes> {
        #[derive(Deserialize)]
        struct Settings {
            hidden_size: usize,
            num_hidden_layers: usize,
            num_attention_heads: usize,
            num_key_value_heads: usize,
            head_dim: usize,
            intermediate_size: usize,
            rms_norm_eps: f32,
            rope_theta: Option<f64>,
            rope_parameters: Option<Rope>,
            rope_scaling: Option<serde_json::Value>,
            hidden_act: String,
            #[serde(default)]
            attention_bias: bool,
            #[serde(default)]
            use_sliding_window: bool,
        }
        // Where newer writers of the file put it.
        #[derive(Deserialize)]
        struct Rope {
            rope_theta: f64,
            rope_type: Option<String>,
        }
        let config = Config::<Settings>::read(&folder.join("config.json"))?;
        let settings = &config.settings;
        let rope = settings.rope_parameters.as_ref();
        let plain = rope
            .and_then(|rope| rope.rope_type.as_deref())
            .unwrap_or("default")
            == "default";
        let base = settings.rope_theta.or(rope.map(|rope| rope.rope_theta));
        config.check(settings.hidden_act == "silu", "hidden_act")?;
        config.check(
            !settings.attention_bias && !settings.use_sliding_window,
            "attention_bias or use_sliding_window",
        )?;
        config.check(plain && settings.rope_scaling.is_none(), "rope_scaling")?;
        let sizes = Sizes {
            width: settings.hidden_size,
            layers: settings.num_hidden_layers,
            heads: settings.num_attention_heads,
            shared: settings.num_key_value_heads,
            head: settings.head_dim,
            inner: settings.intermediate_size,
            epsilon: settings.rms_norm_eps,
            base: base.ok_or_else(|| Error::malformed(&config.path, "it has no rope_theta"))?,
        };
        sizes.check(&config.path)?;
        Ok(sizes)
    }

    /// Reads what a GGUF file states.
    pub(super) fn from_file(path: &Path, file: &Gguf) -> Result<Sizes> {
        let missing = |key: &str| Error::malformed(path, format!("it does not state {key}"));
        if file.setting("general.architecture") != Some(&Value::Text("qwen3".to_owned())) {
            return Err(Error::malformed(path, "it is no Qwen3 network"));
        }
        let integer = |key: &str| match file.setting(&format!("qwen3.{key}")) {
            Some(Value::Integer(value)) => usize::try_from(*value).map_err(|_| missing(key)),
            _ => Err(missing(key)),
        };
        let real = |key: &str| match file.setting(&format!("qwen3.{key}")) {
            Some(Value::Real(value)) => Ok(*value),
            _ => Err(missing(key)),
        };
        let sizes = Sizes {
            width: integer("embedding_length")?,
            layers: integer("block_count")?,
            heads: integer("attention.head_count")?,
            shared: integer("attention.head_count_kv")?,
            head: integer("attention.key_length")?,
            inner: integer("feed_forward_length")?,
            epsilon: real("attention.layer_norm_rms_epsilon")? as f32,
            base: real("rope.freq_base")?,
        };
        sizes.check(path)?;
        Ok(sizes)
    }

    fn check(&self, path: &Path) -> Result<()> {
        config::check_sizes(
            path,
            &[
                ("width", Size::Width, self.width),
                ("number of layers", Size::Layers, self.layers),
                ("number of heads", Size::Heads, self.heads),
                ("number of key heads", Size::Heads, self.shared),
                ("size of heads", Size::Head, self.head),
                ("inner width", Size::Width, self.inner),
            ],
        )?;
        let fits = self.heads.is_multiple_of(self.shared)
            && self.head.is_multiple_of(2)
            && self.base.is_finite()
            && self.base > 0.0;
        if fits {
            return Ok(());
        }
        Err(Error::malformed(path, "its heads do not fit together"))
    }
}
