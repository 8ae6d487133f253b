//! Searches sessions by words and by a value that their agent recorded.
//!
//! `cargo run --example search -- MEMORY "flaky test" git.branch main`
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use backstory_memory::{Memory, MetaEquals, Query, SearchOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, query, key, value] = &arguments[..] else {
        return Err("MEMORY QUERY KEY VALUE".into());
    };
    let memory = Memory::open_existing(folder.as_ref())?.ok_or("no memory there")?;
    let mut options = SearchOptions::default();
    options.filter.meta_equals = vec![MetaEquals::new(key, value).ok_or("invalid key")?];
    for hit in memory.search().run(&Query::parse(query), &options)?.hits {
        let text = hit.snippet.marked("*", "*");
        println!("{}#{} {text}", hit.session.session, hit.turn);
    }
    Ok(())
}
