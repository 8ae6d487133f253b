//! What is kept of every past state of a file.

use super::bench::{Bench, ROOT};
use super::{SHOP, check};
use crate::trial::id;
use crate::upkeep::{Forget, ForgetPlaces};
use backstory_event::{TimeMs, TurnNo};
use serde_json::json;

const CALLS: &str = "import till\n\n\nclass Shop:\n    def pay(self, total):\n        self.check(total)\n        return till.count(total)\n\n    def check(self, total):\n        total.verify()\n";

#[test]
fn every_turn_leaves_a_snapshot_with_the_lines_of_that_time() {
    let mut bench = Bench::new();
    bench.ask(1, "make a till");
    bench.write(
        1,
        "till.py",
        "def count(coins):\n    return sum(coins)\n\n\ndef empty():\n    return 0\n",
    );
    bench.ask(1, "say what it is");
    bench.edit(1, "till.py", "def count", "# Coins.\n\n\ndef count");
    bench.ask(1, "count less");
    bench.edit(
        1,
        "till.py",
        "def empty():\n    return 0\n",
        "def spare():\n    return empty()\n",
    );
    bench.sweep();
    assert_eq!(
        bench.snapshots(),
        [
            "1#1 till.py n:count 1-2",
            "1#1 till.py n:empty 5-6",
            "1#2 till.py u:count 4-5",
            "1#2 till.py u:empty 8-9",
            "1#3 till.py u:count 4-5",
            "1#3 till.py n:spare 8-9",
            "1#3 till.py d:empty 8-9",
        ]
    );
    assert_eq!(bench.calls(), ["till.py 9 spare > empty = ? (external)"]);
}

#[test]
fn what_was_there_before_the_first_turn_is_not_new() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", SHOP);
    // Its log is never seen.
    std::fs::remove_file(bench.trial.log("1")).unwrap();
    bench.ask(2, "charge tax");
    bench.edit(2, "shop.py", "return total", "return total * 1.2");
    bench.sweep();
    assert_eq!(
        bench.snapshots(),
        [
            "2#1 shop.py u:Shop 1-6",
            "2#1 shop.py m:Shop.pay 2-3",
            "2#1 shop.py u:Shop.close 5-6",
            "2#1 shop.py u:open_shop 9-10",
        ]
    );
}

#[test]
fn calls_are_kept_with_how_they_were_resolved() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", CALLS);
    bench.ask(1, "say what it is");
    bench.edit(1, "shop.py", "import till", "# A shop.\nimport till");
    bench.sweep();
    let lines = |first: usize| {
        [
            format!("shop.py {first} Shop.pay > self.check = Shop.check (self_method)"),
            format!(
                "shop.py {} Shop.pay > till.count = till.count (import)",
                first + 1
            ),
            format!(
                "shop.py {} Shop.check > total.verify = ? (injected)",
                first + 4
            ),
        ]
    };
    assert_eq!(bench.calls(), [lines(6), lines(7)].concat());
}

#[test]
fn sessions_side_by_side_are_in_the_order_of_time() {
    check(
        |bench, pause| {
            bench.ask(1, "make a till");
            bench.write(1, "till.py", "def count():\n    return 0\n");
            bench.ask(2, "another");
            bench.edit(2, "till.py", "return 0", "return 1");
            pause(bench);
            bench.ask(1, "and again");
            bench.edit(1, "till.py", "return 1", "return 2");
            pause(bench);
        },
        &[
            "1#1 ntill.py n:count",
            "2#1 mtill.py m:count",
            "1#2 mtill.py m:count",
        ],
    );
}

#[test]
fn a_moved_file_goes_on_under_its_new_name() {
    let mut bench = Bench::new();
    bench.ask(10, "make it");
    bench.patch(
        10,
        "*** Add File: till.py\n+def count(coins):\n+    return sum(coins)",
    );
    bench.ask(10, "move it");
    bench.patch(
        10,
        "*** Update File: till.py\n*** Move to: src/till.py\n@@\n-    return sum(coins)\n+    return len(coins)",
    );
    bench.ask(10, "away with it");
    bench.patch(10, "*** Delete File: src/till.py");
    bench.sweep();
    assert_eq!(
        bench.snapshots(),
        [
            "10#1 till.py n:count 1-2",
            "10#2 src/till.py m:count 1-2",
            "10#2 till.py d:count 1-2",
            "10#3 src/till.py d:count 1-2",
        ]
    );
    let memory = &bench.trial.memory;
    let found = |path: &str, until| {
        let path = std::path::Path::new(ROOT).join(path);
        memory.code().outlines(&path, until, None).unwrap()
    };
    assert!(found("src/till.py", None).missing[0].gone_at.is_some());
    // Before it was moved, by the name that it had.
    let first = memory
        .code()
        .function_map(&crate::code::CodeRowFilter::default())
        .unwrap()
        .iter()
        .map(|row| row.snapshot_at)
        .min();
    let early = found("src/till.py", first);
    assert!(early.files[0].path.ends_with("till.py"));
    assert_eq!(
        found("src/till.py", first.map(|first| first.minus_ms(1))).missing[0].gone_at,
        None
    );
}

#[test]
fn evicted_sessions_keep_their_snapshots() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", CALLS);
    bench.sweep();
    let before = (bench.snapshots(), bench.calls());
    bench.trial.caps.raw_max_age_days = Some(1);
    bench.sweep();
    assert!(bench.trial.evicted(1));
    assert_eq!((bench.snapshots(), bench.calls()), before);
}

#[test]
fn forgetting_leaves_the_snapshots_from_before() {
    let mut bench = Bench::new();
    bench.ask(1, "make a shop");
    bench.write(1, "shop.py", SHOP);
    bench.write(1, "till.py", "def count():\n    return 0\n");
    bench.ask(2, "secret");
    bench.edit(2, "shop.py", "def open_shop", "def zanzibar");
    bench.ask(3, "go on");
    bench.edit(3, "shop.py", "return total", "return total * 2");
    bench.sweep();
    let of_first = |lines: Vec<String>| -> Vec<String> {
        let first = |line: &String| line.starts_with("1#");
        lines.into_iter().filter(first).collect()
    };
    let before = of_first(bench.snapshots());
    assert_eq!(before.len(), 5);
    let memory = &mut bench.trial.memory;
    let forgotten = memory.upkeep().to_forget(Forget::Session(&id(2))).unwrap();
    memory
        .upkeep()
        .forget(&forgotten, &ForgetPlaces::default(), &[])
        .unwrap();
    assert_eq!(bench.snapshots(), before);
    // Later ones are stored again.
    bench.ask(3, "more");
    bench.edit(3, "shop.py", "total * 2", "total * 3");
    bench.sweep();
    assert!(
        bench
            .snapshots()
            .iter()
            .any(|line| line == "3#2 shop.py m:Shop.pay 2-3")
    );
}

#[test]
fn what_was_seen_live_is_kept_until_the_log_tells_it() {
    let mut bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("shop.py");
    bench.ask(1, "make a shop");
    bench.sweep();
    let session = bench.trial.session(1);
    for (at, text) in [
        (1, "def pay():\n    return 1\n"),
        (2, "def pay():\n    return 2\n"),
        (3, "def pay():\n    return 2\n"),
    ] {
        std::fs::write(&path, text).unwrap();
        bench
            .trial
            .memory
            .code()
            .see_file(&path, session.id, None, TimeMs::new(at), None)
            .unwrap();
    }
    let rows = |bench: &Bench| -> Vec<String> {
        let rows = bench
            .trial
            .memory
            .code()
            .function_map(&crate::code::CodeRowFilter::default())
            .unwrap();
        let row = |row: &crate::code::FunctionRow| {
            format!(
                "{:?} {} {}",
                row.turn.map(TurnNo::get),
                row.change_type,
                row.qualified_name
            )
        };
        rows.iter().map(row).collect()
    };
    assert_eq!(rows(&bench), ["None new pay", "None modified pay"]);
    // The log tells of another file: nothing else is known of this one.
    bench.write(1, "till.py", "def count():\n    return 0\n");
    bench.sweep();
    assert_eq!(
        rows(&bench),
        ["Some(1) new count", "None new pay", "None modified pay"]
    );
}

#[test]
fn what_is_seen_live_has_no_secrets() {
    let mut bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.py");
    bench.ask(1, "make a shop");
    bench.sweep();
    let session = bench.trial.session(1);
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("@route(token=\"{secret}\")\ndef pay(key=\"{secret}\"):\n    return 1\n");
    std::fs::write(&path, text).unwrap();
    let memory = &mut bench.trial.memory;
    let redactor = memory.store_redactor().unwrap();
    memory
        .code()
        .see_file(&path, session.id, None, TimeMs::new(1), Some(&redactor))
        .unwrap();
    let rows = format!(
        "{:?}",
        memory
            .code()
            .function_map(&crate::code::CodeRowFilter::default())
    );
    assert!(
        rows.contains("[REDACTED:") && !rows.contains(&secret),
        "{rows}"
    );
}

#[test]
fn what_edits_put_together_has_no_secrets() {
    let mut bench = Bench::new();
    let secret = |number: usize| format!("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R{number}");
    // The mark is where the second half of a secret comes.
    let texts = [
        "@route(\"FIRST_MARK\")\ndef pay():\n    return 1\n",
        "def pay(key=\"FIRST_MARK\"):\n    return 1\n",
        "def pay():\n    \"\"\"See FIRST_MARK.\"\"\"\n    return 1\n",
        "def pay():\n    return FIRST_MARK(1)\n",
        "def FIRST_MARK(x):\n    return 1\n",
        "class FIRST_MARK:\n    pass\n",
        "def pay(password=\"_MARK\"):\n    return 1\n",
    ];
    for (number, text) in texts.iter().enumerate() {
        let (first, rest) = match number {
            6 => (String::new(), "Zq8kTn4vWx2LmPa7Rs9D".to_string()),
            _ => (secret(number)[..18].into(), secret(number)[18..].into()),
        };
        let path = format!("{ROOT}/shop{number}.py");
        bench.ask(1, "make a shop");
        let input = json!({"file_path": path, "content": text.replace("FIRST", &first)});
        bench.call(1, "Write", &input, "done", &json!(null));
        bench.ask(1, "go on");
        let input = json!({"file_path": path, "old_string": "_MARK", "new_string": rest});
        bench.call(1, "Edit", &input, "done", &json!(null));
    }
    let (first, rest) = (secret(7)[..18].to_string(), secret(7)[18..].to_string());
    let command = format!("mv {ROOT}/shop1.py {ROOT}/{first}''{rest}.py");
    bench.ask(1, "another name");
    bench.call(1, "Bash", &json!({"command": command}), "", &json!(null));
    bench.sweep();
    let memory = &bench.trial.memory;
    let filter = crate::code::CodeRowFilter::default();
    let rows = format!(
        "{:#?} {:#?} {:#?}",
        memory.code().function_map(&filter).unwrap(),
        memory.code().call_rows(&filter).unwrap(),
        bench.told(),
    );
    for secret in (0..8)
        .map(secret)
        .chain(["Zq8kTn4vWx2LmPa7Rs9D".to_string()])
    {
        assert!(!rows.contains(&secret), "{secret}: {rows}");
    }
    for kept in [
        "def pay(key=\\\"[REDACTED:github-personal-token:",
        "def pay(password=\\\"[REDACTED:password:",
        "].py",
    ] {
        assert!(rows.contains(kept), "{kept}: {rows}");
    }
}
