//! Writes what the targets start from into `corpus/`, beside this crate's `Cargo.toml`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    for target in ["claude_code", "codex", "grok", "redact"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, piece) in backstory_fuzz::seeds(target, 1).into_iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:04}")), piece)?;
        }
    }
    Ok(())
}
