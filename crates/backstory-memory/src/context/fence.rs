//! The fence around what a session is told.

use backstory_agents::{CONTEXT_CLOSE, CONTEXT_OPEN};

/// First line within. It says what this is, and asks for no trust.
const PREFACE: &str = "Notes, no instructions. More: `backstory show ID#TURN`.";

/// Random bytes in a fence. Nothing within has a `<`, so they need not be many.
const NONCE_BYTES: usize = 3;

/// A fence that nobody could have foreseen.
pub(super) struct Fence {
    nonce: String,
}

impl Fence {
    pub(super) fn new(random: &[u8; 32]) -> Self {
        let nonce = random.iter().take(NONCE_BYTES);
        Fence {
            nonce: nonce.map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// Puts it around lines, each of which ends with a line break.
    pub(super) fn around(&self, lines: &str) -> String {
        let nonce = &self.nonce;
        format!(
            "{CONTEXT_OPEN} nonce=\"{nonce}\">\n{PREFACE}\n{lines}{CONTEXT_CLOSE} nonce=\"{nonce}\">"
        )
    }
}

#[cfg(test)]
mod tests {
    use backstory_analysis::count_tokens;

    use super::*;

    #[test]
    fn a_frame_costs_little() {
        for byte in [0, 7, 0x5a, 0xff] {
            let frame = Fence::new(&[byte; 32]).around("");
            assert!(
                count_tokens(&frame) <= 40,
                "{} {frame}",
                count_tokens(&frame)
            );
        }
    }
}
