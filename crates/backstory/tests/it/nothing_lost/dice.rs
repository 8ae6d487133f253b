//! A small seeded source of randomness, and values as logs may have them.

use serde_json::{Map, Value, json};

/// 3 February 2026, 4:05.
const BEGIN_MS: i64 = 1_770_091_500_000;

/// What names and texts may have in them.
const ODD: [&str; 12] = [
    "",
    "",
    "",
    " é",
    " 数据",
    " 🦀",
    " \"quoted\"",
    " back\\slash",
    " a/b",
    " zero\u{200b}width",
    " <b>",
    " {\"a\": [1]}",
];

const WORDS: [&str; 14] = [
    "count",
    "the",
    "coins",
    "Münze",
    "räumt",
    "auf",
    "дом",
    "数据",
    "🦀🦀",
    "\"quoted\"",
    "a\\b",
    "two\nlines",
    "tab\there",
    "[x](y)",
];

/// Random values, and a clock that goes on.
pub(super) struct Dice {
    state: u64,
    made: u64,
    now: i64,
}

impl Dice {
    pub(super) fn new(seed: u64, log: u64) -> Self {
        Dice {
            state: seed.wrapping_mul(1_000_003).wrapping_add(log),
            made: log * 10_000,
            now: BEGIN_MS + log as i64 * 3_600_000,
        }
    }

    /// Splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A count of tokens: small, usual or huge. Above a trillion the program takes a count for damage.
    pub(super) fn count(&mut self) -> u64 {
        let bits = self.pick(&[0, 4, 12, 20, 38]);
        self.below(1 << bits)
    }

    /// Names something, and nothing else in any log.
    pub(super) fn name(&mut self, of: &str) -> String {
        self.made += 1;
        let odd = self.pick(&ODD);
        format!("{of}-{}{odd}", self.made)
    }

    /// A name, or nothing.
    pub(super) fn maybe(&mut self, of: &str) -> Value {
        match self.percent(65) {
            true => json!(self.name(of)),
            false => Value::Null,
        }
    }

    /// Some words that nothing else says.
    pub(super) fn text(&mut self, of: &str) -> String {
        let mut text = self.name(of);
        for _ in 0..self.below(12) {
            text.push(' ');
            text.push_str(self.pick(&WORDS));
        }
        text
    }

    pub(super) fn uuid(&mut self) -> String {
        self.made += 1;
        let tail = self.next() >> 16;
        format!("{:08x}-0000-7000-8000-{tail:012x}", self.made)
    }

    /// The time goes on a little; unix milliseconds.
    pub(super) fn tick(&mut self) -> i64 {
        self.now += 1 + self.below(4_000) as i64;
        self.now
    }

    /// Takes fields out of an object, each now and then, or leaves null in their place.
    pub(super) fn thin_out(&mut self, record: &mut Value, fields: &[&str]) {
        let record: &mut Map<String, Value> = record.as_object_mut().unwrap();
        for field in fields {
            match self.below(10) {
                0..3 => drop(record.remove(*field)),
                3 => drop(record.insert(field.to_string(), Value::Null)),
                _ => {}
            }
        }
    }
}

/// A time as logs have it.
pub(super) fn log_time(at: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(at).unwrap();
    format!("{time:.3}")
}

/// A time as the program prints it.
pub(super) fn shown_time(at: i64) -> Value {
    json!(log_time(at))
}

/// An object with more fields.
pub(super) fn with(mut record: Value, more: Value) -> Value {
    let Value::Object(more) = more else {
        return record;
    };
    record.as_object_mut().unwrap().extend(more);
    record
}
