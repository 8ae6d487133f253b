//! Answers and requests can be read back from their JSON.

use std::fmt::Debug;

use jiff::tz::TimeZone;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::Turn;
use super::{read_folder, write_samples};
use crate::code::ChangeFilter;
use crate::context::Context;
use crate::observe::ObservationList;
use crate::search::{SearchRecord, SearchRequest};
use crate::trial::NOW;
use crate::*;

/// Checks that a value is the same after a way through JSON.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let json = serde_json::to_value(value).unwrap();
    let read: T = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(&read, value);
    assert_eq!(serde_json::to_value(&read).unwrap(), json);
}

#[test]
fn answers_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    write_samples(&logs, 300_000);
    let memory = read_folder(&logs);
    let rows = memory.sessions().list(&SessionFilter::default()).unwrap();
    assert!(rows.len() > 2);
    for row in rows {
        let session = memory.sessions().open(row.clone());
        let record = session.record(NOW).unwrap();
        check(&memory.upkeep().with_damage(record, None).unwrap());
        check(&session.digest_record(NOW).unwrap());
        for event in session.events(EventRange::All).unwrap() {
            check(&event.unwrap());
        }
        session
            .turns(None, NOW)
            .unwrap()
            .iter()
            .for_each(check::<Turn>);
        let observations = session.observations(None).unwrap();
        check(&ObservationList::new(&row, &observations));
    }
    for by in [UsageBy::Day, UsageBy::Model, UsageBy::Session] {
        check(&memory.usage().table(by, &TimeZone::UTC, None).unwrap());
    }
    let query = Query::parse("test agent:codex -flaky");
    let found = memory.search().run(&query, &SearchOptions::default());
    check(&SearchRecord::new(&memory, &found.unwrap()));
    check(&query);
}

#[test]
fn requests_have_defaults() {
    let request: SearchRequest = serde_json::from_str(r#"{"query": "cart"}"#).unwrap();
    assert_eq!((request.limit, request.mode), (10, Mode::Hybrid));
    check(&request);
    let filter: SessionFilter = serde_json::from_str(
        r#"{"agent": "codex", "meta_equals": [{"path": "git.branch", "value": "main"}]}"#,
    )
    .unwrap();
    assert_eq!(filter.meta_equals.len(), 1);
    let wrong = r#"{"meta_equals": [{"path": "a b", "value": ""}]}"#;
    assert!(serde_json::from_str::<SessionFilter>(wrong).is_err());
    assert!(serde_json::from_str::<SearchOptions>("{}").is_ok());
    check(&ChangeFilter::default());
    let context: Context = serde_json::from_str(
        r#"{"text": "", "tokens": 1, "budget": 2, "layers": [{"name": "files", "tokens": 3, "items": 4}]}"#,
    )
    .unwrap();
    check(&context);
}
