//! Pictures pasted into sessions. Noise of plausible size behind the header of a PNG; each is used twice, since people paste the
//! same screenshot into the next session too.

use super::random::Random;

/// What every PNG starts with, in base64.
const HEADER: &str = "iVBORw0KGgoAAAANSUhEUgAA";

/// A supply of pictures.
pub(crate) struct Images {
    seed: u64,
    used: u64,
}

impl Images {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, used: 0 }
    }

    /// The next picture, in base64: a new one every other time.
    pub(crate) fn next(&mut self) -> String {
        let mut random = Random::new(self.seed ^ (self.used / 2).wrapping_mul(0x1_0001));
        self.used += 1;
        // A multiple of four characters, so that it decodes.
        let length = random.between(2_000, 9_000) as usize * 4;
        format!("{HEADER}{}", random.base64(length))
    }
}
