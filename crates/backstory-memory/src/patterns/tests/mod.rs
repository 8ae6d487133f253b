//! The catalogue and publications, in folders of their own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod catalogue;
mod publish;

use super::{Catalogue, Evidence, Pattern, PatternKind, Status};
use backstory_event::{Seq, TimeMs, TurnNo};

/// A candidate with this id.
fn candidate(id: &str, title: &str, frequency: u64, agents: &[&str]) -> Pattern {
    let evidence = |number: u32| Evidence {
        session: format!("session-{number}"),
        agent: agents[0].to_string(),
        turn: TurnNo::new(number),
        event: Seq::new(10 * number),
        at: Some(TimeMs::new(1_700_000_000_000)),
        text: "error: it broke".to_string(),
    };
    Pattern {
        id: id.to_string(),
        kind: PatternKind::Problem,
        detector: "test",
        title: title.to_string(),
        advice: "Do it otherwise.".to_string(),
        is_minor: false,
        frequency,
        sessions: vec!["session-1".to_string(), "session-2".to_string()],
        agents: agents.iter().map(|agent| (*agent).to_string()).collect(),
        projects: vec!["/home/ada/shop".to_string()],
        domains: vec!["sales".to_string()],
        first_seen: Some(TimeMs::new(1_700_000_000_000)),
        last_seen: None,
        evidence: vec![evidence(1), evidence(1), evidence(2)],
    }
}

/// A catalogue with these approved.
fn approved(folder: &std::path::Path, patterns: &[Pattern]) -> Catalogue {
    let mut catalogue = Catalogue::load(folder).unwrap();
    for pattern in patterns {
        let decided = catalogue.decide(&pattern.id, Some(pattern), Status::Approved, TimeMs::ZERO);
        assert!(decided.unwrap());
    }
    catalogue
}
