//! The models that are known by name.

use crate::Family;

/// A model on the hub.
#[derive(Debug)]
pub struct Entry {
    /// What it is called here.
    pub name: &'static str,
    /// Owner and name of its repository.
    pub repository: &'static str,
    /// Which state of the repository.
    pub revision: &'static str,
    /// The files that are fetched.
    pub files: &'static [HubFile],
    /// How it makes vectors.
    pub family: Family,
    /// The length of its vectors.
    pub dimensions: usize,
    /// The licence of the weights.
    pub licence: &'static str,
    /// What it is good for, in one line.
    pub description: &'static str,
    /// About how many megabytes are fetched.
    pub megabytes: u32,
}

/// A file on the hub.
#[derive(Debug)]
pub struct HubFile {
    /// Its path in the repository.
    pub name: &'static str,
    /// Its SHA-256 in hexadecimal digits, where it is pinned. The others have the checksum that the hub names.
    pub sha256: Option<&'static str>,
}

const fn file(name: &'static str) -> HubFile {
    HubFile { name, sha256: None }
}

const fn pinned(name: &'static str, sha256: &'static str) -> HubFile {
    HubFile {
        name,
        sha256: Some(sha256),
    }
}

const STATIC_FILES: &[HubFile] = &[
    file("README.md"),
    file("config.json"),
    file("tokenizer.json"),
    file("model.safetensors"),
];

const NETWORK_FILES: &[HubFile] = &[
    file("README.md"),
    file("config.json"),
    file("modules.json"),
    file("1_Pooling/config.json"),
    file("tokenizer.json"),
    file("model.safetensors"),
];

const NETWORK_FILES_WITH_PROMPTS: &[HubFile] = &[
    file("README.md"),
    file("config.json"),
    file("config_sentence_transformers.json"),
    file("modules.json"),
    file("1_Pooling/config.json"),
    file("tokenizer.json"),
    file("model.safetensors"),
];

/// The models that are known by name. Static ones first: they need no network to run and answer in microseconds.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "potion-base-8M",
        repository: "minishlab/potion-base-8M",
        revision: "main",
        files: STATIC_FILES,
        family: Family::Model2vec,
        dimensions: 256,
        licence: "MIT",
        description: "small static table for English",
        megabytes: 31,
    },
    Entry {
        name: "potion-base-32M",
        repository: "minishlab/potion-base-32M",
        revision: "main",
        files: STATIC_FILES,
        family: Family::Model2vec,
        dimensions: 512,
        licence: "MIT",
        description: "larger static table for English",
        megabytes: 131,
    },
    Entry {
        name: "potion-retrieval-32M",
        repository: "minishlab/potion-retrieval-32M",
        revision: "main",
        files: STATIC_FILES,
        family: Family::Model2vec,
        dimensions: 512,
        licence: "MIT",
        description: "static table for English, made for finding passages",
        megabytes: 131,
    },
    Entry {
        name: "potion-multilingual-128M",
        repository: "minishlab/potion-multilingual-128M",
        revision: "main",
        files: STATIC_FILES,
        family: Family::Model2vec,
        dimensions: 256,
        licence: "MIT",
        description: "static table for a hundred languages",
        megabytes: 531,
    },
    Entry {
        name: "all-MiniLM-L6-v2",
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        revision: "main",
        files: &[
            file("README.md"),
            file("config.json"),
            file("modules.json"),
            file("1_Pooling/config.json"),
            file("sentence_bert_config.json"),
            pinned(
                "tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            pinned(
                "model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
        ],
        family: Family::Bert,
        dimensions: 384,
        licence: "Apache-2.0",
        description: "small network for English sentences",
        megabytes: 92,
    },
    Entry {
        name: "bge-small-en-v1.5",
        repository: "BAAI/bge-small-en-v1.5",
        revision: "main",
        files: NETWORK_FILES,
        family: Family::Bert,
        dimensions: 384,
        licence: "MIT",
        description: "small network for English, made for finding passages",
        megabytes: 135,
    },
    Entry {
        name: "nomic-embed-text-v1.5",
        repository: "nomic-ai/nomic-embed-text-v1.5",
        revision: "main",
        files: NETWORK_FILES_WITH_PROMPTS,
        family: Family::NomicBert,
        dimensions: 768,
        licence: "Apache-2.0",
        description: "network for long English texts",
        megabytes: 548,
    },
    Entry {
        name: "Qwen3-Embedding-0.6B",
        repository: "Qwen/Qwen3-Embedding-0.6B",
        revision: "main",
        files: NETWORK_FILES_WITH_PROMPTS,
        family: Family::Qwen3,
        dimensions: 1024,
        licence: "Apache-2.0",
        description: "large network for many languages and code",
        megabytes: 1203,
    },
];
