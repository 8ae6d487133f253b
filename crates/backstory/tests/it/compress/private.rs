//! What is never sent, and never seen.

use std::process::Stdio;

use serde_json::json;

use super::server::{Reply, Server};
use super::{CONFIG, Desk, KEY, tool_use};
use crate::environment::{claude_id, files_below, prompt};

/// Runs one round of a worker; with or without the key.
#[cfg(unix)]
fn round(desk: &Desk, with_key: bool) {
    let mut command = desk.environment.command(&["worker", "round", "--queue"]);
    if with_key {
        command.env("ANTHROPIC_API_KEY", KEY);
    }
    // It ends when nobody holds this any more.
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let held = child.stdin.take();
    child.wait().unwrap();
    drop(held);
}

#[test]
fn without_a_choice_and_a_key_nothing_is_sent() {
    let desk = Desk::new(3, Server::good());
    desk.backdate();
    // Chosen, without a key.
    let outcome = desk
        .environment
        .run(&["compress", "--pending", "--since", "2020-01-01"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .stderr
            .contains("error: there is no API key\nhint: "),
        "{}",
        outcome.stderr
    );
    assert_eq!(desk.environment.run(&["compress", "--json"]).code, 0);
    #[cfg(unix)]
    round(&desk, false);
    // A key, without having chosen.
    let config = format!(
        "[compress]\nbase_url = \"{}\"\napi_key = \"{KEY}\"\n",
        desk.server.url
    );
    desk.environment.write(CONFIG, config);
    let outcome = desk.compress();
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .stderr
            .contains("hint: `backstory config set compress.with anthropic`"),
        "{}",
        outcome.stderr
    );
    #[cfg(unix)]
    round(&desk, true);
    // Both, but nobody asked.
    desk.configure("");
    for arguments in [
        &["sweep"][..],
        &["digest", &claude_id(1)],
        &["compress"],
        &["sessions"],
        &["config"],
        &["doctor"],
    ] {
        desk.run(arguments);
    }
    desk.run(&["compress", "--dry-run", "--since", "2020-01-01"]);
    let told = json!({"session_id": claude_id(5), "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"});
    let hook = &mut desk.command(&["hook", "PostToolUse", "--agent", "claude-code"]);
    assert_eq!(
        crate::environment::feed(hook, told.to_string().as_bytes()).code,
        0
    );
    assert_eq!(desk.server.connections(), 0);
    #[cfg(unix)]
    {
        round(&desk, true);
        assert_eq!(desk.server.requests().len(), 4, "the worker does a share");
        assert_eq!(desk.state()["compressed"], 3);
    }
}

#[test]
#[cfg(unix)]
fn a_worker_leaves_an_api_alone_that_refuses() {
    let desk = Desk::new(3, Server::new(|_, _| Reply::error(401)));
    desk.backdate();
    round(&desk, true);
    round(&desk, true);
    assert_eq!(desk.server.connections(), 1);
    // Whoever asks by hand is not kept waiting.
    assert_eq!(desk.compress().code, 2);
    assert_eq!(desk.server.connections(), 2);
}

#[test]
fn the_key_is_in_no_file_and_in_no_output() {
    let answer = |_: &_, before| match before {
        0 => Reply::json(
            403,
            &json!({"error": {"message": format!("who is {KEY}?")}}),
        ),
        1 => Reply::json(500, &json!({"error": KEY})).with("Retry-After", "0"),
        _ => Reply::json(200, &json!({"x": KEY})),
    };
    let desk = Desk::new(2, Server::new(answer));
    // What is run checks what it prints.
    assert_eq!(desk.compress().code, 2);
    desk.compressed();
    desk.run(&["config", "set", "compress.api_key", KEY]);
    desk.run(&["config"]);
    desk.run(&["config", "--json"]);
    desk.run(&["config", "set", "compress.daily_usd", KEY]);
    desk.run(&["compress"]);
    desk.run(&["report", "--eval"]);
    desk.run(&["doctor"]);
    let config = desk.environment.home().join(CONFIG);
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.contains(KEY));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&config).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    // A configuration that is wrong is shown, but for the key.
    desk.environment.write(
        CONFIG,
        format!("[compress]\napi_key = \"{KEY}\" with = 5\n"),
    );
    assert_eq!(desk.run(&["config"]).code, 2);
    std::fs::remove_file(&config).unwrap();
    for path in [
        files_below(&desk.environment.home()),
        files_below(&desk.environment.store()),
    ]
    .concat()
    {
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            memchr::memmem::find(&bytes, KEY.as_bytes()).is_none(),
            "{}",
            path.display()
        );
    }
    assert_eq!(
        desk.count("SELECT COUNT(*) FROM compressions WHERE error LIKE '%quite-secret%'"),
        0
    );
}

#[test]
fn a_key_of_the_configuration_goes_only_where_that_says() {
    let desk = Desk::new(1, Server::good());
    let elsewhere = Server::good();
    let config = format!(
        "[compress]\nwith = \"anthropic\"\nsummaries = []\napi_key = \"{KEY}\"\nbase_url = \"{}\"\n",
        desk.server.url
    );
    desk.environment.write(CONFIG, config);
    let mut command = desk
        .environment
        .command(&["compress", "--pending", "--since", "2020-01-01"]);
    command
        .env("ANTHROPIC_BASE_URL", &elsewhere.url)
        .env("ANTHROPIC_API_KEY", "another");
    assert!(command.output().unwrap().status.success());
    assert_eq!(desk.server.requests()[0].header("x-api-key"), Some(KEY));
    assert_eq!(elsewhere.connections(), 0);
    // Nor does it go where anybody could listen.
    desk.environment.write(
        CONFIG,
        "[compress]\nwith = \"anthropic\"\nbase_url = \"http://example.com\"\n",
    );
    let outcome = desk.compress();
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("it must begin with https://"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn secrets_are_taken_out_even_where_the_store_keeps_them() {
    let desk = Desk::new(0, Server::good());
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let mut lines = vec![prompt(2, 2000, &format!("use {secret}"))];
    lines.extend(tool_use(
        2,
        2001,
        &format!("curl -H 'Authorization: token {secret}'"),
        &format!("token={secret}"),
    ));
    desk.environment.claude(2, &lines);
    let config = format!(
        "redact = \"off\"\n[compress]\nwith = \"anthropic\"\nbase_url = \"{}\"\n",
        desk.server.url
    );
    desk.environment.write(CONFIG, config);
    desk.environment.sweep();
    assert!(
        desk.environment
            .events(&claude_id(2))
            .concat()
            .contains(&secret)
    );
    desk.compressed();
    let requests = desk.server.requests();
    assert!(requests.len() >= 2);
    for request in &requests {
        assert!(!request.text.contains(&secret), "{}", request.text);
    }
    assert!(
        requests
            .iter()
            .any(|request| request.text.contains("[REDACTED:"))
    );
}
