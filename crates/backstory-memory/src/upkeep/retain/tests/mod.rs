//! What goes, what stays, and what does not come back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod sequences;
mod stopped;

use backstory_event::{Seq, TimeMs};

use super::*;
use crate::trial::{DAY, NOW, Trial, id, noise, prompt, record};
use crate::{EventRange, Query, SearchOptions};

/// Ten sessions of 40 kB of noise each, the oldest with the highest number.
fn ten() -> Trial {
    let mut trial = Trial::new();
    for session in 1..=10 {
        let lines: Vec<String> = (0..4)
            .map(|number| {
                let text = format!(
                    "{} {}",
                    topic(session),
                    noise(session * 10 + number, 10_000)
                );
                prompt(session, number, i64::from(session), &text)
            })
            .collect();
        trial.append(&id(session), &lines);
    }
    trial.sweep();
    trial.memory.upkeep().reclaim(false).unwrap();
    trial
}

/// A word that only one session says.
fn topic(session: u32) -> String {
    let letter = char::from(b'a' + session as u8).to_string();
    format!("topic{}", letter.repeat(5))
}

fn titles(trial: &mut Trial, words: &str) -> Vec<(String, u32, u32)> {
    let answer = trial
        .memory
        .search()
        .run(&Query::parse(words), &SearchOptions::default());
    let hits = answer.unwrap().hits.into_iter();
    hits.map(|hit| (hit.session.session, hit.turn.get(), hit.event.get()))
        .collect()
}

#[test]
fn the_oldest_analysed_sessions_go_until_the_files_are_small_enough() {
    let mut trial = ten();
    let before = trial.memory.upkeep().disk_bytes();
    let cap = before - 80_000;
    trial.caps.raw_soft_cap_bytes = Some(cap);
    trial.memory.upkeep().pin(&id(10), true).unwrap();
    let plan = trial
        .memory
        .upkeep()
        .retain_plan(&trial.retain_options())
        .unwrap();
    let report = trial.sweep().retention;
    assert!(report.final_usage_bytes <= cap, "{report:?}");
    assert_eq!(report.final_usage_bytes, trial.memory.upkeep().disk_bytes());
    assert!(report.freed_bytes >= before - report.final_usage_bytes);
    assert!(report.alerts.is_empty() && report.lost().next().is_none());
    let gone: Vec<u32> = (1..=10).filter(|session| trial.evicted(*session)).collect();
    assert_eq!(report.evicted(Pass::SoftCap), gone.len() as u64);
    // About as much as is needed and no more; the pinned one, though the oldest, stays.
    assert!((3..=6).contains(&gone.len()), "{gone:?}");
    assert_eq!(gone, (10 - gone.len() as u32..=9).collect::<Vec<_>>());
    assert!(plan.evictions.len().abs_diff(gone.len()) <= 1);
    assert_eq!(plan.evictions[0].session, id(9));
    // Nothing more goes the next time.
    assert_eq!(trial.sweep().retention.evictions, []);
}

#[test]
fn what_a_stopped_run_left_is_freed_before_more_goes() {
    let mut trial = ten();
    trial.caps.raw_soft_cap_bytes = Some(trial.memory.upkeep().disk_bytes() - 40_000);
    let oldest = [
        trial.session(10).id,
        trial.session(9).id,
        trial.session(8).id,
    ];
    let mut evictor = trial.memory.store.evictor().unwrap();
    for session in oldest {
        evictor.evict(session, NOW, b"[]").unwrap();
    }
    // Stopped here: neither the database nor the index is smaller yet, but nothing is found any more.
    assert_eq!(titles(&mut trial, &topic(9)), [(id(9), 1, 1)]);
    let report = trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert_eq!((report.evictions.len(), report.alerts.len()), (0, 0));
    assert!(report.final_usage_bytes <= trial.caps.raw_soft_cap_bytes.unwrap());
    let unindexed = crate::search::unindexed(&trial.memory.store).unwrap();
    assert!(!unindexed.iter().any(backstory_store::Lag::is_evicted));
    assert_eq!(trial.memory.upkeep().health().unwrap().orphans, []);
}

#[test]
fn search_finds_an_evicted_session_by_what_was_noted() {
    let mut trial = ten();
    assert_eq!(titles(&mut trial, &topic(9)), [(id(9), 1, 1)]);
    let before = trial.session(9);
    trial.memory.upkeep().pin(&id(10), true).unwrap();
    trial.caps.raw_max_age_days = Some(8);
    let report = trial.sweep().retention;
    assert_eq!(report.evicted(Pass::MaxAge), 1);
    let after = trial.session(9);
    assert_eq!((after.evicted, after.evicted_at), (Seq::new(4), Some(NOW)));
    assert_eq!(
        (after.events, after.turns, &after.title),
        (before.events, before.turns, &before.title)
    );
    assert_eq!(titles(&mut trial, &topic(9)), [(id(9), 1, 1)]);
    assert_eq!(
        trial
            .memory
            .sessions()
            .open(after.clone())
            .event_views(EventRange::All)
            .unwrap(),
        []
    );
    assert_eq!(trial.memory.sessions().open(after).tail(5).unwrap(), []);
    assert_eq!(
        trial.memory.models().embedding_state("any").unwrap().events,
        36
    );
}

#[test]
fn only_the_hard_cap_takes_what_is_not_analysed_and_says_so() {
    let mut trial = ten();
    trial.digests = false;
    trial.append(&id(11), &[prompt(11, 0, 20, &noise(999, 25_000))]);
    trial.sweep();
    trial.caps.raw_soft_cap_bytes = Some(1);
    let report = trial.sweep().retention;
    assert_eq!(report.evicted(Pass::SoftCap), 10);
    assert!(!trial.evicted(11) && report.lost().next().is_none());
    assert!(
        report.alerts[0].contains("1 sessions are not analysed"),
        "{:?}",
        report.alerts
    );
    trial.caps.raw_hard_cap_bytes = Some(1);
    let report = trial.sweep().retention;
    assert_eq!(
        report
            .lost()
            .map(|lost| lost.session.clone())
            .collect::<Vec<_>>(),
        [id(11)]
    );
    assert!(trial.evicted(11));
    assert!(
        report
            .alerts
            .iter()
            .any(|alert| alert.contains("raw_hard_cap_bytes"))
    );
}

#[test]
fn pinned_sessions_stay_even_above_the_hard_cap() {
    let mut trial = ten();
    for session in 1..=10 {
        trial.memory.upkeep().pin(&id(session), true).unwrap();
    }
    trial.caps.raw_hard_cap_bytes = Some(100_000);
    let report = trial.sweep().retention;
    assert_eq!(report.evictions, []);
    assert!(
        report.alerts[0].contains("10 pinned sessions"),
        "{:?}",
        report.alerts
    );
    trial.memory.upkeep().pin(&id(3), false).unwrap();
    assert_eq!(trial.sweep().retention.evictions.len(), 1);
    assert!(trial.evicted(3));
}

#[test]
fn a_log_does_not_bring_its_evicted_events_back() {
    let mut trial = ten();
    trial.caps.raw_max_age_days = Some(9);
    trial.sweep();
    assert!(trial.evicted(10));
    let bytes = trial.stored();
    let log = std::fs::read(trial.log(&id(10))).unwrap();
    // Touched.
    std::fs::write(trial.log(&id(10)), &log).unwrap();
    assert_eq!(trial.sweep().events, 0);
    // Written anew, with another beginning, so that it is read from there.
    let other = [b"{\"type\":\"mode\"}\n".as_slice(), &log].concat();
    std::fs::write(trial.log("beside"), &other).unwrap();
    std::fs::rename(trial.log("beside"), trial.log(&id(10))).unwrap();
    let report = trial.sweep();
    assert_eq!((report.events, report.replayed), (0, 4));
    // Copied.
    std::fs::copy(trial.log(&id(10)), trial.log("copy")).unwrap();
    assert_eq!(trial.sweep().replayed, 4);
    assert!(
        trial.stored() <= bytes + 2_000,
        "{} {bytes}",
        trial.stored()
    );
    assert_eq!(trial.texts(10), [""; 0]);
    // Grown: what is new is stored, and counts on.
    trial.caps = Caps::default();
    trial.append(&id(10), &[prompt(10, 4, 0, "one more")]);
    assert_eq!(trial.sweep().events, 1);
    assert_eq!(trial.texts(10), ["one more"]);
    let session = trial.session(10);
    assert_eq!(
        (session.events, session.evicted, session.turns),
        (5, Seq::new(4), 5)
    );
    // Grown and written anew: the old records beside the new one are blank.
    trial.append(
        "copy",
        &[
            prompt(10, 4, 0, "one more"),
            prompt(10, 5, 0, "and another"),
        ],
    );
    let longer = [
        b"{}\n".as_slice(),
        &std::fs::read(trial.log("copy")).unwrap(),
    ]
    .concat();
    std::fs::write(trial.log("copy"), longer).unwrap();
    assert_eq!(trial.sweep().events, 1);
    assert_eq!(trial.texts(10), ["one more", "and another"]);
    assert!(
        trial.stored() <= bytes + 4_000,
        "{} {bytes}",
        trial.stored()
    );
    assert_eq!(titles(&mut trial, "another"), [(id(10), 6, 6)]);
}

#[test]
fn a_shared_file_goes_with_the_last_of_its_sessions() {
    let mut trial = Trial::new();
    let lines = [
        prompt(1, 0, 50, &noise(1, 25_000)),
        prompt(1, 1, 5, &noise(2, 25_000)).replacen(
            '{',
            "{\"isSidechain\":true,\"agentId\":\"x\",",
            1,
        ),
    ];
    trial.append(&id(1), &lines);
    trial.sweep();
    trial.caps.raw_max_age_days = Some(40);
    trial.sweep();
    assert!(trial.evicted(1));
    let child = trial
        .memory
        .sessions()
        .row(&format!("{}/agent-x", id(1)))
        .unwrap();
    let events = trial
        .memory
        .sessions()
        .open(child)
        .event_views(EventRange::All)
        .unwrap();
    assert_eq!(events[0].text(), noise(2, 25_000));
    trial.caps.raw_max_age_days = Some(3);
    assert!(trial.sweep().retention.freed_bytes > 0);
    assert_eq!(trial.stored(), 0);
}

#[test]
fn an_evicted_session_comes_back_when_asked_for() {
    let mut trial = ten();
    let texts = trial.texts(10);
    trial.caps.raw_max_age_days = Some(9);
    trial.sweep();
    assert!(matches!(
        trial.memory.upkeep().restore(&id(9)),
        Err(Error::NotEvicted(_))
    ));
    let usage = trial.session(10).usage;
    let (session, files) = trial.memory.upkeep().restore(&id(10)).unwrap();
    assert_eq!((session, files.len()), (id(10), 1));
    trial.sweep();
    assert_eq!(trial.texts(10), texts);
    assert_eq!(titles(&mut trial, &topic(10)), [(id(10), 1, 1)]);
    let row = trial.session(10);
    assert_eq!(
        (row.events, row.turns, row.evicted, row.pinned, row.usage),
        (4, 4, Seq::ZERO, true, usage)
    );
    trial.memory.upkeep().pin(&id(10), false).unwrap();
    trial.sweep();
    assert!(trial.evicted(10));
    std::fs::remove_file(trial.log(&id(10))).unwrap();
    assert!(matches!(
        trial.memory.upkeep().restore(&id(10)),
        Err(Error::SourceGone { .. })
    ));
}

#[test]
fn a_clock_gone_wrong_is_no_reason_to_go() {
    let mut trial = Trial::new();
    let at = |session, at: Option<TimeMs>| {
        let message = serde_json::json!({"role": "user", "content": noise(session, 20_000)});
        record(session, &format!("{session}"), at, "user", &message)
    };
    trial.append("1", &[at(1, Some(TimeMs::ZERO))]);
    trial.append("2", &[at(2, Some(NOW.plus_ms(5000 * DAY)))]);
    trial.append("3", &[at(3, None)]);
    trial.append("4", &[at(4, Some(NOW.minus_ms(20 * DAY)))]);
    trial.append("5", &[at(5, Some(NOW.minus_ms(2 * DAY)))]);
    trial.sweep();
    trial.caps.raw_max_age_days = Some(10);
    let went: Vec<String> = trial
        .sweep()
        .retention
        .evictions
        .into_iter()
        .map(|gone| gone.session)
        .collect();
    assert_eq!(went, [id(4)]);
    // A clock that is far ahead of all that is known.
    let mut options = trial.retain_options();
    options.now = options.now.plus_ms(9000 * DAY);
    let report = trial.memory.upkeep().retain(&options).unwrap();
    assert_eq!(report.evictions, []);
    assert!(report.alerts[0].contains("clock"), "{:?}", report.alerts);
}

#[test]
fn attachments_go_with_the_last_session_that_shows_them() {
    let mut trial = Trial::new();
    let image = |session: u32, days| {
        let pixels: Vec<u8> = noise(7, 20_000).bytes().map(|byte| byte | 0x80).collect();
        let data = backstory_store::attachment::encode(&pixels);
        let source = serde_json::json!({"type": "base64", "media_type": "image/png", "data": data});
        let message = serde_json::json!({"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "see"}]});
        record(
            session,
            &format!("{session}"),
            Some(NOW.minus_ms(days * DAY)),
            "user",
            &message,
        )
    };
    trial.append("1", &[image(1, 50)]);
    trial.append("2", &[image(2, 5)]);
    trial.sweep();
    assert_eq!(trial.memory.upkeep().health().unwrap().attachments, 1);
    trial.caps.raw_max_age_days = Some(40);
    trial.sweep();
    assert_eq!(trial.memory.upkeep().health().unwrap().attachments, 1);
    trial.caps.raw_max_age_days = Some(3);
    trial.sweep();
    assert_eq!(trial.memory.upkeep().health().unwrap().attachments, 0);
}
