//! Commands of a session: the parts of a shell line, the checks and deliveries among them, and the results of each.
//!
//! - [`parse_shell_line`] splits a line into [`ShellCommand`]s, without running or expanding anything.
//! - [`Check::find`] recognizes tests, linters, builds, formatters and type checkers.
//! - [`Delivery::find`] recognizes commits, pushes, pull requests, merges, tags and releases.
//! - [`judge_line`] gives every check and delivery of a line its [`PartVerdict`], by its own output where the output has it.
//!
//! Lines and outputs are hostile input: work is linear in their length, and nested text is read without recursion.

mod check;
mod check_scripts;
mod check_tests;
mod check_tools;
mod folder;
mod grammar;
mod lexer;
mod nested;
mod powershell;
mod shell;
mod word;
mod wrapper;

pub use check::{Check, CheckFamily};
pub use shell::{Connector, ShellCommand, parse_shell_line};

#[cfg(test)]
mod brush_tests;
