//! In whatever order things happen, what is derived is what a fresh import derives.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod course;
mod dump;
mod follow;
mod story;

use backstory_event::Seq;
use serde_json::{Value, json};

use self::course::{Course, Loss, carry_out, embed, remove_folder};
use self::dump::{MODEL, dump_derived, found};
use super::NOTES;
use crate::code::tests::bench::Bench;

/// Variable that names the seeds of a long run: `first-last`, or one.
const SEEDS_VARIABLE: &str = "DERIVE_SEEDS";

/// Number of threads that run courses.
const THREADS: usize = 4;

/// Brings everything up to date and returns what there is.
fn finish(bench: &mut Bench) -> Vec<String> {
    bench.trial.checks = true;
    bench.sweep();
    let memory = &mut bench.trial.memory;
    memory.search().refresh_index(true, &mut |_, _| {}).unwrap();
    embed(bench);
    bench.trial.memory.models().verify_vectors(MODEL).unwrap();
    let derived = dump_derived(bench);
    let indexed = found(bench);
    remove_folder(bench, "index");
    assert_eq!(found(bench), indexed, "found without the index");
    derived
}

fn run(seed: u64) -> Result<(), String> {
    let mut course = Course::new(seed);
    for _ in 0..10 + course.dice.roll(30) {
        course.step();
    }
    if course.dice.roll(2) == 0 {
        course.append(usize::MAX / 2);
    }
    let mut got = finish(&mut course.bench);
    let mut expected = finish(&mut course.fresh());
    course.remove_cut_files(&mut got, &mut expected);
    if got == expected {
        return Ok(());
    }
    let mut told = format!("seed {seed}: {:?}\n", course.trace);
    for line in expected.iter().filter(|line| !got.contains(line)) {
        told.push_str(&format!("- {line}\n"));
    }
    for line in got.iter().filter(|line| !expected.contains(line)) {
        told.push_str(&format!("+ {line}\n"));
    }
    if std::env::var(SEEDS_VARIABLE).is_ok_and(|seeds| !seeds.contains('-')) {
        told.push_str(&format!(
            "{}\nderived:\n{}\n",
            course
                .lines
                .iter()
                .map(|(_, line)| line.as_str())
                .collect::<String>(),
            got.join("\n")
        ));
    }
    Err(told)
}

/// Notes of a session, before and after those from an event on are taken anew.
fn notes_twice(bench: &mut Bench, from: Seq) -> [String; 2] {
    let notes = |bench: &mut Bench| {
        bench.sweep();
        let row = bench.trial.session(1).id;
        let digest = bench.trial.memory.store.digest(row).unwrap().unwrap();
        String::from_utf8(digest.notes).unwrap()
    };
    let before = notes(bench);
    let row = bench.trial.session(1).id;
    let lag = bench.trial.memory.store.lag();
    let notes_id = lag.find(NOTES).unwrap().unwrap();
    lag.mark(notes_id, row, from).unwrap();
    [before, notes(bench)]
}

#[test]
fn a_call_of_an_earlier_turn_may_fail_again() {
    let mut bench = Bench::new();
    bench.ask(1, "look for it");
    let call = json!({"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "it"}});
    let message = json!({"role": "assistant", "model": "claude-test", "content": [call]});
    bench.claude(1, "assistant", &message, &Value::Null);
    bench.ask(1, "and quickly");
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "no such folder", "is_error": true});
    let message = json!({"role": "user", "content": [result]});
    bench.claude(1, "user", &message, &Value::Null);
    let [before, after] = notes_twice(&mut bench, Seq::new(4));
    assert!(before.contains("no such folder"), "{before}");
    assert_eq!(after, before);
}

#[test]
fn the_last_word_stays_the_last() {
    let mut bench = Bench::new();
    bench.ask(1, "are you there?");
    let say = |bench: &mut Bench, content: Value| {
        let message = json!({"role": "assistant", "model": "claude-test", "content": [content]});
        bench.claude(1, "assistant", &message, &Value::Null);
    };
    say(&mut bench, json!({"type": "text", "text": "I am"}));
    bench.sweep();
    carry_out(&mut bench, Loss::Evict(1));
    let thought = json!({"type": "thinking", "thinking": "am I?", "signature": ""});
    say(&mut bench, thought);
    let [before, after] = notes_twice(&mut bench, Seq::new(3));
    assert!(before.contains("\"last\":\"Reply\""), "{before}");
    assert_eq!(after, before);
}

#[test]
fn any_course_of_things_equals_a_fresh_import() {
    let seeds = match std::env::var(SEEDS_VARIABLE) {
        Ok(seeds) => {
            let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
            first.parse().unwrap()..=last.parse().unwrap()
        }
        Err(_) => 1..=16,
    };
    let seeds: Vec<u64> = seeds.collect();
    let run_some = |part: usize| {
        let seeds = seeds.iter().skip(part).step_by(THREADS);
        let failures = seeds.filter_map(|seed| match std::panic::catch_unwind(|| run(*seed)) {
            Ok(outcome) => outcome.err(),
            Err(_) => Some(format!("seed {seed} panicked\n")),
        });
        failures.collect::<String>()
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|part| scope.spawn(move || run_some(part)))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.filter(|failures| !failures.is_empty()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.concat());
}
