//! Compares with the tokenizer itself, on what this repository has, on made-up logs, and on texts written for this.

use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

use super::count_tokens;
use super::cut::{Piece, pieces};

static TOKENIZER: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

/// Below this one odd name more or less counts.
const ENOUGH: usize = 250;

/// Returns the error of the estimate in percent.
fn off(text: &str) -> Option<f64> {
    let real = TOKENIZER.encode_ordinary(text).len();
    let estimate = count_tokens(text);
    (real >= ENOUGH).then(|| (estimate as f64 / real as f64 - 1.0) * 100.0)
}

fn check(name: &str, text: &str) {
    check_up_to(name, text, 5.0);
}

/// As [`check`], but the estimate may be so many percent too high.
fn check_up_to(name: &str, text: &str, most: f64) {
    let off = off(text);
    assert!(off.is_some(), "{name} is too short");
    let is_near = off.is_some_and(|off| (-5.0..=most).contains(&off));
    assert!(is_near, "{name}: {off:?} %");
}

#[test]
fn written_texts() {
    check("german", include_str!("samples/german.txt"));
    check("russian", include_str!("samples/russian.txt"));
    // Its words have no spaces between them, so that plain ones cannot be told from rare ones.
    check_up_to("chinese", include_str!("samples/chinese.txt"), 10.0);
    check("japanese", include_str!("samples/japanese.txt"));
    check("french", include_str!("samples/french.txt"));
    check("terminal", include_str!("samples/terminal.txt"));
    check("emoji", include_str!("samples/emoji.txt"));
}

/// Returns injected context, the text whose budget is kept by this count.
#[test]
fn lines_of_context() {
    let mut state = 7u64;
    let mut pick = |count: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % count
    };
    let goals = [
        "fix the flaky cart test",
        "why does the import hang on Windows?",
        "port the invoice export to the new API",
        "make search find words with umlauts",
    ];
    let places = [
        "src/cart.rs",
        "app/models/invoice.py",
        "internal/queue/worker.go",
        "web/src/App.tsx",
    ];
    let functions = [
        "add_item(&mut self, item: Item)",
        "total(&self) -> Money",
        "def render_rows(self, rows, *, width=80)",
        "func (w *Worker) Drain(ctx context.Context) error",
        "parseCoupon(code: string): Coupon | null",
    ];
    let commands = [
        "cargo test -p shop",
        "pytest -q tests/test_invoice.py",
        "go vet ./...",
        "git rebase -i main",
    ];
    let outcomes = ["success", "failure", "abandoned", "unknown"];
    let mut text = String::new();
    for _ in 0..120 {
        let session = format!("{:08x}#{}", pick(1 << 31) * 2 + 1, pick(30) + 1);
        let line = match pick(4) {
            0 => format!(
                "- {} days ago · {} · {} · commit {:07x} [{session}]",
                pick(20) + 1,
                goals[pick(4)],
                outcomes[pick(4)],
                pick(1 << 28)
            ),
            1 => format!(
                "{}: {}, {} [{session}]",
                places[pick(4)],
                functions[pick(5)],
                functions[pick(5)]
            ),
            2 => format!(
                "ran `{}`: {} passed, {} failed [{session}]",
                commands[pick(4)],
                pick(90),
                pick(4)
            ),
            _ => format!(
                "decided: {} later, {} first [019a2b3c-{:04x}-7{:03x}-8{:03x}-{:012x}#{}]",
                goals[pick(4)],
                commands[pick(4)],
                pick(1 << 16),
                pick(1 << 12),
                pick(1 << 12),
                pick(1 << 31),
                pick(9)
            ),
        };
        writeln!(text, "{line}").unwrap();
        if off(&text).is_some() {
            check(&text, &text);
            text.clear();
        }
    }
}

#[test]
fn our_own_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in [
        "",
        "docs",
        "crates/backstory-memory/src",
        "crates/backstory-memory/src/setup",
    ] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut seen = 0;
    for path in files {
        let kind = path.extension().unwrap_or_default();
        let text = match kind.to_str() {
            Some("md" | "rs" | "toml") => std::fs::read_to_string(&path).unwrap(),
            _ => continue,
        };
        if off(&text).is_some() {
            check(&path.to_string_lossy(), &text);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn made_up_logs() {
    for file in backstory_agents::sample::story(backstory_event::TimeMs::new(1_770_000_000_000)) {
        let text = String::from_utf8(file.bytes).unwrap();
        if off(&text).is_some() {
            check(&file.path, &text);
        }
    }
}

/// The cut is the tokenizer's, but for rare marks: no token reaches over the end of a piece.
#[test]
fn pieces_are_cut_like_tokens() {
    let text = "HTTPServer's getUserName it'LL  a\t\tb \n\n  c1234567, 日本Foo日F \u{301}x é̄ _x ::y (z) -- // \r\n\r\n/é9½ Ünï «ÀB» \u{a0}\u{2003}x  ";
    let whole = TOKENIZER.encode_ordinary(text).len();
    let rest = |from: usize| TOKENIZER.encode_ordinary(&text[from..]).len();
    let mut at = 0;
    let mut before = 0;
    for piece in pieces(text) {
        let length = match piece {
            Piece::Word(word) => {
                let sign = word.before.map_or(0, char::len_utf8);
                let contraction = match word.is_contracted {
                    true => text[at + sign + word.letters.len()..].find(char::is_whitespace),
                    false => Some(0),
                };
                sign + word.letters.len() + contraction.unwrap()
            }
            Piece::Number => text[at..]
                .chars()
                .take(3)
                .take_while(|digit| digit.is_numeric())
                .map(char::len_utf8)
                .sum(),
            Piece::Punctuation(text) | Piece::Space(text) => text.len(),
        };
        before += TOKENIZER.encode_ordinary(&text[at..at + length]).len();
        at += length;
        assert_eq!(before + rest(at), whole, "{:?}", &text[..at]);
    }
    assert_eq!(at, text.len());
}

#[test]
fn small_texts() {
    for (text, expect) in [
        ("", 0),
        ("a", 1),
        (" ", 1),
        ("\n", 1),
        ("the cat sat on the mat", 6),
        ("1234567", 3),
        ("\u{0}", 1),
        ("don't", 2),
    ] {
        assert_eq!(count_tokens(text), expect, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_has_a_count(text in any::<String>(), word in "[a-zA-Z'_ .éß日本ж1/\\-\n\t]{0,40}") {
        for text in [text, word] {
            let count = count_tokens(&text);
            prop_assert_eq!(count == 0, text.is_empty());
            prop_assert!(count <= text.len());
        }
    }

    /// So a budget can be kept line by line.
    #[test]
    fn lines_add_up(lines in prop::collection::vec(LINE, 1..8)) {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let apart: usize = lines.iter().map(|line| count_tokens(line)).sum();
        let whole = count_tokens(&lines.concat());
        prop_assert!(whole <= apart, "{} {}", whole, apart);
        prop_assert!(apart - whole <= lines.len(), "{} {}", whole, apart);
    }
}

/// A line that begins with a letter, for slashes and empty lines belong to what is before them.
const LINE: &str = "[a-zé]([a-z]{1,9}|[A-Z][a-z]{1,9}|[A-Z_]{1,6}|[ \t]{1,3}|[!-/:-@]{1,3}|[0-9]{1,5}|[а-яé日本]{1,6}){0,12}";
