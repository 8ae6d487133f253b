//! Text that comes in fragments.
//!
//! The reader and [`super::Grok`]'s `reread` push the same fragments through the same [`Stream`], one fragment per sweep or all at
//! once: so what a span gives back is what was put out piece by piece, whatever the rules here are.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::injected::{
    CONTEXT_OPEN, after_context, inside, without_context, without_leading_blocks,
};
use backstory_event::Image;

/// What Grok puts before a prompt.
const INJECTED: [&str; 5] = [
    "user_info",
    "git_status",
    "system-reminder",
    "agent_skills",
    "mcp_servers",
];
const QUERY: &str = "user_query";
const QUERY_OPEN: &str = "<user_query>";
const QUERY_CLOSE: &str = "</user_query>";

/// How much white space at the end of a fragment is held for the next one.
const MOST_SPACE: usize = 64;

/// Who streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Speaker {
    Person,
    Model,
    Thought,
}

impl Speaker {
    /// The speaker of a kind of update, if it is text.
    pub(super) fn of(kind: &str) -> Option<Self> {
        match kind {
            "user_message_chunk" => Some(Speaker::Person),
            "agent_message_chunk" => Some(Speaker::Model),
            "agent_thought_chunk" => Some(Speaker::Thought),
            _ => None,
        }
    }

    /// Returns the images that count as given to the agent: those of a person.
    pub(super) fn images(self, images: Vec<Image>) -> Vec<Image> {
        match self {
            Speaker::Person => images,
            Speaker::Model | Speaker::Thought => Vec::new(),
        }
    }
}

/// One message while it comes in.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stream {
    speaker: Speaker,
    /// Whether anything was said yet.
    begun: bool,
    /// White space that belongs to the message only if more follows.
    space: String,
    /// Within our own context.
    context: bool,
    /// Within the tag around a prompt.
    query: bool,
    /// Nobody said this: it is put in by the program.
    injected: bool,
    /// Complete: the next fragment is another message.
    over: bool,
}

impl Stream {
    pub(super) fn new(speaker: Speaker) -> Self {
        Stream {
            speaker,
            begun: false,
            space: String::new(),
            context: false,
            query: false,
            injected: false,
            over: false,
        }
    }

    pub(super) fn injected(&self) -> bool {
        self.injected
    }

    /// Whether a fragment of the same speaker goes on with this message. A fragment in a tag of its own is a message of its own.
    pub(super) fn takes(&self, fragment: &str) -> bool {
        !self.over && (self.speaker != Speaker::Person || !fragment.contains(QUERY_OPEN))
    }

    /// The text that a fragment adds.
    pub(super) fn add(&mut self, fragment: &str) -> String {
        let fragment = self.outside_context(fragment);
        let said = match self.speaker {
            Speaker::Person => self.asked(&fragment),
            Speaker::Model | Speaker::Thought => &fragment,
        };
        let said = if self.begun { said } else { said.trim_start() };
        let body = said.trim_end();
        let rest = &said[body.len()..];
        if body.is_empty() {
            if self.begun {
                self.hold(rest);
            }
            return String::new();
        }
        self.begun = true;
        let mut text = std::mem::take(&mut self.space);
        text.push_str(body);
        self.hold(rest);
        text
    }

    fn hold(&mut self, space: &str) {
        let room = MOST_SPACE.saturating_sub(self.space.len());
        self.space.push_str(crate::shared::cut(space, room));
    }

    fn outside_context<'a>(&mut self, fragment: &'a str) -> Cow<'a, str> {
        if !self.context && !fragment.contains(CONTEXT_OPEN) {
            return Cow::Borrowed(fragment);
        }
        let opened = if self.context {
            format!("{CONTEXT_OPEN}{fragment}")
        } else {
            fragment.to_string()
        };
        let last = opened.rfind(CONTEXT_OPEN).unwrap_or_default();
        self.context = after_context(&opened[last..]).is_none();
        Cow::Owned(without_context(&opened).into_owned())
    }

    /// What a person asked in a fragment.
    fn asked<'a>(&mut self, fragment: &'a str) -> &'a str {
        if self.query {
            let end = fragment.find(QUERY_CLOSE);
            self.query = end.is_none();
            return &fragment[..end.unwrap_or(fragment.len())];
        }
        if let Some(start) = fragment.find(QUERY_OPEN) {
            return inside(fragment, QUERY).unwrap_or_else(|| {
                self.query = true;
                &fragment[start + QUERY_OPEN.len()..]
            });
        }
        if self.begun || fragment.trim().is_empty() {
            return fragment;
        }
        let rest = without_leading_blocks(fragment, &INJECTED);
        if !rest.is_empty() {
            return rest;
        }
        self.injected = true;
        let closes = |tag: &&str| fragment.trim_end().ends_with(&format!("</{tag}>"));
        self.over = INJECTED.iter().any(closes);
        fragment
    }
}

/// A whole message of a person, and whether the program put it in.
pub(crate) fn whole_prompt(text: &str) -> (String, bool) {
    let mut stream = Stream::new(Speaker::Person);
    let text = stream.add(text);
    (text, stream.injected())
}
