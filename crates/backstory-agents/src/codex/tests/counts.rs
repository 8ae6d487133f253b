//! Which event the tokens of an answer are put down to, whether they are counted before or behind its items.

use std::collections::HashMap;

use super::{OWN, event};
use super::{context, item, meta, read, said, shown, tokens};
use backstory_event::EventKey;

/// Makes a log of one letter a record: `u` prompt, `s` reply on the screen, `S` its item, `r` encrypted reasoning, `A` call, `o` its
/// output, `T` count of one more token, `=` the same count again, `0` count of no token, `W` search, `n` item of an unknown type.
fn log(letters: &str) -> Vec<String> {
    let mut lines = vec![meta(OWN, ""), context("m")];
    let (mut replies, mut items, mut calls, mut counted, mut cached) = (0, 0, 0, 0, 0);
    for (number, letter) in letters.chars().enumerate() {
        lines.push(match letter {
            'u' => said("user", &format!("ask {number}")),
            's' => {
                replies += 1;
                shown("agent_message", &format!("s{replies}"))
            }
            'S' => {
                items += 1;
                said("assistant", &format!("s{items}"))
            }
            'r' => item(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#),
            'A' => {
                calls += 1;
                item(&format!(
                    r#"{{"type":"function_call","name":"t","arguments":"a{calls}","call_id":"c{calls}"}}"#
                ))
            }
            'o' => item(&format!(
                r#"{{"type":"function_call_output","call_id":"c{calls}","output":"o{calls}"}}"#
            )),
            'W' => item(r#"{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#),
            'T' => {
                counted += 1;
                tokens([10 * counted, cached, 0, counted, 0], Some([10, 0, 0, 1, 0]))
            }
            '=' => tokens([10 * counted, cached, 0, counted, 0], Some([10, 0, 0, 1, 0])),
            '0' => {
                cached += 1;
                tokens([10 * counted, cached, 0, counted, 0], Some([0; 5]))
            }
            'n' => item(r#"{"type":"new_kind_call","id":"n"}"#),
            other => event(&format!(r#"{{"type":"{other}"}}"#)),
        });
    }
    lines
}

/// Returns the text of the event that each count ends up at, as the store puts them down.
fn places(letters: &str) -> String {
    let out = read(&log(letters));
    let texts: HashMap<EventKey, &str> = out
        .events
        .iter()
        .map(|event| (event.key, event.body.text.as_str()))
        .collect();
    let mut order = Vec::new();
    let mut found: HashMap<EventKey, (Option<EventKey>, u64)> = HashMap::new();
    for response in &out.responses {
        let (event, searches) = found.entry(response.key).or_insert_with(|| {
            order.push(response.key);
            (None, 0)
        });
        if response.event.is_some() && (response.replaces_event || event.is_none()) {
            *event = response.event;
        }
        *searches = response.usage.web_searches.max(*searches);
    }
    let place = |key: &EventKey| {
        let (event, searches) = found[key];
        let text = event.map_or("nowhere", |event| texts[&event]);
        let text = if text.contains("query") { "w" } else { text };
        format!("{text}{}", "+".repeat(searches as usize))
    };
    order.iter().map(place).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_count_belongs_to_the_answer_around_it() {
    for (letters, expected) in [
        // Behind the answer, as today.
        ("ursSAAooTrAoTsST", "s1 a3 s2"),
        ("usSTusSAoT=sST", "s1 s2 s3"),
        ("ursSWAoTsST", "s1+ s2"),
        // Before its items: the first two turns of a log of 0.34.
        ("uTrAoTrAosTSusTrSAoTAo", "a1 a2 s1 s2 a4"),
        ("uTrAo=TAosTS", "a1 a2 s1"),
        ("usTrSAoTrAWo", "s1 a2+"),
        // Behind a reply that is on the screen only.
        ("usTAoTsST", "s1 a1 s2"),
        ("usTrAoWT", "s1 a1+"),
        // Thoughts and searches before the item of the reply.
        ("usTrWS", "s1+"),
        ("usTrWSusST", "s1+ s2"),
        ("usTrWuT", "s1+ ask 5"),
        ("usTrWSAoTAosTS", "s1+ a2 s2"),
        ("usTrWAoTsST", "s1 w+ s2"),
        // An item of an unknown type is the model's.
        ("unTAoTsST", "a1 a1 s1"),
        // A count of no token behind a count that waits.
        ("uT0AoT", "a1 a1"),
        // Nothing follows: the last answer of the turn, else what there is.
        ("uTrAoT", "a1 a1"),
        ("uTrAoTuTA", "a1 a1 a2"),
        ("uTuTA", "ask 0 a1"),
        ("TuS", "ask 1"),
        ("T", "nowhere"),
        // A count of something that is not logged, such as a compaction.
        ("urAoTTAoTsST", "a1 a2 a2 s1"),
    ] {
        assert_eq!(places(letters), expected, "{letters}");
    }
}
