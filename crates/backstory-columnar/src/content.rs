//! Content of messages: a text, or a list of blocks as models give them.

use backstory_memory::Kind;
use serde_json::Value;

use crate::rows::Message;

/// Part of a message's content: text, reasoning, a tool call or its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentBlock {
    /// Its kind.
    pub kind: Kind,
    /// Text; of a tool call its command, or its arguments as JSON.
    pub text: String,
    /// Name of the tool that is called, else empty.
    pub tool: String,
    /// The tool failed.
    pub is_error: bool,
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

impl Message {
    /// Returns the blocks of the content that are not blank; of a message whose content is not a list of blocks, its text.
    pub fn content_blocks(&self) -> Vec<ContentBlock> {
        let kind = self.text_kind();
        let mut blocks: Vec<ContentBlock> = Vec::new();
        let mut has_blocks = false;
        if let Ok(Value::Array(content)) = serde_json::from_str(&self.json) {
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
            let text = match (self.text.is_empty(), has_blocks) {
                (false, _) => &self.text,
                // A thought that the provider withheld, of which only the signature is there.
                (true, true) => return blocks,
                (true, false) => &self.json,
            };
            blocks.push(ContentBlock::new(kind, text));
        }
        blocks
    }

    /// Returns the kind of plain text in the message.
    fn text_kind(&self) -> Kind {
        match (self.kind.as_str(), self.role.as_str()) {
            ("summary", _) => Kind::Summary,
            (_, "user") => Kind::Prompt,
            (_, "system") => Kind::System,
            (_, "tool") => Kind::ToolResult,
            _ => Kind::Reply,
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blocks_of(role: &str, text: &str, json: &str) -> Vec<(Kind, String)> {
        let message = Message {
            role: role.to_string(),
            text: text.to_string(),
            json: json.to_string(),
            ..Message::default()
        };
        let blocks = message.content_blocks().into_iter();
        blocks
            .map(|block| (block.kind, format!("{}{}", block.tool, block.text)))
            .collect()
    }

    #[test]
    fn an_empty_thought_has_no_blocks() {
        let thought = json!([{"type": "thinking", "thinking": "", "signature": "x"}]).to_string();
        assert_eq!(blocks_of("assistant", "", &thought), []);
        let message = Message {
            json: thought,
            ..Message::default()
        };
        assert!(!json!(message).to_string().contains("signature"));
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
