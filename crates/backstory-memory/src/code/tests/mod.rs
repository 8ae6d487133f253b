//! What is remembered of functions: letters are the first of new, modified, deleted and renamed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

pub(crate) mod bench;
mod snapshots;

use backstory_event::{FileId, TimeMs};
use serde_json::{Value, json};

use self::bench::{Bench, ROOT};
use crate::code::SymbolChangeKind;
use crate::code::{CodeRowFilter, SeenFile};
use crate::trial::id;
use crate::upkeep::Forget;

const SHOP: &str = "class Shop:\n    def pay(self, total):\n        return total\n\n    def close(self):\n        pass\n\n\ndef open_shop():\n    return Shop()\n";

/// Does the work, sweeps once, and compares; then does the same with a sweep after every call.
#[track_caller]
fn check(work: impl Fn(&mut Bench, &dyn Fn(&mut Bench)), expect: &[&str]) {
    let mut at_once = Bench::new();
    work(&mut at_once, &|_| {});
    at_once.sweep();
    assert_eq!(at_once.told(), expect, "swept at once");
    let mut in_pieces = Bench::new();
    work(&mut in_pieces, &|bench| bench.sweep());
    in_pieces.sweep();
    assert_eq!(in_pieces.told(), expect, "swept in pieces");
    assert_eq!(in_pieces.snapshots(), at_once.snapshots());
    assert_eq!(in_pieces.calls(), at_once.calls());
}

#[test]
fn functions_come_change_and_go() {
    check(
        |bench, pause| {
            bench.ask(1, "make a shop");
            bench.write(1, "shop.py", SHOP);
            pause(bench);
            bench.ask(1, "charge tax");
            bench.edit(1, "shop.py", "return total", "return total * 1.2");
            pause(bench);
            bench.edit(1, "shop.py", "    def close(self):\n        pass\n\n", "");
            pause(bench);
            bench.ask(1, "nothing that matters");
            bench.edit(1, "shop.py", "class Shop:", "class Shop:  # the only one");
            pause(bench);
            bench.ask(1, "rename");
            bench.edit(1, "shop.py", "def open_shop", "def start");
        },
        &[
            "1#1 nshop.py n:Shop n:Shop.close n:Shop.pay n:open_shop",
            "1#2 mshop.py d:Shop.close m:Shop.pay",
            "1#3 mshop.py",
            "1#4 mshop.py r:start(open_shop)",
        ],
    );
}

/// Each turn parses the file again: without a limit a log of a few megabytes takes hours.
#[test]
fn small_edits_of_a_large_file_are_understood_up_to_a_limit() {
    let mut bench = Bench::new();
    let padding = "+# nothing to see here, but it has to be parsed again\n".repeat(2000);
    let total = |times: usize| format!("    return total{}\n", " * 2".repeat(times));
    bench.ask(10, "make a till");
    let patch = format!(
        "*** Add File: till.py\n+def pay(total):\n+{}{padding}+end = 1",
        total(0)
    );
    bench.patch(10, &patch);
    for turn in 0..40 {
        bench.ask(10, "charge more");
        let (old, new) = (total(turn), total(turn + 1));
        let patch = format!("*** Update File: till.py\n@@\n-{old}+{new}");
        bench.patch(10, patch.trim_end());
    }
    bench.sweep();
    let told = bench.told();
    assert_eq!(told.len(), 41);
    assert_eq!(told[1], "10#2 mtill.py m:pay");
    assert_eq!(told[40], "10#41 mtill.py");
}

#[test]
fn a_turn_is_told_as_one_however_often_it_edits() {
    check(
        |bench, pause| {
            bench.ask(1, "make a shop");
            bench.write(1, "shop.py", SHOP);
            pause(bench);
            bench.edit(1, "shop.py", "return total", "return total * 1.2");
            pause(bench);
            bench.edit(1, "shop.py", "def open_shop", "def start");
            pause(bench);
            bench.edit(1, "shop.py", "    def close(self):\n        pass\n\n", "");
            pause(bench);
        },
        &["1#1 nshop.py n:Shop n:Shop.pay n:start"],
    );
}

#[test]
fn patches_of_another_agent_go_on_from_there() {
    check(
        |bench, pause| {
            bench.ask(1, "make a shop");
            bench.write(1, "shop.py", SHOP);
            pause(bench);
            bench.ask(10, "close it");
            // Codex names files relative to its folder: nobody tells it the text, so what the lines show must do.
            bench.patch(
                10,
                "*** Update File: shop.py\n@@ class Shop:\n     def close(self):\n-        pass\n+        self.closed = True",
            );
            pause(bench);
            bench.ask(10, "more");
            bench.patch(
                10,
                "*** Add File: till.py\n+def count(coins):\n+    return sum(coins)\n+\n+def empty():\n+    return 0",
            );
            pause(bench);
            bench.patch(
                10,
                "*** Update File: till.py\n@@\n def empty():\n-    return 0\n+    return None",
            );
            pause(bench);
            bench.ask(11, "in another session");
            bench.patch(
                11,
                "*** Update File: till.py\n@@\n-    return sum(coins)\n+    return sum(coins) + 1",
            );
            pause(bench);
        },
        &[
            "1#1 nshop.py n:Shop n:Shop.close n:Shop.pay n:open_shop",
            "10#1 mshop.py m:Shop.close",
            "10#2 ntill.py n:count n:empty",
            "11#1 mtill.py m:count",
        ],
    );
}

#[test]
fn files_are_followed_when_they_are_moved_and_deleted() {
    check(
        |bench, pause| {
            bench.ask(10, "make it");
            bench.patch(
                10,
                "*** Add File: till.py\n+def count(coins):\n+    return sum(coins)",
            );
            pause(bench);
            bench.ask(10, "move it");
            bench.patch(
                10,
                "*** Update File: till.py\n*** Move to: src/till.py\n@@\n-    return sum(coins)\n+    return len(coins)",
            );
            pause(bench);
            bench.ask(10, "change it there");
            bench.patch(
                10,
                "*** Update File: src/till.py\n@@\n-    return len(coins)\n+    return 7",
            );
            pause(bench);
            bench.ask(10, "away with it");
            bench.patch(10, "*** Delete File: src/till.py");
            pause(bench);
        },
        &[
            "10#1 ntill.py n:count",
            "10#2 mtill.py m:count",
            "10#3 msrc/till.py m:count",
            "10#4 dsrc/till.py d:count",
        ],
    );
}

#[test]
fn a_file_in_the_middle_of_an_edit_keeps_its_last_good_snapshot() {
    check(
        |bench, pause| {
            bench.ask(1, "make a shop");
            bench.write(1, "shop.py", SHOP);
            pause(bench);
            bench.ask(1, "break it");
            bench.edit(
                1,
                "shop.py",
                "    def close(self):",
                "    def close(self:\n  (((",
            );
            pause(bench);
            bench.ask(1, "mend it");
            bench.edit(
                1,
                "shop.py",
                "    def close(self:\n  (((\n        pass",
                "    def close(self):\n        return 1",
            );
            pause(bench);
        },
        &[
            "1#1 nshop.py n:Shop n:Shop.close n:Shop.pay n:open_shop",
            "1#2 mshop.py",
            "1#3 mshop.py m:Shop.close",
        ],
    );
}

#[test]
fn a_file_that_was_left_broken_is_told() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", SHOP);
    bench.write(1, "till.py", SHOP);
    bench.ask(1, "break it");
    bench.edit(1, "shop.py", "class Shop:", "class Shop(:");
    bench.sweep();
    let broken = bench
        .trial
        .memory
        .code()
        .broken_files(ROOT.as_ref())
        .unwrap();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].0, "shop.py");
    bench.ask(1, "mend it");
    bench.edit(1, "shop.py", "class Shop(:", "class Shop:");
    bench.sweep();
    assert_eq!(
        bench
            .trial
            .memory
            .code()
            .broken_files(ROOT.as_ref())
            .unwrap(),
        []
    );
}

#[test]
fn what_failed_or_is_no_source_changes_nothing() {
    check(
        |bench, pause| {
            bench.ask(1, "try");
            bench.write(1, "notes.md", "# def pay(): pass\n");
            let path = format!("{ROOT}/shop.py");
            let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
            bench.call(
                1,
                "Edit",
                &input,
                "<tool_use_error>not found</tool_use_error>",
                &json!("Error: not found"),
            );
            pause(bench);
        },
        &[],
    );
}

#[test]
fn a_life_is_told_through_renames() {
    let mut bench = Bench::new();
    bench.ask(1, "make a till");
    bench.write(1, "till.py", "def count(coins):\n    return sum(coins)\n");
    bench.ask(1, "name it better");
    bench.edit(1, "till.py", "def count", "def total");
    bench.ask(1, "with tax");
    bench.edit(1, "till.py", "return sum(coins)", "return sum(coins) * 1.2");
    bench.ask(1, "another");
    bench.write(1, "other.py", "def total():\n    return 1\n");
    bench.sweep();
    let lives = bench.trial.memory.code().history("total", None).unwrap();
    let told: Vec<(String, Vec<String>)> = lives
        .iter()
        .map(|life| {
            let changes = life.changes.iter().map(|event| {
                let prompt = event.prompt.clone().unwrap_or_default();
                format!("{} {prompt}", event.change.name())
            });
            (life.file.clone(), changes.collect())
        })
        .collect();
    let strings = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            ("other.py".to_string(), strings(&["new another"])),
            (
                "till.py".to_string(),
                strings(&[
                    "modified with tax",
                    "renamed name it better",
                    "new make a till"
                ])
            ),
        ]
    );
    assert_eq!(
        bench
            .trial
            .memory
            .code()
            .history("count", None)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        bench
            .trial
            .memory
            .code()
            .history("otal", None)
            .unwrap()
            .answer,
        []
    );
}

#[test]
fn evicted_sessions_are_still_told() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", SHOP);
    bench.sweep();
    let before = bench.told();
    bench.trial.caps.raw_max_age_days = Some(1);
    bench.sweep();
    assert!(bench.trial.evicted(1));
    assert_eq!(bench.told(), before);
    let lives = bench.trial.memory.code().history("pay", None).unwrap();
    assert_eq!(lives[0].changes[0].prompt.as_deref(), Some("make a shop"));
}

#[test]
fn what_a_forgotten_session_wrote_is_in_no_snapshot_of_others() {
    let mut bench = Bench::new();
    bench.ask(10, "make a till");
    bench.patch(
        10,
        "*** Add File: till.py\n+def zanzibar(coins):\n+    return sum(coins)\n+\n+def empty():\n+    return 0",
    );
    bench.ask(11, "nothing is none");
    // Its log has only these lines; the rest of the file is known from the other session.
    bench.patch(
        11,
        "*** Update File: till.py\n@@\n def empty():\n-    return 0\n+    return None",
    );
    bench.sweep();
    let names = |bench: &Bench| {
        let memory = &bench.trial.memory;
        format!(
            "{:?}",
            memory.code().function_map(&CodeRowFilter::default())
        )
    };
    assert!(names(&bench).contains("zanzibar"));
    let forgotten = bench
        .trial
        .memory
        .upkeep()
        .to_forget(Forget::Session(&id(10)))
        .unwrap();
    bench
        .trial
        .memory
        .upkeep()
        .forget(&forgotten, &crate::upkeep::ForgetPlaces::default(), &[])
        .unwrap();
    assert!(!names(&bench).contains("zanzibar"));
    assert_eq!(bench.told(), ["11#1 mtill.py m:empty"]);
}

#[test]
fn calls_in_stack_traces_are_seen() {
    let mut bench = Bench::new();
    bench.ask(1, "run it");
    let trace = "Traceback (most recent call last):\n  File \"/home/ada/shop/main.py\", line 3, in <module>\n    main()\n  File \"/home/ada/shop/main.py\", line 9, in main\n    Shop().pay(1)\n  File \"/home/ada/shop/shop.py\", line 4, in pay\n    json.loads(x)\n  File \"/usr/lib/python3.11/json/__init__.py\", line 346, in loads\n    raise\nValueError: no\n";
    for _ in 0..2 {
        bench.call(
            1,
            "Bash",
            &json!({"command": "python main.py"}),
            trace,
            &Value::Null,
        );
    }
    bench.sweep();
    let files = bench.trial.memory.store.code_files().unwrap();
    let ids: Vec<FileId> = files.iter().map(|file| file.id).collect();
    let mut seen: Vec<String> = bench
        .trial
        .memory
        .store
        .run_edges(&ids)
        .unwrap()
        .iter()
        .map(|edge| format!("{} → {} {}", edge.caller, edge.callee, edge.seen))
        .collect();
    seen.sort();
    assert_eq!(seen, [" → main 2", "main → pay 2", "pay → loads 2"]);
}

#[test]
fn what_was_seen_live_is_told_once() {
    let mut bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.py");
    bench.ask(1, "make a shop");
    bench.sweep();
    let session = bench.trial.session(1);
    let memory = &mut bench.trial.memory;
    let see = |text: &str, before: Option<&str>, at| {
        std::fs::write(&path, text).unwrap();
        memory
            .code()
            .see_file(&path, session.id, before, at, None)
            .unwrap()
    };
    assert_eq!(see(SHOP, Some(""), TimeMs::new(1)), SeenFile::Changed(4));
    assert_eq!(see(SHOP, None, TimeMs::new(2)), SeenFile::Changed(0));
    assert_eq!(
        see(
            &SHOP.replace("return total", "return 1"),
            None,
            TimeMs::new(3)
        ),
        SeenFile::Changed(1)
    );
    assert_eq!(
        see("class Shop:\n    def pay(self:\n", None, TimeMs::new(4)),
        SeenFile::Broken
    );
    assert_eq!(
        see(
            &SHOP.replace("return total", "return 1"),
            None,
            TimeMs::new(5)
        ),
        SeenFile::Changed(0)
    );
    std::fs::write(folder.path().join("notes.txt"), "no code").unwrap();
    let notes = folder.path().join("notes.txt");
    let found = bench
        .trial
        .memory
        .code()
        .see_file(&notes, session.id, None, TimeMs::new(6), None);
    assert_eq!(found.unwrap(), SeenFile::NotSource);
    assert_eq!(
        bench.told(),
        ["1#live nshop.py n:Shop n:Shop.close n:Shop.pay n:open_shop"]
    );
    // The log tells the same, with its turn.
    bench.write(1, "shop.py", SHOP);
    bench.sweep();
    assert_eq!(
        bench.told(),
        ["1#1 nshop.py n:Shop n:Shop.close n:Shop.pay n:open_shop"]
    );
    let lives = bench.trial.memory.code().history("Shop", None).unwrap();
    assert_eq!(lives[0].changes[0].change, SymbolChangeKind::New);
}
