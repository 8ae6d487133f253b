//! The fixtures are small tokenizers of every kind; what they should give was computed with the `tokenizers` package, version
//! 0.23, with the special tokens taken out, for here they are text.

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../fixtures/", $name, ".json")),
            include_str!(concat!("../../fixtures/", $name, ".expected.json")),
        )
    };
}

const FIXTURES: [(&str, &str, &str); 7] = [
    fixture!("wordpiece"),
    fixture!("sentencepiece"),
    fixture!("metaspace"),
    fixture!("first"),
    fixture!("gpt2"),
    fixture!("qwen"),
    fixture!("unigram"),
];

fn tokenizer(name: &str) -> Tokenizer {
    let (_, json, _) = FIXTURES.iter().find(|fixture| fixture.0 == name).unwrap();
    Tokenizer::from_json(json.as_bytes()).unwrap()
}

fn refusal(json: &str) -> String {
    Tokenizer::from_json(json.as_bytes())
        .err()
        .unwrap()
        .to_string()
}

#[test]
fn gives_what_the_reference_gives() {
    for (name, json, expected) in FIXTURES {
        let tokenizer = Tokenizer::from_json(json.as_bytes()).unwrap();
        let expected: Vec<(String, Vec<u32>)> = serde_json::from_str(expected).unwrap();
        assert!(expected.iter().map(|(_, ids)| ids.len()).sum::<usize>() > 100);
        for (text, ids) in expected {
            assert_eq!(tokenizer.encode(&text), ids, "{name}: {text:?}");
        }
    }
}

#[test]
fn knows_special_tokens_only_by_name() {
    let tokenizer = tokenizer("wordpiece");
    assert_eq!(tokenizer.id("[CLS]"), Some(2));
    assert_eq!(tokenizer.id("##s"), Some(8));
    assert_eq!(tokenizer.id("nothing"), None);
    assert!(!tokenizer.encode("[CLS] the [SEP]").contains(&2));
    assert_eq!(tokenizer.unknown(), Some(1));
    let unigram = self::tokenizer("unigram");
    assert_eq!(unigram.id("<pad>"), Some(0));
    assert!(!unigram.encode("<pad>").contains(&0));
}

#[test]
fn finds_byte_level_tokens_by_how_they_are_written() {
    let tokenizer = tokenizer("gpt2");
    assert_eq!(tokenizer.id("<|end|>"), Some(0));
    assert_eq!(
        tokenizer.id("Ġthe").map(|id| vec![id]),
        Some(tokenizer.encode(" the"))
    );
}

#[test]
fn says_what_it_does_not_know() {
    let (_, json, _) = FIXTURES[0];
    let changed = |from: &str, to: &str| {
        let changed = json.replace(from, to);
        assert_ne!(changed, json);
        refusal(&changed)
    };
    assert!(changed("BertPreTokenizer", "CharDelimiterSplit").contains("CharDelimiterSplit"));
    assert!(changed("BertNormalizer", "Nmt").contains("Nmt"));
    assert!(changed("WordPiece", "WordLevel").contains("WordLevel"));
    assert!(changed("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[no]\"").contains("[no]"));
    assert!(changed("\"[PAD]\":0", "\"[PAD]\":4294967295").contains("too many"));
    assert!(refusal("{}").contains("tokenizer.json"));
    assert!(refusal("[]").contains("tokenizer.json"));
    let (_, qwen, _) = FIXTURES[5];
    assert!(refusal(&qwen.replace(r"|\\p{N}|", r"|\\p{N}{1,2}|")).contains("{1,2}"));
}

#[test]
fn long_words_are_no_trouble() {
    // Nothing here is quadratic in the length of a word.
    for (name, _, _) in FIXTURES {
        tokenizer(name).encode(&"ab".repeat(20_000));
        tokenizer(name).encode(&"▁ ".repeat(20_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_gives_few_and_valid_tokens(text in any::<String>(), which in 0..FIXTURES.len()) {
        let tokenizer = tokenizer(FIXTURES[which].0);
        let tokens = tokenizer.encode(&text);
        // Canonical composition writes a few characters as three; a mark put before the text may become its three bytes.
        let most = if FIXTURES[which].0 == "qwen" { 3 * text.len() } else { text.len() };
        prop_assert!(tokens.len() <= most + 3);
        prop_assert!(tokens.iter().all(|token| (*token as usize) < tokenizer.len()));
    }

    #[test]
    fn changed_files_are_read_or_refused(which in 0..FIXTURES.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut json = FIXTURES[which].1.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(json.len());
            json[at] = byte;
        }
        if let Ok(tokenizer) = Tokenizer::from_json(&json) {
            let tokens = tokenizer.encode("the Session's 日本 1234 \r\n x");
            prop_assert!(tokens.iter().all(|token| (*token as usize) < tokenizer.len()));
        }
    }

    #[test]
    fn changed_images_are_read_or_refused(which in 0..FIXTURES.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut builder = Builder::default();
        compile(FIXTURES[which].1.as_bytes(), &mut builder).unwrap();
        let mut image = builder.finish();
        for (at, byte) in changes {
            let at = at.index(image.len());
            image[at] = byte;
        }
        if let Ok(Ok(tokenizer)) = Image::from_bytes(image).map(|image| Tokenizer::from_image(Arc::new(image))) {
            let tokens = tokenizer.encode("the Session's 日本 1234 \r\n x ａ™");
            prop_assert!(tokens.iter().all(|token| (*token as usize) < tokenizer.len()));
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Tokenizer::from_json(&bytes).is_err());
    }
}
