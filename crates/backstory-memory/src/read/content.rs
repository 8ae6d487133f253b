//! The content of messages as JSON: as the log has it, or in the same form made of events.

use backstory_agents::raw_arguments;
use backstory_event::{EventView, Kind};
use serde::Serialize;
use serde_json::value::RawValue;

use super::artifact::PlacedArtifact;

/// Beginning of what stands for the bytes of an artifact, before its name.
const ARTIFACT_MARK: &str = "artifact:";

/// A block of content, in the form of Anthropic's API.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
    },
    ToolUse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        input: Input<'a>,
    },
    ToolResult {
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<&'a str>,
        content: ResultContent<'a>,
        is_error: bool,
    },
    Image {
        source: ArtifactSource<'a>,
    },
    Document {
        source: ArtifactSource<'a>,
    },
}

/// Input of a tool: its arguments, or text if it takes no others.
#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Arguments(&'a RawValue),
    Text(&'a str),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
struct ArtifactSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: String,
}

/// Makes content blocks of the events of a record and of the artifacts in it.
pub(super) fn blocks_of_events(views: &[EventView<'_>], artifacts: &[PlacedArtifact]) -> String {
    let has_only_results = views.iter().all(|view| view.event.kind == Kind::ToolResult);
    let mut artifacts: Vec<&PlacedArtifact> = artifacts.iter().collect();
    let mut blocks = Vec::with_capacity(views.len());
    for view in views {
        let mut of_result = Vec::new();
        if view.event.kind == Kind::ToolResult {
            let call = view.event.body.identity.tool_use_id.as_deref();
            artifacts.retain(|artifact| {
                let is_of_result = match artifact.tool_use_id.as_deref() {
                    Some(id) => call == Some(id),
                    None => has_only_results,
                };
                if is_of_result {
                    of_result.push(artifact_block(artifact));
                }
                !is_of_result
            });
        }
        blocks.push(event_block(view, of_result));
    }
    blocks.extend(artifacts.into_iter().map(artifact_block));
    // Strings and checked JSON can always be written.
    serde_json::to_string(&blocks).unwrap_or_default()
}

fn event_block<'a>(view: &'a EventView<'_>, artifacts: Vec<Block<'a>>) -> Block<'a> {
    let event = &*view.event;
    let (text, call) = (view.text(), event.body.identity.tool_use_id.as_deref());
    match event.kind {
        Kind::Reasoning => Block::Thinking { thinking: text },
        Kind::ToolCall => Block::ToolUse {
            id: call,
            name: event.tool.as_deref().unwrap_or_default(),
            input: raw_arguments(event).map_or(Input::Text(text), Input::Arguments),
        },
        Kind::ToolResult => Block::ToolResult {
            tool_use_id: call,
            content: match artifacts.is_empty() {
                true => ResultContent::Text(text),
                false => {
                    let mut blocks = vec![Block::Text { text }];
                    blocks.extend(artifacts);
                    ResultContent::Blocks(blocks)
                }
            },
            is_error: event.error,
        },
        Kind::Prompt | Kind::Reply | Kind::Summary | Kind::System => Block::Text { text },
    }
}

fn artifact_block(found: &PlacedArtifact) -> Block<'_> {
    let artifact = &found.artifact;
    let source = ArtifactSource {
        kind: "base64",
        media_type: &artifact.media_type,
        data: format!("{ARTIFACT_MARK}{}", artifact.name),
    };
    match artifact.media_type.starts_with("image/") {
        true => Block::Image { source },
        false => Block::Document { source },
    }
}

/// Returns the type of a record that the log has none for: who speaks, as models see it.
pub(super) fn kind_of_event(view: &EventView<'_>) -> &'static str {
    match view.event.kind {
        Kind::Prompt | Kind::ToolResult => "user",
        Kind::Reply | Kind::Reasoning | Kind::ToolCall => "assistant",
        Kind::Summary => "summary",
        Kind::System => "system",
    }
}

/// Puts the names of artifacts in the place of their base64 text.
pub(super) fn without_payloads(json: String, artifacts: &[PlacedArtifact]) -> String {
    if artifacts.is_empty() {
        return json;
    }
    let mut text = String::new();
    let mut copied = 0;
    for found in artifacts {
        text.push_str(json.get(copied..found.range.start).unwrap_or_default());
        text.push_str(ARTIFACT_MARK);
        text.push_str(&found.artifact.name);
        copied = found.range.end;
    }
    text.push_str(json.get(copied..).unwrap_or_default());
    text
}
