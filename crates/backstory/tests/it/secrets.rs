//! No secret that a rule knows reaches our disk.

use backstory_session::redact::{RULES, planted};
use serde_json::json;

use crate::environment::{Environment, claude_path, prompt, record};

#[test]
fn one_secret_per_rule_in_every_place_leaves_no_byte_behind() {
    let environment = Environment::new();
    let mut secrets = Vec::new();
    let mut lines = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let number = index as u32 * 10;
        let plant = |place: u64| planted(rule, index as u64 * 7 + place);
        let plants: Vec<_> = (0..5).map(plant).collect();
        let text = |place: usize| format!("see this\n{}\nand go on", plants[place].text);
        lines.push(prompt(1, number, &text(0)));
        let input = json!({"command": text(1), "nested": json!({"again": text(1)}).to_string()});
        let call = json!([{"type": "thinking", "thinking": text(2)}, {"type": "tool_use", "id": number, "name": "Bash", "input": input}]);
        lines.push(record(
            1,
            number + 1,
            "assistant",
            &json!({"role": "assistant", "content": call}),
        ));
        let result = json!([{"type": "tool_result", "tool_use_id": number, "content": format!("\u{1b}[32m{}\u{1b}[0m", text(3))}]);
        lines.push(record(
            1,
            number + 2,
            "user",
            &json!({"role": "user", "content": result}),
        ));
        lines.push(format!(
            "not json {}\n",
            plants[4].text.replace(['\n', '\r'], " ")
        ));
        secrets.extend(
            plants
                .into_iter()
                .flat_map(|plant| plant.secrets)
                .map(|secret| (rule.id, secret)),
        );
    }
    environment.write(&claude_path(1), lines.concat());
    let report = environment.sweep();
    assert!(report["redactions"].as_u64().unwrap() >= RULES.len() as u64);
    // Compressed pages hide nothing from whoever unpacks them, so the bytes are looked for unpacked, too.
    let original = environment
        .run(&["show", "00000001", "--format", "original"])
        .stdout;
    let shown = environment.run(&["show", "00000001", "--json"]).stdout;
    let files: Vec<_> = environment
        .stored_files()
        .into_iter()
        .map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned()))
        .collect();
    for (rule, secret) in secrets {
        assert!(
            !original.contains(&secret),
            "{rule}: {secret} in the stored log"
        );
        assert!(!shown.contains(&secret), "{rule}: {secret} in the events");
        for (path, text) in &files {
            assert!(
                !text.contains(&secret),
                "{rule}: {secret} in {}",
                path.display()
            );
        }
    }
    for line in original.lines().filter(|line| line.starts_with('{')) {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "redaction broke a record: {line}"
        );
    }
}

#[test]
fn redaction_can_be_switched_off_and_says_so_nowhere_else() {
    let environment = Environment::new();
    let plant = planted(&RULES[0], 1);
    environment.claude(1, &[prompt(1, 0, &plant.text)]);
    assert_eq!(environment.run(&["config", "set", "redact", "off"]).code, 0);
    assert_eq!(environment.sweep()["redactions"], 0);
    assert!(
        environment
            .run(&["show", "00000001", "--format", "original"])
            .stdout
            .contains(&plant.secrets[0])
    );
}

#[test]
fn our_own_context_is_never_memory() {
    let environment = Environment::new();
    let ours = "<backstory-context id=\"1\">remember the needle</backstory-context>";
    environment.claude(
        1,
        &[
            prompt(1, 0, ours),
            prompt(1, 1, &format!("{ours}\nfix the bug")),
        ],
    );
    environment.sweep();
    assert_eq!(environment.events("00000001"), ["prompt: fix the bug"]);
    assert!(!environment.everything().contains("needle"));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "private")]);
    environment.sweep();
    assert_eq!(
        std::fs::metadata(environment.store())
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
    for (path, _) in environment.stored_files() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}
