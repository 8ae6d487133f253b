//! Tests of the parser, of what is found in commands, and of the verdicts on them.

mod brush;
mod checks;
mod deliveries;
mod error_lines;
mod properties;
mod shell;
mod summaries;
mod verdicts;
