//! Makes up secrets for tests, so that no file of this repository contains anything a scanner would take for a live one.
//!
//! A template is text with classes in braces: `{w36}` becomes 36 letters and digits. `«` and `»` stand around the part that
//! must vanish; without them that is all of it. `{pem:RSA PRIVATE KEY}` becomes a whole key block `{uuid}` a UUID and
//! `{basic16}` the base64 of a user and a password.

use super::rule::Rule;

/// A secret written the way it would stand in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// The line or lines as they would be written.
    pub text: String,
    /// The parts that must vanish.
    pub secrets: Vec<String>,
}

/// Writes a made-up secret that `rule` must find. The same seed gives the same secret.
///
/// For tests of whole programs: plant one secret of each rule in a log, run the program, and look for the secrets in every
/// byte it has written.
#[must_use]
pub fn planted(rule: &Rule, seed: u64) -> Planted {
    expand(rule.example, seed)
}

/// Expands a template.
pub(super) fn expand(template: &str, seed: u64) -> Planted {
    let mut random = Random(seed ^ 0x5DEE_CE66_D1CE_4E5B);
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut secret_start = None;
    let mut rest = template;
    while let Some(at) = rest.find(['{', '«', '»']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if let Some(inner) = from.strip_prefix('{') {
            let (class, after) = inner.split_once('}').unwrap_or((inner, ""));
            if let Some(kind) = class.strip_prefix("pem:") {
                let lines: Vec<String> = [64, 64, 64, 24]
                    .iter()
                    .map(|length| random.text("b", *length))
                    .collect();
                text.push_str(&format!(
                    "-----BEGIN {kind}-----\n{}==\n-----END {kind}-----",
                    lines.join("\n")
                ));
                secrets.extend(lines);
            } else {
                text.push_str(&random.class(class));
            }
            rest = after;
        } else if let Some(after) = from.strip_prefix('«') {
            secret_start = Some(text.len());
            rest = after;
        } else {
            let secret = secret_start
                .take()
                .and_then(|start| text.get(start..))
                .unwrap_or_default();
            secrets.extend(secret.lines().map(str::to_owned));
            rest = from.strip_prefix('»').unwrap_or_default();
        }
    }
    text.push_str(rest);
    if secrets.is_empty() {
        secrets.push(text.clone());
    }
    Planted { text, secrets }
}

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn class(&mut self, class: &str) -> String {
        if class == "uuid" {
            return [8, 4, 4, 4, 12]
                .map(|length| self.text("h", length))
                .join("-");
        }
        if let Some(length) = class.strip_prefix("basic") {
            let pair = format!("deploy:{}", self.text("p", length.parse().unwrap_or(16)));
            return data_encoding::BASE64.encode(pair.as_bytes());
        }
        let split = class
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(class.len());
        let (name, length) = class.split_at(split);
        self.text(name, length.parse().unwrap_or(1))
    }

    fn text(&mut self, class: &str, length: usize) -> String {
        let alphabet = alphabet(class);
        (0..length)
            .map(|at| {
                loop {
                    let picked =
                        usize::try_from(self.next() >> 33).unwrap_or_default() % alphabet.len();
                    let character = alphabet
                        .as_bytes()
                        .get(picked)
                        .copied()
                        .map_or('a', char::from);
                    // A digit now and then is what tells a key from a word; chance alone leaves some short keys without.
                    let digit = at % 5 == 3 && alphabet.bytes().any(|byte| byte.is_ascii_digit());
                    if character.is_ascii_digit() == digit
                        || !alphabet.bytes().any(|byte| byte.is_ascii_alphabetic())
                    {
                        break character;
                    }
                    if !digit && at % 5 != 1 {
                        break character;
                    }
                }
            })
            .collect()
    }
}

fn alphabet(class: &str) -> &'static str {
    match class {
        // Words of letters and digits; small; capital.
        "w" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "a" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "A" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "l" => "abcdefghijklmnopqrstuvwxyz",
        "L" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "d" => "0123456789",
        "h" => "0123456789abcdef",
        "H" => "0123456789ABCDEF",
        // Base58, base64, base64 for URLs, base32, and the alphabet of age keys.
        "B" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        "v" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "c" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        // What a password generator gives.
        "p" => "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#*+-_.",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_expanded() {
        let planted = expand("key=«ab_{h8}», {uuid}", 1);
        assert!(planted.text.starts_with("key=ab_"));
        assert_eq!(planted.secrets.len(), 1);
        assert_eq!(planted.secrets[0].len(), 11);
        assert_eq!(planted.text.len(), 4 + 11 + 2 + 36);
        assert_eq!(planted, expand("key=«ab_{h8}», {uuid}", 1));
        assert_ne!(planted, expand("key=«ab_{h8}», {uuid}", 2));
    }
}
