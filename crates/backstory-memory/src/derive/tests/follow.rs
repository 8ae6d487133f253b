//! A sink that follows the memory has what is there, whatever happens in between.

use std::collections::BTreeMap;
use std::io;

use backstory_event::{EventView, Seq, SessionName};
use backstory_store::SessionHead;

use crate::trial::{Trial, id, prompt};
use crate::upkeep::{Forget, ForgetPlaces};
use crate::{EventSink, FollowReport, Memory};

/// Texts of events by session; fails as often as it is told to.
#[derive(Default)]
struct Copies {
    sessions: BTreeMap<String, BTreeMap<Seq, String>>,
    open: BTreeMap<Seq, String>,
    failures: u32,
    version: u32,
}

impl EventSink for Copies {
    fn name(&self) -> &'static str {
        "copies"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn sessions(&mut self) -> io::Result<Vec<SessionName>> {
        let names = self.sessions.keys();
        Ok(names
            .map(|id| SessionName::new("claude-code", id.as_str()))
            .collect())
    }

    fn begin_session(&mut self, session: &SessionHead, from: Seq) -> io::Result<Seq> {
        self.open = self
            .sessions
            .get(&session.session)
            .cloned()
            .unwrap_or_default();
        self.open.retain(|seq, _| *seq < from);
        Ok(from)
    }

    fn receive_event(&mut self, event: &EventView<'_>) -> io::Result<()> {
        self.open.insert(event.seq, event.text().to_string());
        Ok(())
    }

    fn end_session(&mut self, session: &SessionHead) -> io::Result<()> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err(io::Error::other("full"));
        }
        let open = std::mem::take(&mut self.open);
        self.sessions.insert(session.session.clone(), open);
        Ok(())
    }

    fn remove_session(&mut self, session: &SessionName) -> io::Result<()> {
        self.sessions.remove(&*session.id);
        Ok(())
    }
}

fn follow(memory: &Memory, copies: &mut Copies) -> FollowReport {
    memory.follow(copies).unwrap()
}

fn report(sessions: u64, events: u64, removed: u64) -> FollowReport {
    FollowReport {
        sessions,
        events,
        removed,
    }
}

#[test]
fn a_sink_has_what_the_memory_has() {
    let mut trial = Trial::new();
    let mut copies = Copies::default();
    for session in 1..=3 {
        let lines: Vec<String> = (0..4)
            .map(|number| prompt(session, number, 1, "count the till"))
            .collect();
        trial.append(&id(session), &lines);
    }
    trial.sweep();
    copies.failures = 1;
    assert!(trial.memory.follow(&mut copies).is_err());
    assert_eq!(follow(&trial.memory, &mut copies), report(3, 12, 0));
    assert_eq!(follow(&trial.memory, &mut copies), report(0, 0, 0));

    trial.append(&id(2), &[prompt(2, 4, 2, "and again")]);
    trial.sweep();
    assert_eq!(follow(&trial.memory, &mut copies), report(1, 1, 0));
    for session in 1..=3 {
        let texts: Vec<String> = copies.sessions[&id(session)].values().cloned().collect();
        assert_eq!(texts, trial.texts(session));
    }

    // A session that is evicted stays as it was copied; new rules see what is left.
    trial.caps.raw_hard_cap_bytes = Some(1);
    trial.sweep();
    assert!(trial.evicted(1));
    assert_eq!(follow(&trial.memory, &mut copies), report(0, 0, 0));
    assert_eq!(copies.sessions[&id(1)].len(), 4);
    copies.version = 2;
    follow(&trial.memory, &mut copies);
    assert_eq!(copies.sessions[&id(1)].len(), 4);

    let upkeep = trial.memory.upkeep();
    let sessions = upkeep.to_forget(Forget::Session(&id(1))).unwrap();
    upkeep
        .forget(&sessions, &ForgetPlaces::default(), &[])
        .unwrap();
    assert_eq!(follow(&trial.memory, &mut copies).removed, 1);
    assert_eq!(
        copies.sessions.keys().cloned().collect::<Vec<_>>(),
        [id(2), id(3)]
    );
    trial.memory.unfollow("copies").unwrap();
    assert!(follow(&trial.memory, &mut copies).sessions <= 2);
}
