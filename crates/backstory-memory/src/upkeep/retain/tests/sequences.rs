//! Whatever order things happen in, nothing is lost unsaid, nothing forgotten comes back, and the hard cap holds.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::digest::Notes;
use crate::trial::Dice;
use crate::upkeep::Forget;
use backstory_store::DigestRow;

/// What the test itself knows of a store.
#[derive(Default)]
struct World {
    /// The prompts of each session, as its log has them.
    prompts: HashMap<u32, Vec<String>>,
    pinned: HashSet<u32>,
    forgotten: HashSet<u32>,
    /// Sessions that a report called lost.
    lost: HashSet<u32>,
    /// How often sessions went and the hard cap held.
    held: usize,
}

fn step(trial: &mut Trial, world: &mut World, dice: &mut Dice, number: u32) {
    let session = 1 + dice.roll(4) as u32;
    let known = world.prompts.contains_key(&session) && !world.forgotten.contains(&session);
    match dice.roll(10) {
        0..=4 => {
            let prompts = world.prompts.entry(session).or_default();
            let text = format!(
                "prompt{number}of{session} {}",
                noise(number * 7 + session, 1500)
            );
            let days = i64::from(30 - number.min(30));
            trial.append(
                &id(session),
                &[prompt(session, prompts.len() as u32, days, &text)],
            );
            prompts.push(text);
        }
        5 => {
            // The agent writes the file anew, with another beginning.
            if let Ok(log) = std::fs::read(trial.log(&id(session))) {
                let start = format!("{{\"type\":\"mode\",\"n\":{number}}}\n");
                std::fs::write(trial.log(&id(session)), [start.as_bytes(), &log].concat()).unwrap();
            }
        }
        6 => {
            if trial.memory.sessions().row(&id(session)).is_ok() {
                let pin = dice.roll(2) == 0;
                trial.memory.upkeep().pin(&id(session), pin).unwrap();
                if pin {
                    world.pinned.insert(session);
                } else {
                    world.pinned.remove(&session);
                }
            }
        }
        7 if known && dice.roll(3) == 0 && trial.memory.sessions().row(&id(session)).is_ok() => {
            let heads = trial
                .memory
                .upkeep()
                .to_forget(Forget::Session(&id(session)))
                .unwrap();
            let report = trial
                .memory
                .upkeep()
                .forget(&heads, &crate::upkeep::ForgetPlaces::default(), &[])
                .unwrap();
            assert_eq!(report.proof.remains, [""; 0]);
            world.forgotten.insert(session);
            world.pinned.remove(&session);
        }
        _ => {
            trial.digests = dice.roll(3) > 0;
            sweep(trial, world);
        }
    }
}

fn sweep(trial: &mut Trial, world: &mut World) {
    let evicted_before: HashMap<u32, Seq> = (1..=4)
        .filter_map(|session| {
            Some((
                session,
                trial.memory.sessions().row(&id(session)).ok()?.evicted,
            ))
        })
        .collect();
    let report = trial.sweep().retention;
    for lost in report.lost() {
        world
            .lost
            .extend((1..=4).find(|session| id(*session) == lost.session));
    }
    let cap = trial.caps.raw_hard_cap_bytes.unwrap();
    let in_use = trial.memory.upkeep().disk_bytes();
    assert_eq!(report.final_usage_bytes, in_use);
    if in_use > cap {
        // Only what may not go is left, and that is said.
        let said = |alert: &String| alert.contains("raw_hard_cap");
        assert!(report.alerts.iter().any(said), "{in_use} {report:?}");
        let left = trial.memory.store.evictable().unwrap();
        assert!(left.iter().all(|session| session.pinned), "{left:?}");
    }
    let held = !report.evictions.is_empty() && in_use <= cap;
    world.held += usize::from(held);
    for (session, prompts) in &world.prompts {
        let row = trial.memory.sessions().row(&id(*session));
        if world.forgotten.contains(session) {
            assert!(row.is_err(), "{session} came back");
            continue;
        }
        let row = row.unwrap();
        // All that is not evicted is there, in order, and nothing is there twice.
        assert_eq!(row.events as usize, prompts.len());
        assert_eq!(trial.texts(*session), prompts[row.evicted.get() as usize..]);
        let went = row.evicted > evicted_before.get(session).copied().unwrap_or_default();
        if went {
            let gone = |eviction: &&Eviction| eviction.session == row.session;
            let eviction = report.evictions.iter().find(gone).unwrap();
            let digest = trial.memory.store.digest(row.id).unwrap();
            let noted = |digest: DigestRow| {
                let notes: Notes = serde_json::from_slice(&digest.notes).unwrap();
                notes.events >= row.evicted
            };
            let digested = digest.is_some_and(noted);
            assert!(
                digested || !eviction.analysed,
                "{session} was lost without a word"
            );
            assert!(!world.pinned.contains(session));
        }
    }
}

/// Runs some sequences on one store, for to make a store takes longer than to use it; how often sessions were lost, and how often caps held.
fn sequences(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let mut trial = Trial::new();
    let mut world = World::default();
    trial.sweep();
    trial.memory.upkeep().reclaim(false).unwrap();
    trial.checks = false;
    for seed in seeds {
        let mut dice = Dice(seed);
        let in_use = trial.memory.upkeep().disk_bytes();
        trial.caps.raw_soft_cap_bytes = Some(in_use + 4_000 * dice.roll(4));
        trial.caps.raw_hard_cap_bytes = Some(in_use + 8_000 * dice.roll(4));
        for number in 0..4 {
            step(&mut trial, &mut world, &mut dice, seed as u32 * 10 + number);
        }
        assert_eq!(trial.memory.upkeep().verify_store(true).unwrap().damage, []);
    }
    trial.checks = true;
    sweep(&mut trial, &mut world);
    (world.lost.len(), world.held)
}

#[test]
fn a_thousand_sequences_lose_nothing_unsaid() {
    let add = |(lost, held), (more_lost, more_held)| (lost + more_lost, held + more_held);
    let (lost, held) = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|run| {
                let stores = (0..25_u64).filter(move |store| store % 4 == run);
                let results = stores.map(|store| sequences(store * 40..store * 40 + 40));
                scope.spawn(move || results.fold((0, 0), add))
            })
            .collect();
        let results = runs.into_iter().map(|run| run.join().unwrap());
        results.fold((0, 0), add)
    });
    // Else the test would not have tested what it is about.
    assert!(lost > 5 && held > 40, "{lost} {held}");
}
