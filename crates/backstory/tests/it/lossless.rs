//! What was swept is given back, byte for byte, also when the agent has deleted it.

use backstory_agents::sample;
use data_encoding::BASE64;

use crate::environment::{Environment, claude_id, prompt, record};

#[test]
fn logs_come_back_byte_for_byte_after_they_are_gone() {
    let environment = Environment::new();
    let files: Vec<_> = sample::logs(7, 3_000_000).collect();
    let originals: Vec<(String, Vec<u8>)> = files
        .iter()
        .map(|file| (file.path.clone(), file.bytes.clone()))
        .collect();
    environment.write_all(files);
    environment.sweep();
    std::fs::remove_dir_all(environment.home()).unwrap();
    let mut compared = 0;
    for session in environment.json(&["sessions", "--limit", "0"])["sessions"]
        .as_array()
        .unwrap()
    {
        let id = session["session"].as_str().unwrap();
        let output = environment
            .command(&["show", id, "--format", "original"])
            .output()
            .unwrap();
        let leaf = id.rsplit('/').next().unwrap();
        let names = [format!("{leaf}.jsonl"), format!("/{id}/updates.jsonl")];
        let own = originals
            .iter()
            .find(|(path, _)| names.iter().any(|name| path.ends_with(name)));
        if let Some((path, bytes)) = own {
            // Other files of the session, such as Grok's summary, may follow.
            assert!(
                output.stdout.starts_with(bytes),
                "{path} is not given back whole"
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn odd_bytes_come_back_too() {
    let environment = Environment::new();
    let log = [
        b"\xef\xbb\xbf".to_vec(),
        prompt(1, 0, "first").replace('\n', "\r\n").into_bytes(),
        b"\n\n  \t\nnot json at all\n{\"half\": \n\"\xff\xfe\"\n".to_vec(),
        prompt(1, 1, "glued").trim_end().as_bytes().to_vec(),
        prompt(1, 2, "records").into_bytes(),
        b"{\"type\":\"user\",\"nul\":\"\x00\"}\n[1,2]\n42\n".to_vec(),
        prompt(1, 3, "last").trim_end().as_bytes().to_vec(),
    ]
    .concat();
    environment.write(&crate::environment::claude_path(1), &log);
    environment.sweep();
    let output = environment
        .command(&["show", &claude_id(1), "--format", "original"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, log);
    let events = [
        "prompt: first",
        "prompt: glued",
        "prompt: records",
        "prompt: last",
    ];
    assert_eq!(environment.events(&claude_id(1)), events);
    let doctor = environment.json(&["doctor"]);
    let lines: Vec<u64> = doctor["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [5, 6, 9]);
}

#[test]
fn an_image_is_kept_once_and_restored_everywhere() {
    let environment = Environment::new();
    let pixels: Vec<u8> = (0..60_000u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let image = |session| {
        let source = serde_json::json!({"type": "base64", "media_type": "image/png", "data": BASE64.encode(&pixels)});
        let content = serde_json::json!([{"type": "text", "text": "look"}, {"type": "image", "source": source}]);
        record(
            session,
            session,
            "user",
            &serde_json::json!({"role": "user", "content": content}),
        )
    };
    for session in 1..=3 {
        environment.claude(
            session,
            &[image(session), prompt(session, session + 10, "and?")],
        );
    }
    environment.sweep();
    assert_eq!(
        environment.json(&["doctor"])["store"]["health"]["attachments"],
        1
    );
    for session in 1..=3 {
        let output = environment
            .run(&["show", &claude_id(session), "--format", "original"])
            .stdout;
        assert_eq!(
            output,
            image(session) + &prompt(session, session + 10, "and?")
        );
    }
    assert_eq!(
        environment.events(&claude_id(2)),
        ["prompt: look\n[image]", "prompt: and?"]
    );
}
