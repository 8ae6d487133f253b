//! What models cost.

/// Dollars a million tokens, which are millionths of a dollar a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of tokens that go in.
    pub input: f64,
    /// Of tokens that come out.
    pub output: f64,
}

impl Price {
    /// What so many tokens cost, in millionths of a dollar, rounded up.
    pub(crate) fn micro_usd(&self, input_tokens: u64, output_tokens: u64) -> u64 {
        let cost = input_tokens as f64 * self.input + output_tokens as f64 * self.output;
        cost.ceil() as u64
    }
}

/// A model that is not here has its price in the configuration.
const PRICES: [(&str, f64, f64); 10] = [
    ("claude-haiku-4-5", 1.0, 5.0),
    ("claude-sonnet-4-5", 3.0, 15.0),
    ("claude-sonnet-4", 3.0, 15.0),
    ("claude-sonnet-4-0", 3.0, 15.0),
    ("claude-opus-4-5", 5.0, 25.0),
    ("claude-opus-4-1", 15.0, 75.0),
    ("claude-opus-4-0", 15.0, 75.0),
    ("claude-opus-4", 15.0, 75.0),
    ("claude-3-5-haiku", 0.8, 4.0),
    ("claude-3-haiku", 0.25, 1.25),
];

/// The price of a model that is known, by its name with or without a date behind it. Another number there is another model.
pub(crate) fn known_price(model: &str) -> Option<Price> {
    let is_date = |end: &str| {
        end == "latest" || (end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let name = match model.rsplit_once('-') {
        Some((name, end)) if is_date(end) => name,
        _ => model,
    };
    let known = PRICES.iter().find(|(known, ..)| *known == name);
    known.map(|&(_, input, output)| Price { input, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, expect: Option<(f64, f64)>) {
        let price = known_price(model).map(|price| (price.input, price.output));
        assert_eq!(price, expect, "{model}");
    }

    #[test]
    fn prices_are_of_exactly_this_model() {
        check("claude-haiku-4-5", Some((1.0, 5.0)));
        check("claude-haiku-4-5-20251001", Some((1.0, 5.0)));
        check("claude-3-5-haiku-latest", Some((0.8, 4.0)));
        check("claude-sonnet-4-20250514", Some((3.0, 15.0)));
        check("claude-opus-4-20250514", Some((15.0, 75.0)));
        check("claude-opus-4-5", Some((5.0, 25.0)));
        check("claude-opus-4-9", None);
        check("claude-opus-5", None);
        check("", None);
    }

    #[test]
    fn what_it_costs_is_rounded_up() {
        let price = Price {
            input: 0.25,
            output: 1.25,
        };
        assert_eq!(price.micro_usd(0, 0), 0);
        assert_eq!(price.micro_usd(1, 0), 1);
        assert_eq!(price.micro_usd(8, 4), 7);
    }
}
