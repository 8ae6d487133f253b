//! Searches with a vector of one's own, and reads the vectors that are stored.
//!
//! `cargo run --example vectors -- MEMORY MODEL` after `backstory model add MODEL` and `backstory embed`
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use backstory_memory::{Memory, Mode, SearchOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, model] = &arguments[..] else {
        return Err("MEMORY MODEL".into());
    };
    let memory = Memory::open_existing(folder.as_ref())?.ok_or("no memory there")?;
    let mut passages = Vec::new();
    (memory.models()).visit_vectors(model, |passage| passages.push(passage))?;
    // Any vector of the model's length will do: here it is that of the last passage.
    let vector = passages.pop().ok_or("no vectors")?.vector;
    let mut options = SearchOptions::default();
    (options.model, options.mode) = (Some(model.clone()), Mode::Semantic);
    for hit in memory.search().run_vector(&vector, &options)?.hits {
        println!("{}#{} {:.3}", hit.session.session, hit.turn, hit.score);
    }
    Ok(())
}
