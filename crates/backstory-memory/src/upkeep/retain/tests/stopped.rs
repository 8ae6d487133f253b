//! Runs that are stopped: what goes in the end is what goes without the stop.

use super::*;

/// A cap that about four of the ten sessions are too many for.
fn trial_over_cap() -> Trial {
    let mut trial = ten();
    trial.caps.raw_soft_cap_bytes = Some(trial.memory.upkeep().disk_bytes() - 120_000);
    trial
}

fn gone(trial: &Trial) -> Vec<u32> {
    (1..=10).filter(|session| trial.evicted(*session)).collect()
}

/// The sessions that an undisturbed run evicts.
fn undisturbed() -> Vec<u32> {
    let trial = trial_over_cap();
    let report = trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert!(report.final_usage_bytes <= trial.caps.raw_soft_cap_bytes.unwrap());
    let gone = gone(&trial);
    assert!((3..=7).contains(&gone.len()), "{gone:?}");
    gone
}

/// Chooses and stores a round as a run does, and evicts only the first sessions of it.
fn stop_after(trial: &mut Trial, evictions: usize) -> usize {
    let options = trial.retain_options();
    trial.memory.upkeep().reclaim(false).unwrap();
    let mut plan = Plan::new(
        trial.memory.store.evictable().unwrap(),
        &options,
        &mut Vec::new(),
    );
    let usage = trial.memory.upkeep().disk_bytes();
    let bound = options.caps.raw_soft_cap_bytes.unwrap();
    let round = trial
        .memory
        .upkeep()
        .choose_round(&mut plan, Pass::SoftCap, usage, bound)
        .unwrap();
    trial
        .memory
        .upkeep()
        .store_round(&round, Pass::SoftCap, &options)
        .unwrap();
    let mut evictor = trial.memory.store.evictor().unwrap();
    for session in round.iter().take(evictions) {
        evictor.evict(session.session, NOW, b"[]").unwrap();
    }
    round.len()
}

#[test]
fn a_run_that_was_stopped_evicts_what_an_undisturbed_one_does() {
    let expected = undisturbed();
    for evictions in 0..=expected.len() {
        for reclaimed in [false, true] {
            let mut trial = trial_over_cap();
            stop_after(&mut trial, evictions);
            if reclaimed {
                // As when it was stopped behind its last step but one, or somebody searched in between.
                trial.memory.upkeep().reclaim(false).unwrap();
            }
            trial
                .memory
                .upkeep()
                .retain(&trial.retain_options())
                .unwrap();
            assert_eq!(gone(&trial), expected, "{evictions} {reclaimed}");
            let again = trial
                .memory
                .upkeep()
                .retain(&trial.retain_options())
                .unwrap();
            assert_eq!(again.evictions, [], "{evictions} {reclaimed}");
            assert_eq!(trial.memory.upkeep().health().unwrap().orphans, []);
        }
    }
}

#[test]
fn what_a_stopped_writer_left_of_an_index_does_not_count() {
    let expected = undisturbed();
    let trial = trial_over_cap();
    let index = trial.store().join("index");
    let generation = std::fs::read_dir(&index).unwrap().next().unwrap().unwrap();
    // Another generation, and a segment that no commit names.
    let other = index.join("77");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("some.store"), noise(1, 200_000)).unwrap();
    let lost = generation
        .path()
        .join("0123456789abcdef0123456789abcdef.store");
    std::fs::write(&lost, noise(2, 200_000)).unwrap();
    trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert_eq!(gone(&trial), expected);
    assert!(!other.exists());
}

#[test]
fn a_stopped_run_is_not_finished_for_other_caps_nor_with_pinned_sessions() {
    let expected = undisturbed();
    let mut trial = trial_over_cap();
    assert_eq!(stop_after(&mut trial, 1), expected.len());
    let cap = trial.caps.raw_soft_cap_bytes;
    trial.caps.raw_soft_cap_bytes = Some(u64::MAX);
    trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert_eq!(gone(&trial), [10]);
    let mut trial = trial_over_cap();
    trial.caps.raw_soft_cap_bytes = cap;
    stop_after(&mut trial, 1);
    trial.memory.upkeep().pin(&id(9), true).unwrap();
    trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert!(trial.evicted(10) && !trial.evicted(9));
}

#[test]
fn sessions_without_events_are_evicted_but_not_counted() {
    let mut trial = Trial::new();
    trial.append(&id(1), &[prompt(1, 0, 50, &noise(1, 25_000))]);
    trial.sweep();
    // A copy of it under another name: all its events are known.
    let copy = std::fs::read_to_string(trial.log(&id(1))).unwrap();
    trial.append(&id(2), &[copy.replace(&id(1), &id(2))]);
    trial.sweep();
    let listed = trial
        .memory
        .sessions()
        .list(&crate::SessionFilter::default());
    assert_eq!(listed.unwrap().len(), 1);
    trial.caps.raw_soft_cap_bytes = Some(1);
    let plan = trial
        .memory
        .upkeep()
        .retain_plan(&trial.retain_options())
        .unwrap();
    let report = trial
        .memory
        .upkeep()
        .retain(&trial.retain_options())
        .unwrap();
    assert_eq!((plan.evictions.len(), report.evictions.len()), (1, 1));
    assert_eq!(trial.stored(), 0);
}
