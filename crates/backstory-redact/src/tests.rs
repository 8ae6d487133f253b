//! The promises of the module, checked for every rule and for made-up logs.

use std::collections::HashSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use regex::bytes::Regex;
use serde_json::{Value, json};

use super::pattern::Pattern;
use super::plant::expand;
use super::*;

/// One for all tests, because compiling the patterns takes most of the time of a test.
static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([7; 32]));

pub(super) fn redacted(text: &str) -> String {
    String::from_utf8(REDACTOR.redact(text.as_bytes(), &[]).bytes.into_owned()).unwrap()
}

pub(super) fn check_untouched(text: &str) {
    assert_eq!(redacted(text), text);
}

fn nested(text: &str, depth: usize) -> String {
    (0..depth).fold(text.to_owned(), |text, _| {
        serde_json::to_string(&json!({ "command": text })).unwrap()
    })
}

/// The ways in which a text gets into a log.
pub(super) fn settings(text: &str) -> Vec<String> {
    let prompt = format!("Please use this:\n{text}\nThanks.");
    let colours = format!("\u{1b}[32m{text}\u{1b}[0m done");
    let escaped = |text: &str| {
        format!(
            "{}\n",
            json!({ "type": "user", "message": { "content": text } })
        )
    };
    vec![
        text.to_owned(),
        format!("first line\n{text}\nlast line\n"),
        escaped(text),
        escaped(&prompt),
        escaped(&colours),
        escaped(&nested(&prompt, 1)),
        escaped(&nested(&prompt, 2)),
        colours,
    ]
}

#[test]
fn the_table_is_in_order() {
    let mut ids = HashSet::new();
    for rule in RULES {
        assert!(ids.insert(rule.id), "{} twice", rule.id);
        assert!(
            rule.id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{}",
            rule.id
        );
        assert!(
            !rule.keywords.is_empty() && rule.keywords.iter().all(|keyword| keyword.len() >= 3),
            "{}",
            rule.id
        );
        if rule.case() == rule::Case::Ignored {
            assert!(
                rule.keywords
                    .iter()
                    .all(|keyword| keyword.to_ascii_lowercase() == **keyword),
                "{}",
                rule.id
            );
        }
        let code = matches!(rule.matcher, rule::Matcher::Code(..));
        assert!(code || Pattern::compile(rule).is_some(), "{}", rule.id);
    }
    assert!(RULES.len() >= 170);
}

/// Runs `check` for every rule and some seeds, and shows all that went wrong at once.
fn check_rules(seeds: Range<u64>, check: impl Fn(&Rule, u64) -> Result<(), String>) {
    let wrong: Vec<String> = RULES
        .iter()
        .filter_map(|rule| {
            seeds
                .clone()
                .find_map(|seed| check(rule, seed).err())
                .map(|error| format!("{}: {error}", rule.id))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ensure(holds: bool, error: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(error()) }
}

fn holds(output: &str, secret: &str) -> bool {
    let escaped = serde_json::to_string(secret).unwrap();
    output.contains(secret) || output.contains(&escaped[1..escaped.len() - 1])
}

#[test]
fn every_rule_finds_its_example_and_names_it() {
    check_rules(0..20, |rule, seed| {
        let planted = planted(rule, seed);
        let output = redacted(&planted.text);
        ensure(output.contains(&format!("[REDACTED:{}:", rule.id)), || {
            format!("{} -> {output}", planted.text)
        })?;
        ensure(
            !planted.secrets.iter().any(|secret| holds(&output, secret)),
            || format!("left in {output}"),
        )
    });
}

#[test]
fn no_rule_finds_the_near_misses() {
    check_rules(0..20, |rule, seed| {
        let text = expand(rule.near_miss, seed).text;
        let output = redacted(&text);
        ensure(output == text, || format!("{text} -> {output}"))
    });
}

#[test]
fn every_secret_is_found_wherever_it_stands() {
    check_rules(100..103, |rule, seed| {
        let planted = planted(rule, seed);
        let whole = redacted(&planted.text);
        let marker = whole
            .split(MARKER)
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .unwrap_or("none");
        for text in settings(&planted.text) {
            let output = redacted(&text);
            ensure(
                !planted.secrets.iter().any(|secret| holds(&output, secret)),
                || format!("left: {text} -> {output}"),
            )?;
            ensure(output.contains(marker), || {
                format!("not {marker}: {text} -> {output}")
            })?;
            ensure(redacted(&output) == output, || {
                format!("not idempotent: {output}")
            })?;
            let json =
                !text.starts_with('{') || serde_json::from_str::<Value>(output.trim_end()).is_ok();
            ensure(json, || format!("no JSON any more: {output}"))?;
        }
        Ok(())
    });
}

#[test]
fn only_the_secret_is_replaced() {
    let shown = |text: &str| {
        let output = redacted(&expand(text, 1).text);
        let marker = Regex::new(r"\[REDACTED:([a-z0-9-]+):[0-9a-f]{8}\]").unwrap();
        String::from_utf8(
            marker
                .replace_all(output.as_bytes(), &b"<$1>"[..])
                .into_owned(),
        )
        .unwrap()
    };
    insta::assert_snapshot!(
        [
            shown("password = \"{p16}\" # ours"),
            shown("postgres://app:{w20}@db.internal:5432/main?sslmode=require"),
            shown("curl -H 'Authorization: Bearer {w40}' -H 'x-api-key: {w32}' https://api.internal"),
            shown("GITHUB_TOKEN=ghp_{w36} npm run build"),
            shown("{pem:EC PRIVATE KEY}"),
            shown("\\\"api_key\\\": \\\"{w40}\\\", \\\"n\\\": 1}"),
        ]
        .join("\n"),
        @r#"
    password = "<password>" # ours
    postgres://app:<url-password>@db.internal:5432/main?sslmode=require
    curl -H 'Authorization: Bearer <authorization-header>' -H 'x-api-key: <api-key>' https://api.internal
    GITHUB_TOKEN=<github-personal-token> npm run build
    -----BEGIN EC PRIVATE KEY-----
    <private-key>
    -----END EC PRIVATE KEY-----
    \"api_key\": \"<api-key>\", \"n\": 1}
    "#
    );
}

#[test]
fn what_is_no_secret_survives() {
    for template in [
        "commit {h40}",
        "commit {h7}",
        "sha256:{h64}",
        "\"sha256\": \"{h64}\"",
        "checksum = \"{h64}\"",
        "{uuid}",
        "\"sessionId\":\"{uuid}\"",
        "\"integrity\": \"sha512-{b86}==\"",
        "iVBORw0KGgo{b400}",
        "/9j/{b400}",
        "R0lGOD{b400}",
        "UklGR{b400}",
        "JVBERi0{b400}",
        "\"data\":\"iVBORw0KGgo{b400}\"",
        "\"signature\":\"Er{b400}==\"",
        "\"encrypted_content\":\"gAAAAAB{u900}==\"",
        "msg_{w24}",
        "req_{w24}",
        "toolu_{w24}",
        "call_{w24}",
        "\"id\":\"toolu_01{w22}\"",
        "\"input_tokens\":1234,\"output_tokens\": 99",
        "\"cache_creation_input_tokens\":81234",
        "password = getPassword()",
        "const token = await getToken()",
        "secret: string",
        "api_key: Optional[str] = None",
        "password: z.string().min(8)",
        "token = self.tokenizer.next_token2",
        "api_key = os.environ[\"SERVICE_API_KEY_2\"]",
        "apiKey: process.env.SERVICE_API_KEY2",
        "password: $DB_PASSWORD1",
        "token: <your-token-1234567>",
        "secret=****************",
        "password=xxxxxxxxxxx1",
        "SECRET=[REDACTED]",
        "password: REDACTED1234",
        "token_path = /home/me/.config/app/token-2024.json",
        "secretName: my-app-secret-v2",
        "\"token\": \"next-page-2\"",
        "type=\"password\" autocomplete=\"current-password\"",
        "user@host:/srv/data",
        "http://localhost:3000/@vite/client",
        "https://x.example/a@b:c",
        "claude-opus-4-5-20251101",
        "the token: 12345 tokens",
        "git@github.com:owner/repo.git",
        "Bearer authentication is used",
        "ask-me-anything-about-the-disk-size",
        "nextToken: abc",
        "md-button-toggle-appearance-with-a-long-class-name",
        "md-button-toggle-group-ab",
        "re_export_everything_from_the_other_module",
        "fc-event-title-container-of-the-calendar",
        "--token-limit 4096",
        "password must have 8 characters",
        "-----BEGIN CERTIFICATE-----\n{b64}\n-----END CERTIFICATE-----",
    ] {
        for text in settings(&expand(template, 5).text) {
            check_untouched(&text);
        }
    }
}

#[test]
fn markers_of_an_earlier_run_survive() {
    for rule in RULES {
        check_untouched(&format!(
            "password=\"[REDACTED:{}:0a1b2c3d]\" {}=[REDACTED:{}:9f8e7d6c]",
            rule.id, rule.id, rule.id
        ));
    }
}

#[test]
fn the_hash_depends_on_the_secret_and_the_key() {
    let secret = |seed| expand("ghp_{w36}", seed).text;
    assert_eq!(redacted(&secret(1)), redacted(&secret(1)));
    assert_ne!(redacted(&secret(1)), redacted(&secret(2)));
    let other = Redactor::new([8; 32]);
    assert_ne!(
        redacted(&secret(1)).as_bytes(),
        &*other.redact(secret(1).as_bytes(), &[]).bytes
    );
}

#[test]
fn protected_ranges_are_never_touched() {
    let secret = expand("ghp_{w36}", 1).text;
    let text = format!("{secret} {secret} {secret}");
    let protected = secret.len() + 1..secret.len() * 2 + 1;
    let output = REDACTOR.redact(text.as_bytes(), &[protected]);
    assert_eq!(output.count, 2);
    assert_eq!(
        output.bytes[output.protected[0].clone()],
        *secret.as_bytes()
    );
    let output = String::from_utf8(output.bytes.into_owned()).unwrap();
    assert_eq!(output.matches(&secret).count(), 1);
    assert!(output.starts_with('[') && output.ends_with(']'));
}

#[test]
fn escaped_printable_characters_hide_nothing() {
    for (template, needle, escape) in [
        ("AKIA{v16}", "AK", "\\u0041K"),
        ("ghp_{w36}", "ghp_", "ghp\\u005f"),
        ("AccountKey=ab/{b83}==", "=", "\\u003d"),
        ("aws_secret_access_key = ab/{w37}", "/", "\\/"),
        ("aws_secret_access_key = ab/{w37}", "/", "\\\\/"),
        ("https://me:{w16}@host.internal", "/", "\\/"),
    ] {
        let plain = expand(template, 3).text;
        let odd = plain.replace(needle, escape);
        let line = format!("{{\"a\":\"one\"}}\n{{\"text\":\"x {odd} y\"}}\n{{\"b\":\"{odd}\"}}");
        let output = redacted(&line);
        let hash = redacted(&plain)
            .split("[REDACTED:")
            .nth(1)
            .unwrap()
            .to_owned();
        let hash = hash.split(']').next().unwrap();
        assert_eq!(output.matches(hash).count(), 2, "{line} -> {output}");
        assert!(
            output
                .lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok()),
            "{output}"
        );
        assert_eq!(redacted(&output), output);
    }
}

/// Number of the hostile texts of a rule that the test tries; `bench/redact` tries all.
const HOSTILE_TEXTS_PER_RULE: usize = 6;

#[test]
fn no_rule_examines_more_than_a_multiple_of_any_text() {
    let numbered: Vec<(usize, &Rule)> = RULES.iter().enumerate().collect();
    let mut slow: Vec<(u64, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = numbered
            .chunks(RULES.len().div_ceil(4))
            .map(|rules| scope.spawn(|| rules.iter().flat_map(slow_texts).collect::<Vec<_>>()))
            .collect();
        let slow = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        slow.collect()
    });
    slow.sort_unstable_by(|one, other| other.cmp(one));
    slow.truncate(20);
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn texts_that_were_slow_once_are_not_any_more() {
    for piece in [
        "fm1a_=",
        "--eyJ",
        "sid=/a1",
        "sid=",
        "\0",
        "\u{200b}",
        "a\u{200b}",
        "?Signature=a1",
        "{\"kty\":",
        "IBAAKCA\n",
        "IBAAKCAxxxxxx=",
        "IBAAKCAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        "\nMIIEpAIBAAKCAQEA",
        "\\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-----END PRIVATE KEY",
        "echo a1b2c3|sudo -S<<<",
        "create user identified by 'a",
        "ghp_\u{1b}[1m",
        "password\\u200b=",
        "\u{1b}]8;;",
        "mj_apikey:",
        "BSAxjF4d9fS8--_",
        "Private-Lines: 14-Lines: 14,4e\\nLines: 144e{\\nPrivate-Lines: 1\\n",
        "-----BEGIN PRIVATE KEY-----\nVersion: 1\nComment: 2\n",
        "HEX_API_KEY=1a8145ac8d8b1431a6447e6208cb614d\\/",
        "API_KEY=API_SECRET=xjF4d9fS8M2XG7F7F_je1d--5tmJ7_API_KEY=...\\u0040cf_token=x0041API_KEY=$E:",
    ] {
        check_examined(piece);
    }
}

/// Checks that few bytes are examined for each byte of a text that repeats `piece`.
pub(super) fn check_examined(piece: &str) {
    let text = repeat_to(piece, 64 * 1024);
    let count = count_examined_bytes(|| {
        let _ = REDACTOR.redact(text.as_bytes(), &[]);
    });
    assert!(
        count <= MAX_EXAMINED_PER_BYTE * text.len() as u64,
        "{piece}: {}",
        count / text.len() as u64
    );
}

/// The hostile texts of a rule for which too many bytes are examined, with the multiple of their length. Each rule has other
/// separators and endings.
fn slow_texts(&(number, rule): &(usize, &Rule)) -> Vec<(u64, String)> {
    let pieces = hostile_pieces(rule);
    let step = pieces.len().div_ceil(HOSTILE_TEXTS_PER_RULE);
    let chosen = pieces.iter().skip(number % step).step_by(step);
    let counted = chosen.map(|piece| {
        let text = repeat_to(piece, 16 * 1024);
        let count = count_examined_bytes(|| {
            let _ = REDACTOR.redact(text.as_bytes(), &[]);
        });
        (count / text.len().max(1) as u64, piece.clone())
    });
    counted
        .filter(|(multiple, _)| *multiple > MAX_EXAMINED_PER_BYTE)
        .collect()
}

/// A JSON value with secrets of random rules planted in its strings, and those secrets.
fn planted_json() -> impl Strategy<Value = (Value, Vec<String>)> {
    let text = prop_oneof![
        3 => "[ -~\\n\\t\"\\\\é]{0,40}".prop_map(|text| (text, Vec::new())),
        2 => (0..RULES.len(), any::<u64>(), "[ \\n\"(]", "[ \\n\")]", 0..3_usize).prop_map(|(rule, seed, before, after, depth)| {
            let planted = planted(&RULES[rule], seed);
            (nested(&format!("{before}{}{after}", planted.text), depth), planted.secrets)
        }),
    ];
    let leaf = prop_oneof![
        text.prop_map(|(text, secrets)| (Value::String(text), secrets)),
        any::<i64>().prop_map(|number| (json!(number), Vec::new()))
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                let (values, secrets): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                (Value::Array(values), secrets.concat())
            }),
            prop::collection::vec(("(password|token|api_key|note|[a-z]{1,6})", inner), 0..4)
                .prop_map(|items| {
                    let secrets = items
                        .iter()
                        .flat_map(|(_, (_, secrets))| secrets.clone())
                        .collect();
                    (
                        Value::Object(
                            items
                                .into_iter()
                                .map(|(name, (value, _))| (name, value))
                                .collect(),
                        ),
                        secrets,
                    )
                }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let output = REDACTOR.redact(&bytes, &[]);
        prop_assert!(output.count > 0 || *output.bytes == *bytes);
    }

    #[test]
    fn text_of_keywords_and_escapes_is_survived(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "password", "=", ": ", "\"", "\\\"", "\\\\\\\"", "\\n", "\\", "'", "a1B2c3D4e5F6g7H8", "://", "u:", "@", "\n", " ", "-----BEGIN RSA PRIVATE KEY-----",
            "-----END", "ghp_", "\\u0041", "\\u00", "\\/", "token", "Authorization", "Bearer ", "{", "}", ",", "--", "eyJ", ".", "1//0", "\u{1b}[0m", "é", "[REDACTED:", "]",
        ]), 0..60),
    ) {
        let text = pieces.concat();
        let once = redacted(&text);
        prop_assert_eq!(redacted(&once), once);
        let quoted = json!({ "text": text }).to_string();
        prop_assert!(serde_json::from_str::<Value>(&redacted(&quoted)).is_ok());
    }

    #[test]
    fn no_escape_hides_a_planted_secret(rule in 0..RULES.len(), seed in any::<u64>(), escaped in prop::collection::vec(0..3_u8, 1..40)) {
        let planted = planted(&RULES[rule], seed);
        let mut inner = String::new();
        for (character, how) in planted.text.chars().zip(escaped.iter().cycle()) {
            match (character, how) {
                ('/', 1 | 2) => inner.push_str("\\/"),
                (character, 2) if character.is_ascii_alphanumeric() => inner.push_str(&format!("\\u{:04x}", character as u32)),
                (character, _) => {
                    let quoted = serde_json::to_string(&character).unwrap();
                    inner.push_str(&quoted[1..quoted.len() - 1]);
                }
            }
        }
        let output = redacted(&format!("{{\"text\":\"see {inner} there\"}}"));
        let value: Value = serde_json::from_str(&output).map_err(|error| TestCaseError::fail(format!("{error}: {output}")))?;
        let text = value["text"].as_str().unwrap_or_default();
        prop_assert!(!planted.secrets.iter().any(|secret| text.contains(secret)), "{} in {}", planted.text, text);
        prop_assert_eq!(redacted(&output), output);
    }

    #[test]
    fn json_stays_json_and_holds_no_planted_secret((value, secrets) in planted_json()) {
        let line = value.to_string();
        let output = redacted(&line);
        prop_assert!(serde_json::from_str::<Value>(&output).is_ok(), "{} -> {}", line, output);
        for secret in secrets {
            let quoted = serde_json::to_string(&secret).unwrap();
            prop_assert!(!output.contains(&secret) && !output.contains(quoted.trim_matches('"')), "{} in {}", secret, output);
        }
        prop_assert_eq!(redacted(&output), output);
    }
}
