//! Writes what the targets start from into `corpus/`, beside this crate's `Cargo.toml`.

use std::path::Path;

/// So many times logs are generated: every one has other sessions.
const SEEDS: u64 = 8;

fn main() -> std::io::Result<()> {
    for corpus in backstory_fuzz::corpora() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(&corpus);
        std::fs::create_dir_all(&folder)?;
        let pieces = (1..=SEEDS).flat_map(|seed| backstory_fuzz::seeds(&corpus, seed));
        for (number, piece) in pieces.enumerate() {
            std::fs::write(folder.join(format!("seed-{number:04}")), piece)?;
        }
    }
    Ok(())
}
