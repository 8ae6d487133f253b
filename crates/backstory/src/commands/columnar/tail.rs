//! `tail` of an HDF5 file.

use std::io::Write;
use std::path::Path;

use backstory_columnar::{Message, Session, SessionFile};
use backstory_memory::{Kind, TimeMs};
use serde_json::{Value, json};

use super::inspect::tokens_json;
use super::session_file::find_id;
use crate::cli::TailArgs;
use crate::commands::show::{Heading, is_shown_whole, print_body, print_heading};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, harmless, one_line, print_json, stdout};

/// Prints the end of a session in a file.
pub(in crate::commands) fn tail(path: &Path, arguments: &TailArgs) -> Result<(), Error> {
    let file = SessionFile::open(path)?;
    let id = match &arguments.session_in_file {
        Some(prefix) => find_id(&file, prefix)?,
        None => file
            .newest_session()?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "the file has no session"))?,
    };
    let session = file.session(&id)?;
    let messages = last_shown(&session, arguments.count)?;
    if arguments.json {
        let messages: Vec<Value> = messages.iter().map(message_json).collect();
        return print_json(&json!({ "session": id, "messages": messages }));
    }
    let mut out = stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}", one_line(&id))?;
    for message in &messages {
        let time = TimeMs::new((message.timestamp * 1000.0) as i64);
        for block in content_blocks(message) {
            let heading = Heading {
                kind: block.kind,
                turn: None,
                at: (message.timestamp > 0.0).then_some(time),
                model: Some(message.model.as_str()).filter(|model| !model.is_empty()),
                tool: &block.tool,
                notes: String::new(),
                is_error: block.is_error,
            };
            print_heading(&mut out, &heading)?;
            let is_whole = arguments.full || is_shown_whole(block.kind);
            print_body(&mut out, &harmless(&block.text), is_whole)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns the last `count` messages that have something to print.
fn last_shown(session: &Session<'_>, count: u64) -> Result<Vec<Message>, Error> {
    let mut asked = count;
    loop {
        let mut messages = session.tail(asked)?;
        let is_all = (messages.len() as u64) < asked;
        messages.retain(|message| !content_blocks(message).is_empty());
        let surplus = (messages.len() as u64).saturating_sub(count);
        if is_all || messages.len() as u64 >= count {
            messages.drain(..surplus as usize);
            return Ok(messages);
        }
        asked = asked.saturating_mul(2);
    }
}

/// Part of a message that is printed under a heading of its own.
#[derive(Debug, PartialEq)]
struct ContentBlock {
    kind: Kind,
    text: String,
    tool: String,
    is_error: bool,
}

impl ContentBlock {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        ContentBlock {
            kind,
            text: text.into(),
            tool: String::new(),
            is_error: false,
        }
    }
}

/// Returns the blocks of a message that have something to print; of one whose content is not a list of blocks, its text.
fn content_blocks(message: &Message) -> Vec<ContentBlock> {
    let kind = text_kind(message);
    let mut blocks: Vec<ContentBlock> = Vec::new();
    let mut has_blocks = false;
    if let Ok(Value::Array(content)) = serde_json::from_str(&message.json) {
        has_blocks = content.iter().any(|block| block["type"].is_string());
        for block in content
            .iter()
            .filter_map(|block| content_block(block, kind))
        {
            match blocks.last_mut() {
                // Texts and images under one heading.
                Some(last) if block.kind == kind && last.kind == kind => {
                    last.text.push('\n');
                    last.text.push_str(&block.text);
                }
                _ => blocks.push(block),
            }
        }
    }
    if blocks.is_empty() {
        let text = match (message.text.is_empty(), has_blocks) {
            (false, _) => &message.text,
            // A thought that the provider withheld, of which only the signature is there.
            (true, true) => return blocks,
            (true, false) => &message.json,
        };
        blocks.push(ContentBlock::new(kind, text));
    }
    blocks
}

/// Returns the kind of the plain text in a message.
fn text_kind(message: &Message) -> Kind {
    match (message.kind.as_str(), message.role.as_str()) {
        ("summary", _) => Kind::Summary,
        (_, "user") => Kind::Prompt,
        (_, "system") => Kind::System,
        (_, "tool") => Kind::ToolResult,
        _ => Kind::Reply,
    }
}

fn content_block(block: &Value, text_kind: Kind) -> Option<ContentBlock> {
    let text_of = |field: &str| block[field].as_str().unwrap_or_default().to_string();
    let shown = match block["type"].as_str()? {
        "text" => ContentBlock::new(text_kind, text_of("text")),
        "thinking" => ContentBlock::new(Kind::Reasoning, text_of("thinking")),
        "tool_use" => {
            let input = &block["input"];
            // A command says more than the call around it.
            let plain = input["command"].as_str().or(input.as_str());
            return Some(ContentBlock {
                tool: text_of("name"),
                ..ContentBlock::new(
                    Kind::ToolCall,
                    plain.map_or_else(|| input.to_string(), str::to_string),
                )
            });
        }
        "tool_result" => {
            return Some(ContentBlock {
                is_error: block["is_error"].as_bool().unwrap_or(false),
                ..ContentBlock::new(Kind::ToolResult, result_text(&block["content"]))
            });
        }
        other => ContentBlock::new(text_kind, format!("[{other}]")),
    };
    (!shown.text.trim().is_empty()).then_some(shown)
}

/// Returns the text of a tool result, which is a text or a list of blocks.
fn result_text(content: &Value) -> String {
    let Value::Array(blocks) = content else {
        return content.as_str().unwrap_or_default().to_string();
    };
    let texts = blocks.iter().filter_map(|block| {
        let kind = block["type"].as_str()?;
        let text = block["text"].as_str().map(str::to_string);
        Some(text.unwrap_or_else(|| format!("[{kind}]")))
    });
    texts.collect::<Vec<String>>().join("\n")
}

fn message_json(message: &Message) -> Value {
    let mut content = serde_json::from_str(&message.json).unwrap_or_else(|_| json!(message.json));
    for block in content.as_array_mut().into_iter().flatten() {
        if block["type"] == "thinking"
            && let Some(block) = block.as_object_mut()
        {
            block.remove("signature");
        }
    }
    json!({
        "uuid": message.uuid,
        "parent_uuid": message.parent_uuid,
        "type": message.kind,
        "role": message.role,
        "model": message.model,
        "timestamp": message.timestamp,
        "usage": tokens_json(&message.usage),
        "text": message.text,
        "content": content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(role: &str, text: &str, json: &str) -> Vec<(Kind, String)> {
        let message = Message {
            role: role.to_string(),
            text: text.to_string(),
            json: json.to_string(),
            ..Message::default()
        };
        let blocks = content_blocks(&message).into_iter();
        blocks
            .map(|block| (block.kind, format!("{}{}", block.tool, block.text)))
            .collect()
    }

    #[test]
    fn thinking_calls_and_results_are_told_apart() {
        let answer = json!([
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "thinking", "thinking": ""},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        ]);
        assert_eq!(
            blocks_of("assistant", "hm\nI look.", &answer.to_string()),
            [
                (Kind::Reasoning, "hm".to_string()),
                (Kind::Reply, "I look.".to_string()),
                (Kind::ToolCall, "Bashls".to_string()),
            ]
        );
        let ask = json!([{"type": "text", "text": "look"}, {"type": "image"}]);
        assert_eq!(
            blocks_of("user", "look", &ask.to_string()),
            [(Kind::Prompt, "look\n[image]".to_string())]
        );
        let result = json!([{"type": "tool_result", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]);
        assert_eq!(
            blocks_of("user", "a", &result.to_string()),
            [(Kind::ToolResult, "a\n[image]".to_string())]
        );
    }

    #[test]
    fn an_empty_thought_prints_nothing() {
        let thought = json!([{"type": "thinking", "thinking": "", "signature": "x"}]).to_string();
        assert_eq!(blocks_of("assistant", "", &thought), []);
        let message = Message {
            json: thought,
            ..Message::default()
        };
        assert!(!message_json(&message).to_string().contains("signature"));
    }

    #[test]
    fn other_content_is_text() {
        for (text, json) in [
            ("hi", "\"hi\""),
            ("hi", "[]"),
            ("hi", "not JSON"),
            ("", "hi"),
        ] {
            assert_eq!(
                blocks_of("user", text, json),
                [(Kind::Prompt, "hi".to_string())]
            );
        }
    }
}
