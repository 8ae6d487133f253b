//! The two checksums that the hub gives: SHA-256 of large files, and of small ones the name that Git gives their content.

use std::io::Read;
use std::path::Path;

use data_encoding::HEXLOWER;
use ring::digest::{self, Context};

use crate::map::open_file;
use crate::{Error, Result};

/// How much is hashed at a time.
const CHUNK: usize = 1 << 20;

/// What a file's content should come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checksum {
    /// SHA-256, in hexadecimal digits.
    Sha256(String),
    /// SHA-1 of Git's header for a file and the content, in hexadecimal digits.
    GitBlob(String),
}

impl Checksum {
    /// The checksum in the value of an `ETag` header; nothing where it is a tag of another kind.
    pub(super) fn from_tag(tag: &str) -> Option<Checksum> {
        let tag = tag.trim().trim_start_matches("W/").trim_matches('"');
        let tag = tag.to_ascii_lowercase();
        if !tag.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        match tag.len() {
            64 => Some(Checksum::Sha256(tag)),
            40 => Some(Checksum::GitBlob(tag)),
            _ => None,
        }
    }

    /// Whether a file has this checksum.
    pub(super) fn is_of(&self, path: &Path) -> Result<bool> {
        let in_path = |error| Error::io(path, error);
        let mut file = open_file(path).map_err(in_path)?;
        let (mut context, expected) = match self {
            Checksum::Sha256(expected) => (Context::new(&digest::SHA256), expected),
            Checksum::GitBlob(expected) => {
                let length = file.metadata().map_err(in_path)?.len();
                let mut context = Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
                context.update(format!("blob {length}\0").as_bytes());
                (context, expected)
            }
        };
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = file.read(&mut chunk).map_err(in_path)?;
            if length == 0 {
                break;
            }
            context.update(&chunk[..length]);
        }
        Ok(HEXLOWER.encode(context.finish().as_ref()) == *expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tags() {
        let long = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037";
        assert_eq!(
            Checksum::from_tag(&format!("\"{long}\"")),
            Some(Checksum::Sha256(long.to_owned()))
        );
        let short = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert_eq!(
            Checksum::from_tag(&format!("W/\"{short}\"")),
            Some(Checksum::GitBlob(short.to_owned()))
        );
        assert_eq!(
            Checksum::from_tag("\"d41d8cd98f00b204e9800998ecf8427e-7\""),
            None
        );
        assert_eq!(Checksum::from_tag(""), None);
    }

    #[test]
    fn knows_content_by_either() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hello");
        std::fs::write(&path, "hello\n").unwrap();
        // What `git hash-object` and `sha256sum` say.
        let git = Checksum::from_tag("ce013625030ba8dba906f756967f9e9ca394464a").unwrap();
        let sha = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        let sha = Checksum::from_tag(sha).unwrap();
        assert!(git.is_of(&path).unwrap() && sha.is_of(&path).unwrap());
        std::fs::write(&path, "hello!\n").unwrap();
        assert!(!git.is_of(&path).unwrap() && !sha.is_of(&path).unwrap());
    }
}
