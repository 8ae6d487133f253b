//! Comparison with brush-parser, a complete bash parser.
//!
//! Where both differ, bash was asked. These differences are meant:
//! - A line that bash rejects has commands all the same: an open quote, substitution or block goes to the end of the line.
//! - `((…))` is one word of its own, and so are tests in `[[ … ]]`, of which every operator is a word; brush has expressions.
//! - Commands in process substitutions are a word, not commands.
//! - A command that only redirects is not listed.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, SeparatorOperator,
};
use brush_parser::word::{WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

use super::grammar::parse_posix;
use super::shell::Connector;

/// Words, connector and whether the output goes into another command.
pub(super) type Part = (Vec<String>, Connector, bool);

#[derive(Default)]
struct Flattened {
    parts: Vec<Part>,
    connector: Connector,
}

impl Flattened {
    fn add_list(&mut self, list: &CompoundList, is_piped: bool) {
        for item in &list.0 {
            let before = self.parts.len();
            self.add_pipeline(&item.0.first.seq, is_piped);
            for more in &item.0.additional {
                let (connector, pipeline) = match more {
                    AndOr::And(pipeline) => (Connector::And, pipeline),
                    AndOr::Or(pipeline) => (Connector::Or, pipeline),
                };
                self.connector = connector;
                self.add_pipeline(&pipeline.seq, is_piped);
            }
            if self.parts.len() > before {
                self.connector = match item.1 {
                    SeparatorOperator::Async => Connector::Background,
                    SeparatorOperator::Sequence => Connector::Then,
                };
            }
        }
    }

    fn add_pipeline(&mut self, commands: &[Command], is_piped: bool) {
        let connector = self.connector;
        for (place, command) in commands.iter().enumerate() {
            self.connector = connector;
            self.add_command(command, is_piped || place + 1 < commands.len());
        }
    }

    fn add_command(&mut self, command: &Command, is_piped: bool) {
        match command {
            Command::Simple(simple) => {
                let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
                let assigned = items.filter_map(|item| match item {
                    CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                        Some(plain_word(&word.value))
                    }
                    _ => None,
                });
                let mut words: Vec<String> = match &simple.word_or_name {
                    Some(name) => vec![plain_word(&name.value)],
                    None => assigned.take(1).collect(),
                };
                for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
                    match item {
                        CommandPrefixOrSuffixItem::Word(word)
                        | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                            words.push(plain_word(&word.value));
                        }
                        _ => {}
                    }
                }
                self.push(words, is_piped);
            }
            Command::Compound(compound, _) => self.add_compound(compound, is_piped),
            Command::Function(function) => self.add_compound(&function.body.0, is_piped),
            Command::ExtendedTest(_, _) => self.push(vec!["[[".into()], is_piped),
        }
    }

    fn push(&mut self, words: Vec<String>, is_piped: bool) {
        if !words.is_empty() {
            self.parts.push((words, self.connector, is_piped));
        }
    }

    fn add_compound(&mut self, compound: &CompoundCommand, is_piped: bool) {
        match compound {
            CompoundCommand::Arithmetic(_) => self.push(vec!["((".into()], is_piped),
            CompoundCommand::ArithmeticForClause(clause) => {
                self.add_list(&clause.body.list, is_piped)
            }
            CompoundCommand::BraceGroup(group) => self.add_list(&group.list, is_piped),
            CompoundCommand::Subshell(shell) => self.add_list(&shell.list, is_piped),
            CompoundCommand::ForClause(clause) => self.add_list(&clause.body.list, is_piped),
            CompoundCommand::CaseClause(clause) => {
                for item in clause.cases.iter().filter_map(|item| item.cmd.as_ref()) {
                    self.add_list(item, is_piped);
                    self.connector = Connector::Then;
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.add_list(&clause.condition, is_piped);
                self.add_list(&clause.then, is_piped);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.add_list(condition, is_piped);
                    }
                    self.add_list(&other.body, is_piped);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.add_list(&clause.0, is_piped);
                self.add_list(&clause.1.list, is_piped);
            }
            CompoundCommand::Coprocess(_) => {}
        }
    }
}

/// A word of brush without its quotes.
fn plain_word(raw: &str) -> String {
    let pieces = brush_parser::word::parse(raw, &ParserOptions::default());
    pieces.map_or_else(|_| raw.to_string(), |pieces| join_pieces(raw, &pieces))
}

fn join_pieces(raw: &str, pieces: &[WordPieceWithSource]) -> String {
    let piece = |piece: &WordPieceWithSource| match &piece.piece {
        WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => text.clone(),
        WordPiece::AnsiCQuotedText(text) => text.replace("\\n", "\n").replace("\\'", "'"),
        WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
            join_pieces(raw, inner)
        }
        WordPiece::EscapeSequence(text) => match text.strip_prefix('\\') {
            Some("\n") => String::new(),
            Some(letter) => letter.to_string(),
            None => text.clone(),
        },
        _ => {
            let end = raw.len().min(piece.end_index);
            raw.get(piece.start_index..end)
                .unwrap_or_default()
                .to_string()
        }
    };
    pieces.iter().map(piece).collect()
}

/// Parts of a line by brush-parser, or nothing if it rejects the line.
pub(super) fn brush_parts(line: &str) -> Option<Vec<Part>> {
    let mut parser = Parser::new(line.as_bytes(), &ParserOptions::default());
    let program = parser.parse_program().ok()?;
    let mut flattened = Flattened::default();
    for list in &program.complete_commands {
        flattened.add_list(list, false);
    }
    Some(flattened.parts)
}

/// Parts of a line by our parser, in brush-parser's terms.
pub(super) fn our_parts(line: &str) -> Vec<Part> {
    let part = |command: super::ShellCommand| {
        let mut words = command.words;
        if let Some(first) = words.first()
            && (first == "[[" || first.starts_with("(("))
        {
            words = vec![first.chars().take(2).collect()];
        }
        (words, command.connector, command.is_piped_on)
    };
    parse_posix(line).into_iter().map(part).collect()
}
