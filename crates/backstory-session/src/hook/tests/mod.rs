//! What agents tell, and what is understood of it.

use super::*;

#[test]
fn claude_code_tells_of_an_edit() {
    let input = r#"{"session_id":"0f8e2a34-5b6c-4d7e-8f90-a1b2c3d4e5f6","cwd":"/home/ada/shop","hook_event_name":"PostToolUse",
        "tool_name":"Edit","tool_input":{"file_path":"/home/ada/shop/cart.rs","old_string":"a","new_string":"b"},
        "tool_response":{"filePath":"/home/ada/shop/cart.rs","originalFile":"a\n","structuredPatch":[{"lines":["-a","+b"]}]}}"#;
    let read = read(Some("claude-code"), Some("PostToolUse"), input.as_bytes()).unwrap();
    let Happening::ToolUsed(tool) = read.happening else {
        panic!("{read:?}");
    };
    assert_eq!(tool.before.as_deref(), Some("a\n"));
    assert_eq!(tool.output.as_deref(), Some("-a\n+b"));
    assert_eq!(tool.touches[0].path, "/home/ada/shop/cart.rs");
}
