//! What needs candidates, as detection gives them.

use backstory_event::{Seq, TimeMs, TurnNo};
use backstory_memory::patterns::{
    Catalogue, Entry, Evidence, Pattern, PatternKind, PatternRecord, Status,
};
use serde_json::Value;

use super::curate;

fn candidate(id: &str, frequency: u64, agents: &[&str]) -> Pattern {
    Pattern {
        id: id.to_string(),
        kind: PatternKind::Problem,
        detector: "test",
        title: "Tests need a database".to_string(),
        advice: String::new(),
        is_minor: false,
        frequency,
        sessions: vec!["s-1".to_string()],
        agents: agents.iter().map(|agent| (*agent).to_string()).collect(),
        projects: Vec::new(),
        domains: Vec::new(),
        first_seen: Some(TimeMs::ZERO),
        last_seen: None,
        evidence: vec![Evidence {
            session: "s-1".to_string(),
            agent: agents[0].to_string(),
            turn: TurnNo::new(2),
            event: Seq::new(7),
            at: Some(TimeMs::ZERO),
            text: "no database".to_string(),
        }],
    }
}

fn json_of(pattern: &Pattern, entry: Option<&Entry>) -> Value {
    serde_json::to_value(PatternRecord::detected(pattern, entry)).unwrap()
}

#[test]
fn candidates_are_approved_by_the_beginning_of_their_id() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = Catalogue::load(folder.path()).unwrap();
    let candidates = [
        candidate("p-1a", 3, &["codex"]),
        candidate("p-2b", 3, &["codex"]),
    ];
    let mut decide = |ids: &[&str], status| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_string()).collect();
        curate::decide(&candidates, &mut catalogue, &ids, status)
    };
    assert!(decide(&["p-1", "p-3"], Status::Approved).is_err());
    assert!(decide(&["p-1"], Status::Approved).is_ok());
    assert!(decide(&["p-2"], Status::Rejected).is_ok());
    curate::merge(&candidates, &mut catalogue, "p-2", "p-1").unwrap();
    let statuses: Vec<_> = catalogue
        .entries()
        .iter()
        .map(|entry| entry.status)
        .collect();
    assert_eq!(statuses, [Status::Approved, Status::Merged]);
    catalogue
        .edit("p-1a", Some("Start the database"), None, TimeMs::ZERO)
        .unwrap();
    let json = json_of(&candidates[0], catalogue.entry("p-1a"));
    assert_eq!(
        (&json["title"], &json["status"]),
        (&"Start the database".into(), &"approved".into())
    );
    let json = json_of(&candidates[0], None);
    assert_eq!(
        (&json["status"], &json["cross_agent"]),
        (&"candidate".into(), &false.into())
    );
    assert_eq!(json["evidence"][0]["timestamp"], "1970-01-01T00:00:00.000Z");
}
