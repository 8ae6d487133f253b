//! Sessions that are none of ours to remember.

use super::{Home, claude_hook, count, prompted, told, tool_used};
use crate::environment::{Environment, feed};
use serde_json::json;

fn prompts(environment: &Environment) -> usize {
    count(environment, "prompt")
}

#[test]
fn sessions_that_backstory_causes_are_not_remembered() {
    let environment = Home::new();
    let input = prompted(&environment, 1, "p1", "summarise this").to_string();
    let mut command = environment.command(&["hook", "UserPromptSubmit"]);
    command.env("BACKSTORY_OWN_SESSION", "1");
    super::assert_harmless(&feed(&mut command, input.as_bytes()));
    assert_eq!(prompts(&environment), 0);

    let store = environment.store();
    for cwd in [store.clone(), store.join("work"), store.join("work/deeper")] {
        let mut input = prompted(&environment, 1, "p1", "summarise this");
        input["cwd"] = cwd.to_str().into();
        claude_hook(&environment, &input);
    }
    assert_eq!(prompts(&environment), 0);
    assert_eq!(super::logged(&environment).len(), 0);

    // A folder that is only called alike is somebody's.
    let mut input = prompted(&environment, 1, "p1", "do it");
    input["cwd"] = format!("{}-of-mine", store.display()).into();
    claude_hook(&environment, &input);
    assert_eq!(prompts(&environment), 1);
}

#[test]
fn agents_that_are_switched_off_are_not_remembered() {
    let environment = Home::new();
    let config = ".config/backstory/config.toml";
    environment.write(config, "[sources.claude-code]\nenabled = false\n");
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_1", "ls"));
    claude_hook(&environment, &told(&environment, 1, "Stop", &json!({})));
    assert_eq!(prompts(&environment), 0);
    assert_eq!(super::items(&environment).len(), 0);
    // The others are.
    super::hook(
        &environment,
        "codex",
        "UserPromptSubmit",
        &json!({"session_id": "019a7c3e-51d2-7f60-b7a4-2d5f90c1e8aa", "turn_id": "t1", "prompt": "do it"}),
    );
    assert_eq!(prompts(&environment), 1);
    environment.write(config, "[sources.claude-code]\nenabled = true\n");
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    assert_eq!(prompts(&environment), 2);
}
