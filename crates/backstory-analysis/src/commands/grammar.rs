//! Lists, pipelines, groups and keywords of POSIX shells and bash.

use super::folder::FolderState;
use super::lexer::{Lexer, Token};
use super::shell::{Connector, ShellCommand};
use super::word::Word;
use crate::text;

/// Depth of blocks to which they are told apart. Deeper ones are part of the block around them.
const MAX_DEPTH: usize = 32;

/// Maximum length of the kept beginning of a here-document.
const MAX_HERE_BYTES: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Subshell,
    Braces,
    If,
    Loop,
    Case,
    Function,
}

struct Block {
    kind: BlockKind,
    /// Number of the first command in it, and of the list around it.
    start: usize,
    list_start: usize,
    connector: Connector,
    /// In a `case`, patterns are read up to their parenthesis.
    in_pattern: bool,
    /// Its commands may not run, or their failure may not be seen.
    is_conditional: bool,
    /// Of a subshell, the folder around it.
    folders: Option<FolderState>,
}

/// Words whose commands are not read: `for x in …`, `case … in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    None,
    Loop,
    Case,
    /// `function` was read, its name was not.
    FunctionName,
    FunctionBody,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    commands: Vec<ShellCommand>,
    heres: Vec<(usize, usize)>,
    blocks: Vec<Block>,
    /// Blocks deeper than the maximum.
    too_deep: usize,
    words: Vec<String>,
    here: Option<usize>,
    assignment: Option<String>,
    connector: Connector,
    pipeline: usize,
    list_start: usize,
    /// First command of the block that has just ended.
    ended_block: Option<usize>,
    /// Something stands behind the last operator.
    has_part: bool,
    is_negated: bool,
    header: Header,
    folders: FolderState,
}

/// Parses a command line of bash or another POSIX shell. Wrappers stay.
pub(super) fn parse_posix(line: &str) -> Vec<ShellCommand> {
    let mut parser = Parser {
        lexer: Lexer::new(line),
        commands: Vec::new(),
        heres: Vec::new(),
        blocks: Vec::new(),
        too_deep: 0,
        words: Vec::new(),
        here: None,
        assignment: None,
        connector: Connector::First,
        pipeline: 0,
        list_start: 0,
        ended_block: None,
        has_part: false,
        is_negated: false,
        header: Header::None,
        folders: FolderState::default(),
    };
    while let Some(token) = parser.lexer.next_token() {
        parser.push_token(token);
    }
    parser.finish_command();
    for (command, here) in std::mem::take(&mut parser.heres) {
        let body = parser.lexer.here_text(here).unwrap_or_default();
        if let Some(command) = parser.commands.get_mut(command) {
            command.here_text = Some(text::beginning(body, MAX_HERE_BYTES).to_string());
        }
    }
    parser.commands
}

impl Parser<'_> {
    fn push_token(&mut self, token: Token) {
        if self.in_pattern() {
            match token {
                Token::Close => self.set_pattern(false),
                Token::Word(word) if word.as_plain() == Some("esac") => {
                    self.close(&[BlockKind::Case]);
                }
                _ => {}
            }
            return;
        }
        match token {
            Token::Word(word) => self.push_word(word),
            Token::Here(number) => self.here = Some(number),
            Token::Separator => self.end_pipeline(Connector::Then),
            Token::And => self.end_pipeline(Connector::And),
            Token::Or => self.end_pipeline(Connector::Or),
            Token::Background => self.end_pipeline(Connector::Background),
            Token::Pipe => self.pipe_on(),
            Token::Open if self.header != Header::None => {}
            Token::Open if self.words.is_empty() || self.words == ["time"] => {
                self.words.clear();
                self.open(BlockKind::Subshell);
            }
            // The parenthesis of `name()`.
            Token::Open => {
                self.words.clear();
                self.header = Header::FunctionBody;
            }
            Token::Close if self.header == Header::FunctionBody => {}
            Token::Close => self.close(&[BlockKind::Subshell]),
            Token::CaseEnd => {
                self.end_pipeline(Connector::Then);
                self.set_pattern(true);
            }
        }
    }

    fn push_word(&mut self, word: Word) {
        match self.header {
            Header::None => {}
            Header::Loop if word.as_plain() == Some("do") => self.header = Header::None,
            Header::Case if word.as_plain() == Some("in") => {
                self.header = Header::None;
                self.set_pattern(true);
                return;
            }
            Header::FunctionName => {
                self.header = Header::FunctionBody;
                return;
            }
            Header::FunctionBody if word.as_plain() == Some("{") => {
                self.open(BlockKind::Function);
                return;
            }
            Header::FunctionBody => self.header = Header::None,
            Header::Loop | Header::Case => return,
        }
        let is_command_start = self.words.is_empty() && self.assignment.is_none();
        if is_command_start
            && let Some(plain) = word.as_plain()
            && self.push_keyword(plain)
        {
            return;
        }
        // Only redirections can follow a block.
        if self.ended_block.is_some() {
            return;
        }
        if self.words.is_empty() && word.is_assignment() {
            self.assignment.get_or_insert(word.text);
            return;
        }
        self.words.push(word.text);
    }

    /// Takes a keyword; returns whether it is one.
    fn push_keyword(&mut self, word: &str) -> bool {
        match word {
            "if" => self.open(BlockKind::If),
            "while" | "until" => self.open(BlockKind::Loop),
            "for" | "select" => {
                self.open(BlockKind::Loop);
                self.header = Header::Loop;
            }
            "case" => {
                self.open(BlockKind::Case);
                self.header = Header::Case;
            }
            "function" => self.header = Header::FunctionName,
            "{" => self.open(BlockKind::Braces),
            "!" => self.is_negated = true,
            "then" | "else" | "elif" | "do" => {}
            "fi" => self.close(&[BlockKind::If]),
            "done" => self.close(&[BlockKind::Loop]),
            "esac" => self.close(&[BlockKind::Case]),
            "}" => self.close(&[BlockKind::Braces, BlockKind::Function]),
            _ => return false,
        }
        true
    }

    fn open(&mut self, kind: BlockKind) {
        self.header = Header::None;
        self.ended_block = None;
        self.has_part = false;
        if self.blocks.len() >= MAX_DEPTH {
            self.too_deep += 1;
            return;
        }
        self.blocks.push(Block {
            kind,
            start: self.commands.len(),
            list_start: self.list_start,
            connector: self.connector,
            in_pattern: false,
            is_conditional: self.is_negated
                || !matches!(kind, BlockKind::Subshell | BlockKind::Braces),
            folders: (kind == BlockKind::Subshell).then(|| self.folders.clone()),
        });
        self.is_negated = false;
        self.list_start = self.commands.len();
    }

    /// Ends the innermost block of these kinds, and blocks in it that were not ended.
    fn close(&mut self, kinds: &[BlockKind]) {
        self.finish_command();
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let is_meant = |block: &Block| kinds.contains(&block.kind);
        let Some(place) = self.blocks.iter().rposition(is_meant) else {
            return;
        };
        let mut ended = self.blocks.drain(place..);
        let Some(block) = ended.next() else {
            return;
        };
        drop(ended);
        self.list_start = block.list_start;
        self.connector = block.connector;
        if let Some(folders) = block.folders {
            self.folders = folders;
        }
        self.header = Header::None;
        self.has_part = true;
        self.ended_block = Some(block.start);
        // `a && (b; c)`: it cannot be seen from the connector of `c` that it runs only after `a`.
        if matches!(block.connector, Connector::And | Connector::Or) {
            for command in self.commands.iter_mut().skip(block.start) {
                command.is_conditional |=
                    matches!(command.connector, Connector::Then | Connector::Background);
            }
        }
    }

    /// Adds the command whose words were read.
    fn finish_command(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        let assignment = self.assignment.take();
        let here = self.here.take();
        if words.is_empty() {
            words.extend(assignment);
        }
        if words.is_empty() {
            return;
        }
        self.heres
            .extend(here.map(|here| (self.commands.len(), here)));
        let is_conditional =
            self.is_negated || self.blocks.iter().any(|block| block.is_conditional);
        let folder = self.folders.current();
        self.folders.apply(&words);
        self.commands.push(ShellCommand {
            words,
            folder,
            connector: self.connector,
            pipeline: self.pipeline,
            is_conditional,
            ..ShellCommand::default()
        });
        self.has_part = true;
    }

    fn end_pipeline(&mut self, connector: Connector) {
        // The words of `for x in …` end here, and those of `case … in` do not.
        if self.header == Header::Loop {
            self.header = Header::None;
            return;
        }
        self.finish_command();
        if !self.has_part {
            return;
        }
        self.has_part = false;
        self.ended_block = None;
        self.is_negated = false;
        self.connector = connector;
        self.pipeline += 1;
        if connector == Connector::Background {
            for command in self.commands.iter_mut().skip(self.list_start) {
                command.is_background = true;
            }
        }
        if matches!(connector, Connector::Then | Connector::Background) {
            self.list_start = self.commands.len();
        }
    }

    fn pipe_on(&mut self) {
        self.finish_command();
        if !self.has_part {
            return;
        }
        let last = self.commands.len().saturating_sub(1);
        let start = self.ended_block.take().unwrap_or(last);
        for command in self.commands.iter_mut().skip(start) {
            command.is_piped_on = true;
        }
        self.has_part = false;
    }

    fn in_pattern(&self) -> bool {
        self.blocks.last().is_some_and(|block| block.in_pattern)
    }

    fn set_pattern(&mut self, in_pattern: bool) {
        if let Some(block) = self.blocks.last_mut()
            && block.kind == BlockKind::Case
        {
            block.in_pattern = in_pattern;
        }
    }
}
