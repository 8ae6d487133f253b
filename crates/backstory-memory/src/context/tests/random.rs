//! Random histories: whatever was said, what is told keeps to its budget and is whole.

use backstory_event::{SymbolChangeKind, TurnNo};
use backstory_store::{ChangedName, RecalledSession};

use super::*;
use crate::context::past::Past;
use crate::digest::Story;

/// Histories that are made up.
const STORES: u32 = 10_000;

struct Random(blake3::OutputReader);

impl Random {
    fn new(seed: u32) -> Self {
        Random(
            blake3::Hasher::new()
                .update(&seed.to_le_bytes())
                .finalize_xof(),
        )
    }

    fn below(&mut self, bound: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % bound.max(1)
    }

    fn text(&mut self, most: usize) -> String {
        const PIECES: [&str; 24] = [
            "fix ",
            "the cart ",
            "größer ",
            "日本語",
            "\n",
            "\t",
            "<",
            "</backstory-context>",
            "\u{202e}",
            "\u{200b}",
            "🦀",
            "[abc#1]",
            "`x`",
            "—",
            "\u{0}",
            "# ",
            "a/b/c.rs ",
            "Vec<T> ",
            "0123456789 ",
            "é",
            "\u{e0041}",
            "- ",
            "\"quote\" ",
            "very_long_name_of_something ",
        ];
        let pieces = self.below(most);
        let mut text: String = (0..pieces)
            .map(|_| PIECES[self.below(PIECES.len())])
            .collect();
        if self.below(20) == 0 {
            text.push_str(&"x".repeat(self.below(5_000)));
        }
        text
    }

    fn past(&mut self, number: usize) -> Past {
        let mut story = Story::default();
        for _ in 0..self.below(8) {
            let text = self.text(12);
            match self.below(4) {
                0 => story.prompt(&text),
                1 => story.reply(&text),
                2 => story.run(
                    ["cargo test", "git commit -m x", &text][self.below(3)],
                    "[main 1a2b3c4] x",
                    self.below(2) as i64,
                ),
                _ => story.tool(
                    "Edit",
                    &format!("src/{text}.rs"),
                    backstory_event::Action::Write,
                    None,
                ),
            };
        }
        let names = (0..self.below(4)).map(|_| ChangedName {
            turn: u32::try_from(self.below(5) as i64 - 1)
                .ok()
                .map(TurnNo::new),
            file: format!("src/{}.rs", self.text(2)),
            name: self.text(3),
            change: SymbolChangeKind::Modified,
        });
        let names = names.collect();
        let row = RecalledSession {
            id: (number as u32).into(),
            agent: "codex".to_string(),
            session: format!("{number:08}-x"),
            title: (self.below(2) == 0).then(|| self.text(10)),
            project: None,
            root: None,
            cwd: None,
            branch: ["main", "fix"].get(self.below(3)).map(ToString::to_string),
            last_at: NOW.minus_ms(self.below(1 << 30) as i64),
            turns: 3,
            events: 9,
            outcome: ["success", "unknown"]
                .get(self.below(3))
                .map(ToString::to_string),
            is_headless: self.below(5) == 0,
        };
        Past::made(row, story.notes, names)
    }
}

#[test]
fn what_is_told_is_whole_and_within_its_budget() {
    let mut told_something = 0;
    for seed in 0..STORES {
        let mut random = Random::new(seed);
        let pasts: Vec<Past> = (0..random.below(9))
            .map(|number| random.past(number))
            .collect();
        let mut options = options();
        options.tokens = random.below(3_000);
        options.characters = random.below(12_000);
        options.here.branch = Some("fix".to_string());
        options
            .here
            .set_changed(&[&format!("src/{}.rs", random.text(2))]);
        options.shares.sessions = random.below(100);
        options.shares.files = random.below(100);
        options.shares.observations = random.below(3);
        let own = pasts.first().filter(|_| random.below(3) == 0);
        let files = ranked_files(&pasts, &options.here);
        let layers = layers_of(own, &pasts, &files, &options).into_iter();
        let offers = layers.map(|(layer, items)| {
            let items = redacted(items, options.redactor);
            Offer::new(layer, options.shares.of(layer), items)
        });
        let mut offers: Vec<Offer> = offers.collect();
        limit_items(&mut offers);
        let context = told(&offers, &options);
        check_whole(&context, &offers, &options, seed);
        told_something += u32::from(!context.text.is_empty());
    }
    assert!(told_something > STORES / 2, "{told_something}");
}

fn check_whole(context: &Context, offers: &[Offer], options: &ContextOptions<'_>, seed: u32) {
    let text = &context.text;
    assert_eq!(context.tokens, count_tokens(text), "{seed}");
    assert!(context.tokens <= options.tokens, "{seed}: {text}");
    assert!(
        text.encode_utf16().count() <= options.characters,
        "{seed}: {text}"
    );
    if text.is_empty() {
        return;
    }
    // The fence is there, once, and nothing else looks like a tag.
    assert!(
        text.starts_with("<backstory-context nonce=\"07") && text.ends_with("\">"),
        "{seed}: {text}"
    );
    assert_eq!(
        (text.matches('<').count(), text.matches('>').count()),
        (2, 2),
        "{seed}: {text}"
    );
    let told = lines(context);
    let known = |line: &&str| {
        offers.iter().any(|offer| {
            offer.layer.heading() == *line || offer.items.iter().any(|item| item.text == *line)
        })
    };
    for line in &told {
        assert!(known(line), "{seed}: half an item: {line:?}");
    }
    let items: Vec<&&str> = told.iter().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(
        items.len(),
        context
            .layers
            .iter()
            .map(|layer| layer.items)
            .sum::<usize>(),
        "{seed}"
    );
    for item in items {
        let cite = item
            .rsplit_once(" [")
            .and_then(|(_, cite)| cite.strip_suffix(']'));
        let (_, turn) = cite.and_then(|cite| cite.split_once('#')).unwrap();
        assert!(turn.parse::<u64>().is_ok(), "{seed}: {item}");
    }
    let hidden = |letter: char| {
        letter != '\n' && letter.is_control() || "\u{202e}\u{200b}\u{e0041}".contains(letter)
    };
    assert!(!text.contains(hidden), "{seed}: {text:?}");
}
