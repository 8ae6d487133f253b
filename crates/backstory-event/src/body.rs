//! The part of an event that the bytes of its span determine: it is read again from there, never stored a second time.

use serde::{Deserialize, Serialize};

use crate::edit::FileEdit;

/// Everything that the bytes of an event's span say, whatever came before them in the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventBody {
    /// What was said, decoded; what tools were asked; what they answered.
    pub text: String,
    /// The shell command that a tool call runs, or the beginning of a long one.
    pub command: Option<String>,
    /// Arguments of a tool call as JSON, where `text` is not that already.
    pub arguments: Option<String>,
    /// Changes of files: of a call as they were asked, of a result as they were made. Only the result tells whether they were made.
    pub edits: Vec<FileEdit>,
    /// The agent's own ids.
    pub identity: Identity,
    /// What happened to the conversation here.
    pub marks: Marks,
    /// Whether the command of a tool result was only started, and still runs.
    pub in_background: bool,
    /// Status of a tool call, in the agent's own word.
    pub status: Option<String>,
    /// Whether a call that has no result in the log succeeded, as its own record says: one of a tool that the provider runs.
    pub has_succeeded: Option<bool>,
    /// Why the model stopped, in the provider's own word.
    pub stop_reason: Option<String>,
    /// Reasoning effort, in the agent's own word.
    pub effort: Option<String>,
    /// Images and documents of a prompt.
    pub images: Vec<Image>,
    /// Settings that the record of a prompt names.
    pub context: Option<Box<TurnContext>>,
    /// Words of the user in a tool's result: answers to questions, or the reason of a rejection.
    pub user_answers: Vec<UserAnswer>,
    /// Title of the plan that a call presents to the user.
    pub plan: Option<String>,
}

impl EventBody {
    /// Returns a body with nothing but a text.
    pub fn from_text(text: String) -> Self {
        EventBody {
            text,
            ..EventBody::default()
        }
    }
}

/// The agent's own ids of an event, verbatim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Id of the record or message.
    pub uuid: Option<String>,
    /// Id of the record that it answers.
    pub parent_uuid: Option<String>,
    /// Id of the tool call, by which call and result are joined.
    pub tool_use_id: Option<String>,
}

impl Identity {
    /// Takes over the ids that are not known yet.
    pub fn add_missing(&mut self, more: &Identity) {
        fn add(known: &mut Option<String>, more: &Option<String>) {
            if known.is_none() {
                known.clone_from(more);
            }
        }
        add(&mut self.uuid, &more.uuid);
        add(&mut self.parent_uuid, &more.parent_uuid);
        add(&mut self.tool_use_id, &more.tool_use_id);
    }
}

/// What happened to the conversation at an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The user stopped the agent.
    #[serde(default)]
    pub interrupted: bool,
    /// A tool call was not allowed, by the user or by a rule.
    #[serde(default)]
    pub denied: bool,
    /// The history was replaced by a summary.
    #[serde(default)]
    pub compacted: bool,
}

impl Marks {
    /// Returns the names of the marks that are set.
    pub fn names(self) -> Vec<&'static str> {
        let marks = [
            (self.interrupted, "interrupted"),
            (self.denied, "denied"),
            (self.compacted, "compacted"),
        ];
        let set = marks.into_iter().filter(|(is_set, _)| *is_set);
        set.map(|(_, name)| name).collect()
    }
}

/// Words of the user in a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAnswer {
    /// The agent's question; `None` where the user rejected the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The user's words.
    pub text: String,
}

/// An image or document that a person gave to the agent. Its bytes stay in the stored log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Media type, such as `image/png`.
    pub media_type: Option<String>,
    /// File or address, where the log names one.
    pub source: Option<String>,
    /// Length of the encoded data in bytes, where it lies in the log.
    pub encoded_bytes: u64,
}

/// Settings under which a turn runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnContext {
    /// Working directory.
    pub cwd: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// When the agent asks before it acts.
    pub approval_policy: Option<String>,
    /// What commands may touch.
    pub sandbox_mode: Option<String>,
    /// Whether commands may use the network.
    pub network_access: Option<bool>,
    /// Permission mode, by the agent's own name: `default`, `plan`, `bypassPermissions`, `on-request`, ….
    pub permission_mode: Option<String>,
    /// How agent and person work together, where that is a setting of its own: `default`, `plan`.
    pub collaboration_mode: Option<String>,
    /// Version of the agent.
    pub agent_version: Option<String>,
}

impl TurnContext {
    /// Takes over what `newer` says, and keeps the rest.
    pub fn update_from(&mut self, newer: &TurnContext) {
        fn take<T: Clone>(known: &mut Option<T>, newer: &Option<T>) {
            if newer.is_some() {
                known.clone_from(newer);
            }
        }
        take(&mut self.cwd, &newer.cwd);
        take(&mut self.branch, &newer.branch);
        take(&mut self.model, &newer.model);
        take(&mut self.effort, &newer.effort);
        take(&mut self.approval_policy, &newer.approval_policy);
        take(&mut self.sandbox_mode, &newer.sandbox_mode);
        take(&mut self.network_access, &newer.network_access);
        take(&mut self.permission_mode, &newer.permission_mode);
        take(&mut self.collaboration_mode, &newer.collaboration_mode);
        take(&mut self.agent_version, &newer.agent_version);
    }
}
