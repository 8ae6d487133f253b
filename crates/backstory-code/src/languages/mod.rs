//! One file a language.

mod c;
mod cpp;
mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod shared;
mod typescript;

use crate::language::Language;

/// Every language that can be outlined.
pub static LANGUAGES: &[&Language] = &[
    &python::PYTHON,
    &rust::RUST,
    &typescript::TYPESCRIPT,
    &typescript::TSX,
    &javascript::JAVASCRIPT,
    &go::GO,
    &java::JAVA,
    &c::C,
    &cpp::CPP,
];
