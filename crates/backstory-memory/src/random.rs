//! Random bytes.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns bytes that nobody can guess, from the operating system.
pub fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    match getrandom::fill(&mut key) {
        Ok(()) => key,
        // The standard library knows other ways to ask the system for the keys of its hash maps, and ends the program if none works.
        Err(_) => hash_map_key(),
    }
}

fn hash_map_key() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for _ in 0..8 {
        hasher.update(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_comes_twice() {
        for draw in [random_key, hash_map_key] {
            assert_ne!(draw(), draw());
            assert_ne!(draw()[..16], [0; 16]);
        }
    }
}
