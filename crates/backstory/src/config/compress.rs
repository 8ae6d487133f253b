//! The section `[compress]`: who writes observations and summaries, and for how much.

use std::collections::BTreeMap;

use backstory_memory::summarize::Price;
use backstory_memory::summarize::SpendingCaps;
use serde::{Deserialize, Serialize, Serializer};

/// What stands in the place of a key wherever the configuration is shown.
const HIDDEN: &str = "(hidden)";

/// Whom to let write. A key alone never sends anything.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Compress {
    /// Who makes observations.
    pub(crate) with: With,
    /// The key of the API, unless ANTHROPIC_API_KEY has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<ApiKey>,
    /// Where the API is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// The model that writes of prompts and tool uses, or two to compare.
    pub(crate) observations: Models,
    /// The model that writes of sessions, or two to compare.
    pub(crate) summaries: Models,
    /// Tokens that may be spent in a day.
    pub(crate) daily_tokens: u64,
    /// Dollars that may be spent in a day.
    pub(crate) daily_usd: DailyUsd,
    /// An answer takes no longer.
    pub(crate) timeout_seconds: u64,
    /// What models cost whose price is not known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) prices: BTreeMap<String, ModelPrice>,
}

impl Default for Compress {
    fn default() -> Self {
        Compress {
            with: With::default(),
            api_key: None,
            base_url: None,
            observations: Models(vec!["claude-haiku-4-5".to_string()]),
            summaries: Models(vec!["claude-sonnet-4-5".to_string()]),
            daily_tokens: 200_000,
            daily_usd: DailyUsd(Some(1.0)),
            timeout_seconds: 60,
            prices: BTreeMap::new(),
        }
    }
}

impl Compress {
    pub(crate) fn caps(&self) -> SpendingCaps {
        SpendingCaps {
            tokens: self.daily_tokens,
            // A thousandth of a millionth is for numbers that have no exact form.
            micro_usd: self.daily_usd.0.map(|usd| (usd * 1e6 + 1e-3) as u64),
        }
    }

    pub(crate) fn prices(&self) -> BTreeMap<String, Price> {
        let price = |price: &ModelPrice| Price {
            input: price.input.0,
            output: price.output.0,
        };
        let prices = self.prices.iter();
        prices
            .map(|(model, found)| (model.clone(), price(found)))
            .collect()
    }
}

/// Who makes observations.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum With {
    /// Nobody but us, and nothing is sent.
    #[default]
    BuiltIn,
    /// Models of Anthropic.
    Anthropic,
}

/// A key that is shown to nobody.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ApiKey(pub(crate) String);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

impl Serialize for ApiKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

/// No model, one, or two.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "OneOrMore")]
pub(crate) struct Models(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl TryFrom<OneOrMore> for Models {
    type Error = String;

    fn try_from(models: OneOrMore) -> Result<Self, String> {
        let models = match models {
            OneOrMore::One(model) => vec![model],
            OneOrMore::More(models) => models,
        };
        let is_name = |model: &String| {
            !model.is_empty()
                && model.len() <= 200
                && model.chars().all(|letter| letter.is_ascii_graphic())
        };
        match &models[..] {
            models if !models.iter().all(is_name) => Err("that is no name of a model".to_string()),
            [one, other] if one == other => Err("two models to compare must differ".to_string()),
            [_, _, _, ..] => Err("two models can be compared, not more".to_string()),
            _ => Ok(Models(models)),
        }
    }
}

/// Dollars, or `"none"` where only tokens are to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "UsdText")]
pub(crate) struct DailyUsd(pub(crate) Option<f64>);

#[derive(Deserialize)]
#[serde(untagged)]
enum UsdText {
    Number(f64),
    Text(String),
}

impl TryFrom<UsdText> for DailyUsd {
    type Error = String;

    fn try_from(usd: UsdText) -> Result<Self, String> {
        match usd {
            UsdText::Number(usd) => Dollars::try_from(usd).map(|usd| DailyUsd(Some(usd.0))),
            UsdText::Text(text) if text == "none" => Ok(DailyUsd(None)),
            UsdText::Text(_) => Err("daily_usd is a number of dollars, or \"none\"".to_string()),
        }
    }
}

impl Serialize for DailyUsd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(usd) => serializer.serialize_f64(usd),
            None => serializer.serialize_str("none"),
        }
    }
}

/// What a model costs, in dollars a million tokens.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelPrice {
    input: Dollars,
    output: Dollars,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "f64")]
struct Dollars(f64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(usd: f64) -> Result<Self, String> {
        let is_amount = usd.is_finite() && (0.0..=1e6).contains(&usd);
        is_amount
            .then_some(Dollars(usd))
            .ok_or_else(|| format!("{usd} is no number of dollars"))
    }
}

/// What is wrong with a configuration, without keys that stand in it: whoever parses it shows the line.
pub(crate) fn without_keys(message: &str, text: &str) -> String {
    let mut message = message.to_string();
    let is_around = |letter: char| letter.is_whitespace() || "='\",{}[]".contains(letter);
    for (at, name) in text.match_indices("api_key") {
        let value = text[at + name.len()..].trim_start_matches(is_around);
        let value = value.split(is_around).next().unwrap_or_default();
        if value.len() > 3 {
            message = message.replace(value, HIDDEN);
        }
    }
    // Under another name, too.
    let words: Vec<String> = message
        .split(is_around)
        .filter(|word| word.starts_with("sk-"))
        .map(str::to_string)
        .collect();
    for word in words {
        message = message.replace(&word, HIDDEN);
    }
    message
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const KEY: &str = "sk-ant-not-a-key";

    fn check(text: &str, expect: Result<(usize, Option<u64>), &str>) {
        let config = Config::parse(&format!("[compress]\n{text}")).map(|config| config.compress);
        match (config, expect) {
            (Ok(config), Ok(expect)) => {
                let found = (config.observations.0.len(), config.caps().micro_usd);
                assert_eq!(found, expect, "{text}");
            }
            (Err(message), Err(expect)) => {
                assert!(message.contains(expect), "{text}: {message}");
                assert!(!message.contains("not-a-key"), "{message}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn who_writes_and_for_how_much() {
        check("", Ok((1, Some(1_000_000))));
        check(
            "observations = \"a\"\ndaily_usd = 2",
            Ok((1, Some(2_000_000))),
        );
        check(
            "observations = [\"a\", \"b\"]\ndaily_usd = \"none\"",
            Ok((2, None)),
        );
        check("observations = []", Ok((0, Some(1_000_000))));
        check("observations = [\"a\", \"b\", \"c\"]", Err("not more"));
        check("observations = [\"a\", \"a\"]", Err("must differ"));
        check("observations = \"two words\"", Err("no name of a model"));
        check("daily_usd = -1", Err("no number of dollars"));
        check("daily_usd = nan", Err("no number of dollars"));
        check("daily_usd = \"much\"", Err("\"none\""));
        check("with = \"openai\"", Err("unknown variant"));
        check(
            "prices.m = { input = 1, output = -5 }",
            Err("no number of dollars"),
        );
        check(
            "prices.m = { input = 1, output = 5 }",
            Ok((1, Some(1_000_000))),
        );
    }

    #[test]
    fn no_error_shows_a_key() {
        check(&format!("api_key = \"{KEY}\nwith = 5"), Err(""));
        check(&format!("api_key = [\"{KEY}\"]"), Err("invalid type"));
        check(&format!("apikey = \"{KEY}\""), Err("unknown field"));
        check(&format!("daily_tokens = \"{KEY}\""), Err("invalid type"));
        check("api_key = [\"my-not-a-key\"]", Err("invalid type"));
        let config = Config::parse(&format!("compress.api_key = \"{KEY}\"")).unwrap();
        assert!(!toml::to_string(&config).unwrap().contains(KEY));
        assert!(!format!("{config:?}").contains(KEY));
    }
}
