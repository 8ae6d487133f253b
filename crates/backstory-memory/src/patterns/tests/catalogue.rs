//! What people decide is kept, and what they wrote stays.

use super::super::catalogue::find_pattern;
use super::*;
use crate::error::Error;

const NOW: TimeMs = TimeMs::new(1_800_000_000_000);

#[test]
fn an_entry_is_a_file_that_people_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("deep/patterns");
    let pattern = candidate("p-1", "Tests need\n a  database", 7, &["codex", "grok"]);
    let mut catalogue = Catalogue::load(&folder).unwrap();
    assert!(
        catalogue
            .decide("p-1", Some(&pattern), Status::Approved, NOW)
            .unwrap()
    );
    assert!(
        !catalogue
            .decide("p-1", Some(&pattern), Status::Approved, NOW)
            .unwrap()
    );
    let expect = r#"id = "p-1"
kind = "problem"
title = "Tests need a database"
advice = "Do it otherwise."
status = "approved"
version = 1

[seen]
detector = "test"
frequency = 7
sessions = 2
agents = ["codex", "grok"]
domains = ["sales"]
first = "2023-11-14T22:13:20Z"
citations = [
    "session-1#1",
    "session-2#2",
]

[[history]]
at = "2027-01-15T08:00:00Z"
change = "approved"
"#;
    assert_eq!(
        std::fs::read_to_string(folder.join("p-1.toml")).unwrap(),
        expect
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let loaded = Catalogue::load(&folder).unwrap();
    assert_eq!(loaded.entries(), catalogue.entries());
    assert_eq!(loaded.entries()[0].history[0].at, Some(NOW));
}

#[test]
fn changes_count_up_and_keep_what_people_added() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = candidate("p-1", "Tests need a database", 7, &["codex"]);
    let mut catalogue = approved(folder.path(), &[pattern]);
    let path = catalogue.path("p-1");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace(
        "title = \"Tests need a database\"",
        "# said by Ada\ntitle = \"Tests need a database\" # really",
    );
    let text = text.replace("[seen]", "owner = \"ada\"\n\n# as of then\n[seen]");
    std::fs::write(&path, text).unwrap();
    let mut catalogue_of_another = Catalogue::load(folder.path()).unwrap();
    assert!(
        catalogue_of_another
            .edit("p-1", Some("Start the database"), None, NOW)
            .unwrap()
    );
    assert!(
        !catalogue_of_another
            .edit("p-1", Some("Start the database"), None, NOW)
            .unwrap()
    );
    assert!(
        catalogue
            .decide("p-1", None, Status::Rejected, NOW)
            .unwrap()
    );
    let again = candidate("p-1", "Tests need a database", 9, &["codex"]);
    assert!(
        catalogue
            .decide("p-1", Some(&again), Status::Approved, NOW)
            .unwrap()
    );
    let text = std::fs::read_to_string(&path).unwrap();
    for kept in [
        "# said by Ada\ntitle = \"Start the database\" # really\n",
        "owner = \"ada\"\n",
        "# as of then\n[seen]\n",
        "frequency = 9\n",
    ] {
        assert!(text.contains(kept), "no {kept} in\n{text}");
    }
    let entry = catalogue.entry("p-1").unwrap();
    assert_eq!(entry.version, 4);
    let history: Vec<&str> = entry
        .history
        .iter()
        .map(|change| change.change.as_str())
        .collect();
    assert_eq!(history, ["approved", "edited", "rejected", "approved"]);
    assert_eq!(
        entry.history[1].title.as_deref(),
        Some("Tests need a database")
    );
    assert_eq!(entry.history[1].advice, None);
}

#[test]
fn an_edit_by_hand_goes_into_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = approved(
        folder.path(),
        &[candidate("p-1", "Old title", 7, &["codex"])],
    );
    let path = catalogue.path("p-1");
    assert!(!catalogue.take_edited("p-1", NOW).unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("Old title", "New title")).unwrap();
    assert!(catalogue.take_edited("p-1", NOW).unwrap());
    let entry = catalogue.entry("p-1").unwrap();
    assert_eq!((entry.title.as_str(), entry.version), ("New title", 2));
    assert_eq!(entry.history[1].title.as_deref(), Some("Old title"));
    std::fs::write(&path, "title = ").unwrap();
    let error = catalogue.take_edited("p-1", NOW).unwrap_err().to_string();
    assert!(
        error.contains("p-1.toml is no entry of the catalogue"),
        "{error}"
    );
}

#[test]
fn one_pattern_is_merged_into_another() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, three, four] =
        ["p-1", "p-2", "p-3", "p-4"].map(|id| candidate(id, id, 5, &["codex"]));
    let mut catalogue = approved(folder.path(), &[one, two, three]);
    // Of three agents together, which none of them is alone.
    let four = Pattern {
        agents: vec!["grok".to_string()],
        ..four
    };
    assert!(catalogue.merge("p-3", None, "p-2", NOW).unwrap());
    assert!(catalogue.merge("p-2", None, "p-1", NOW).unwrap());
    assert!(!catalogue.merge("p-2", None, "p-1", NOW).unwrap());
    assert!(catalogue.merge("p-4", Some(&four), "p-1", NOW).unwrap());
    let entry = catalogue.entry("p-1").unwrap();
    assert_eq!(entry.merged, ["p-3", "p-2", "p-4"]);
    let merged = catalogue.entry("p-4").unwrap();
    assert_eq!(
        (merged.status, merged.merged_into.as_deref()),
        (Status::Merged, Some("p-1"))
    );
    assert_eq!(
        merged.history.last().unwrap().pattern.as_deref(),
        Some("p-1")
    );
    assert_eq!(catalogue.approved().len(), 1);
    for (id, into) in [
        ("p-1", "p-1"),
        ("p-1", "p-4"),
        ("p-2", "p-9"),
        ("p-9", "p-1"),
    ] {
        assert!(
            catalogue.merge(id, None, into, NOW).is_err(),
            "{id} into {into}"
        );
    }
    let error = catalogue
        .decide("p-2", None, Status::Approved, NOW)
        .unwrap_err();
    assert_eq!(error.to_string(), "pattern p-2 is the same as p-1");
    assert_eq!(
        Catalogue::load(folder.path()).unwrap().entries(),
        catalogue.entries()
    );
}

#[test]
fn those_of_several_agents_come_first_then_the_most_frequent() {
    let folder = tempfile::tempdir().unwrap();
    let patterns = [
        candidate("p-1", "rare", 2, &["codex"]),
        candidate("p-2", "frequent", 50, &["codex"]),
        candidate("p-3", "of several", 3, &["codex", "grok"]),
        candidate("p-4", "rejected", 90, &["codex", "grok"]),
        candidate("p-5", "part of the rare one", 60, &["codex"]),
    ];
    let mut catalogue = approved(folder.path(), &patterns);
    catalogue
        .decide("p-4", None, Status::Rejected, NOW)
        .unwrap();
    catalogue.merge("p-5", None, "p-1", NOW).unwrap();
    let ids: Vec<&str> = catalogue
        .approved()
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["p-3", "p-1", "p-2"]);
}

#[test]
fn an_id_may_begin_another() {
    let folder = tempfile::tempdir().unwrap();
    let patterns = ["p-1", "p-1-a", "p-10"].map(|id| candidate(id, id, 2, &["codex"]));
    approved(folder.path(), &patterns);
    let mut catalogue = Catalogue::load(folder.path()).unwrap();
    for pattern in &patterns {
        assert!(
            catalogue
                .decide(&pattern.id, None, Status::Rejected, NOW)
                .unwrap()
        );
    }
    let statuses: Vec<_> = catalogue
        .entries()
        .iter()
        .map(|entry| entry.status)
        .collect();
    assert_eq!(statuses, [Status::Rejected; 3]);
}

#[test]
fn a_bad_file_is_told_and_the_others_load() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogue = approved(folder.path(), &[candidate("p-1", "Good", 2, &["codex"])]);
    let good = std::fs::read_to_string(catalogue.path("p-1")).unwrap();
    let bad = [
        ("p-2", "title = \"no end".to_string(), "p-2"),
        ("p-3", good.clone(), "its id is \"p-1\""),
        (
            "p-4",
            good.replace("p-1", "p-4")
                .replace("\"approved\"\nversion", "\"perhaps\"\nversion"),
            "perhaps",
        ),
        (
            "p-5",
            good.replace("p-1", "p-5")
                .replace("2023-11-14T", "yesterday "),
            "is no time",
        ),
        ("p-6", String::new(), "missing field"),
    ];
    for (id, text, _) in &bad {
        std::fs::write(catalogue.path(id), text).unwrap();
    }
    std::fs::write(folder.path().join("README.md"), "mine").unwrap();
    catalogue = Catalogue::load(folder.path()).unwrap();
    assert_eq!(catalogue.entries().len(), 1);
    assert_eq!(catalogue.problems().len(), bad.len());
    for ((id, text, reason), problem) in bad.iter().zip(catalogue.problems()) {
        assert!(problem.path.ends_with(format!("{id}.toml")));
        assert!(
            *id == "p-2" || problem.reason.contains(reason),
            "{}",
            problem.reason
        );
        // Nor is it overwritten.
        let pattern = candidate(id, "Another", 2, &["codex"]);
        let mut catalogue = Catalogue::load(folder.path()).unwrap();
        let refused = catalogue.decide(id, Some(&pattern), Status::Approved, NOW);
        assert!(matches!(refused, Err(Error::Catalogue { .. })));
        assert_eq!(&std::fs::read_to_string(catalogue.path(id)).unwrap(), text);
    }
}

#[test]
fn publications_are_recorded_once_and_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["p-1", "p-2"].map(|id| candidate(id, id, 5, &["codex"]));
    let mut catalogue = approved(folder.path(), &[one, two]);
    let both = ["p-1".to_string(), "p-2".to_string()];
    catalogue
        .record("shop/AGENTS.md", Some("shop"), &both, NOW)
        .unwrap();
    catalogue
        .record("~/skill.md", None, &both[..1], NOW.plus_ms(1000))
        .unwrap();
    catalogue
        .record(
            "shop/AGENTS.md",
            Some("shop"),
            &both[1..],
            NOW.plus_ms(2000),
        )
        .unwrap();
    let check = |catalogue: &Catalogue, id: &str, expect: &[(&str, TimeMs)], version: u64| {
        let entry = catalogue.entry(id).unwrap();
        let published: Vec<_> = entry
            .published
            .iter()
            .map(|one| (one.target.as_str(), one.at.unwrap()))
            .collect();
        assert_eq!((published.as_slice(), entry.version), (expect, version));
    };
    check(&catalogue, "p-1", &[("~/skill.md", NOW.plus_ms(1000))], 4);
    check(&catalogue, "p-2", &[("shop/AGENTS.md", NOW)], 2);
    catalogue
        .record("shop/AGENTS.md", None, &[], NOW.plus_ms(3000))
        .unwrap();
    check(&catalogue, "p-2", &[], 3);
    assert!(
        !std::fs::read_to_string(catalogue.path("p-2"))
            .unwrap()
            .contains("[[published]]")
    );
    let history = &catalogue.entry("p-2").unwrap().history;
    assert_eq!(
        (history[2].change.as_str(), history[2].target.as_deref()),
        ("unpublished", Some("shop/AGENTS.md"))
    );
}

#[test]
fn lists_that_cannot_be_added_to_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let inline =
        "published = [{ target = \"shop/AGENTS.md\" }]\nhistory = [{ change = \"approved\" }]\n";
    let text =
        format!("id = \"p-1\"\nkind = \"success\"\ntitle = \"x\"\nstatus = \"approved\"\n{inline}");
    std::fs::write(folder.path().join("p-1.toml"), &text).unwrap();
    let mut catalogue = Catalogue::load(folder.path()).unwrap();
    assert_eq!(catalogue.entry("p-1").unwrap().published.len(), 1);
    for changed in [
        catalogue.record("shop/AGENTS.md", None, &[], NOW),
        catalogue.edit("p-1", Some("y"), None, NOW).map(|_| ()),
    ] {
        let error = changed.unwrap_err().to_string();
        assert!(error.contains("must be lists of tables"), "{error}");
    }
    assert_eq!(
        std::fs::read_to_string(catalogue.path("p-1")).unwrap(),
        text
    );
}

#[test]
fn ids_may_be_shortened() {
    let ids = ["p-1", "p-12", "p-2f", "p-2f"];
    assert_eq!(find_pattern("p-2", ids).unwrap(), "p-2f");
    assert_eq!(find_pattern("p-1", ids).unwrap(), "p-1");
    assert!(
        matches!(find_pattern("p-", ids), Err(Error::ManyPatterns { matches, .. }) if matches.len() == 3)
    );
    for unknown in ["", "p-3", "../p-1"] {
        assert!(matches!(
            find_pattern(unknown, ids),
            Err(Error::UnknownPattern(_))
        ));
    }
}
