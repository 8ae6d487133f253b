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

use super::super::grammar::parse_posix;
use super::super::{Connector, ShellCommand};

/// Words, connector and whether the output goes into another command.
type Part = (Vec<String>, Connector, bool);

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
                self.add_list(&clause.body.list, is_piped);
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
fn brush_parts(line: &str) -> Option<Vec<Part>> {
    let mut parser = Parser::new(line.as_bytes(), &ParserOptions::default());
    let program = parser.parse_program().ok()?;
    let mut flattened = Flattened::default();
    for list in &program.complete_commands {
        flattened.add_list(list, false);
    }
    Some(flattened.parts)
}

/// Parts of a line by our parser, in brush-parser's terms.
fn our_parts(line: &str) -> Vec<Part> {
    let part = |command: ShellCommand| {
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

/// Lines as agents write them.
const LINES: &[&str] = &[
    "git status --short && git diff --stat",
    "cargo fmt --all -- --check && cargo clippy --workspace -- -D warnings && cargo test",
    "cargo test -p store 2>&1 | tail -20",
    "cd /shop && RUST_LOG=debug cargo test cart::adds -- --nocapture",
    "npm run lint; npm test",
    "npm ci\nnpm run build\n",
    "make -j8 all || make clean",
    "ls -la # the folder",
    "echo '# not a comment' # a comment",
    "echo a#b c",
    "grep -rn \"a|b\" src | sort | uniq -c | head -5",
    "echo \"it's\" 'say \"hi\"' mixed\"quo\"'tes'",
    "echo a\\ b \\\"c\\\"",
    "git commit -m 'one; two && three | four'",
    "git commit -m \"fix: \\$HOME and \\`code\\`\"",
    "git commit -m \"$(cat <<'EOF'\nfix: don't stop\n\n- it's (really) done\nEOF\n)\" && git push",
    "cat > a.txt <<'EOF'\nrm -rf / ; it's data\nEOF\ncat a.txt",
    "cat <<-END | wc -l\n\tone\n\tEND\necho after",
    "cat <<A <<B\none\nA\ntwo\nB\necho after",
    "grep x <<< 'a string' && echo found",
    "python3 - <<'PY'\nfor x in (1, 2): print(\"it's\", x)\nPY",
    "echo one >out.txt 2>&1; echo two >>out.txt",
    "cmd >/dev/null 2>&1 </dev/null",
    "cmd &>all.log",
    "cmd 2> >(tee err.log >&2) | cat",
    "exec 3<>file",
    "sleep 1 & sleep 2 & wait",
    "npm start & curl localhost",
    "(cd web && npm test)",
    "(cd web && npm test) && echo ok",
    "{ echo a; echo b; } | sort",
    "(a; b) | c && d || e",
    "if cargo build; then cargo test; else echo broken; fi",
    "if [ -f a ] && [ -d b ]; then\n  echo yes\nelif true; then\n  echo maybe\nfi",
    "for f in *.rs src/*.rs; do rustfmt --check \"$f\"; done",
    "for f in a b\ndo\n  echo $f\ndone | sort",
    "for ((i = 0; i < 3; i++)); do echo $i; done",
    "while read -r line; do echo \"$line\"; done < input.txt",
    "until curl -sf localhost; do sleep 1; done",
    "case $x in\n  a|b) echo ab ;;\n  (c) echo c ;;\n  *) echo other\nesac\necho end",
    "! grep -q x file && echo none",
    "[[ -f a && $b == *.txt ]] && echo yes",
    "[[ $x =~ ^(a|b)+$ ]] || exit 1",
    "[ \"$a\" = b ] && echo equal",
    "(( x > 3 )) && echo big",
    "echo $((1 + (2 * 3))) done",
    "echo $(ls | wc -l) `date` end",
    "echo \"$(git log -1 --format=\"%s (%h)\")\"",
    "x=$(cat <<EOF\nit's\nEOF\n)\necho \"$x\"",
    "VERSION=1.2.3",
    "A=1 B=\"two words\" cmd C=3",
    "files=(a.rs b.rs); echo \"${files[@]}\"",
    "echo ${x:-\"a b\"} ${y%%/*}",
    "run() { cargo test \"$@\"; }; run -p store",
    "function run {\n  echo \"$1\"\n}\nrun x",
    "diff <(sort a) b",
    "find . -name '*.rs' -exec grep -l x {} \\;",
    "find . \\( -name a -o -name b \\) -print",
    "echo a \\\n  b \\\n  c",
    "echo one &&\n  echo two ||\n  echo three",
    "ls |\n  grep x |\n  wc -l",
    "a |& b",
    "set -euo pipefail; cargo test | tee log",
    "bash -lc 'cd x && make test'",
    "sudo -u www env A=1 timeout 5 ls",
    "jq -r '.[] | \"\\(.name): \\(.id)\"' data.json",
    "sed -i 's/a(b)/c;d/' file && awk '{print $1; print \"|\"}' file",
    "git log --format='%h %s' -5 | while read -r hash rest; do echo \"$hash\"; done",
    "echo é ünï 漢字 && echo '→ done'",
    "test -n \"$A\" -a ! -z \"$B\" && echo both",
    "echo {a,b}{1,2} ~/x ~user",
    "echo 'a\nb' ; echo c",
    "echo 2 > two; echo 2>two; echo x2>two",
    "a && (b || c) && { d; e; }",
    "time cargo build",
    ": > empty",
];

/// Lines that brush-parser reads otherwise, and why ours is kept.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "diff <(sort a) b",
        "a process substitution is an argument, as in bash",
    ),
    (
        "time cargo build",
        "wrappers are removed later, of keywords and programs alike",
    ),
];

#[test]
fn lines_are_split_as_by_brush() {
    assert!(LINES.len() >= 60);
    for line in LINES {
        let brush = brush_parts(line).unwrap_or_else(|| panic!("brush rejects {line}"));
        let is_different = DIFFERENT.iter().any(|(different, _)| different == line);
        assert_eq!(
            our_parts(line) != brush,
            is_different,
            "{line}\nours  {:?}\nbrush {brush:?}",
            our_parts(line)
        );
    }
}

#[test]
fn lines_that_brush_rejects_have_commands() {
    let check = |line: &str, expect: &[&str]| {
        assert_eq!(brush_parts(line), None, "{line}");
        let parts: Vec<String> = our_parts(line)
            .into_iter()
            .map(|part| part.0.join(" "))
            .collect();
        assert_eq!(parts, expect, "{line}");
    };
    check(
        "cargo test && git commit -m 'cut of",
        &["cargo test", "git commit -m cut of"],
    );
    check("cargo test; echo \"$(date", &["cargo test", "echo $(date"]);
    check("(cargo test", &["cargo test"]);
    check("if true; then cargo test", &["true", "cargo test"]);
    check("cargo test &&", &["cargo test"]);
    check("; cargo test", &["cargo test"]);
}
