//! Commands of a session: the parts of a shell line, the checks and deliveries among them, and the results of each.
//!
//! - [`parse_shell_line`] splits a line into [`ShellCommand`]s, without running or expanding anything.
//! - [`Check::find`] recognizes tests, linters, builds, formatters and type checkers.
//! - [`Delivery::find`] recognizes commits, pushes, pull requests, merges, tags and releases.
//! - [`judge_line`] gives every check and delivery of a line its [`PartVerdict`], by its own output where the output has it.
//!
//! Lines and outputs are hostile input: work is linear in their length, and nested text is read without recursion.

mod arguments;
mod chain;
mod check;
mod check_builders;
mod check_linters;
mod check_scripts;
mod check_tests;
mod check_tools;
mod delivered;
mod delivery;
mod error_line;
mod error_rank;
mod evidence;
mod finding_lints;
mod finding_tests;
mod findings;
mod folder;
mod grammar;
mod lexer;
mod nested;
mod place;
mod powershell;
mod shell;
mod test_reader;
mod verdict;
mod word;
mod wrapper;

pub use check::{Check, CheckFamily};
pub use delivery::{Delivery, DeliveryKind};
pub use shell::{Connector, ShellCommand, parse_shell_line};
pub use verdict::{LinePart, LineResult, PartVerdict, judge_line};

#[cfg(test)]
mod tests;
