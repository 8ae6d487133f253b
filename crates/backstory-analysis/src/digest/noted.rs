//! Events whose text is gone, as far as notes have them.

use backstory_event::{Kind, Seq, TimeMs, TurnNo};

use super::notes::{Step, What};

/// Remains of an event whose text is gone.
pub struct Noted {
    /// The event.
    pub seq: Seq,
    /// Its turn.
    pub turn: TurnNo,
    /// Its time.
    pub at: Option<TimeMs>,
    /// Its kind.
    pub kind: Kind,
    /// Texts that were said, called and given, as search tells them apart.
    pub texts: [String; 3],
}

impl Noted {
    /// Returns what a step leaves of its event; `None` when that is no text.
    pub fn new(step: Step) -> Option<Self> {
        let none = String::new;
        let (kind, texts) = match step.what {
            What::Prompt(said) => (Kind::Prompt, [said, none(), none()]),
            What::Reply(said) => (Kind::Reply, [said, none(), none()]),
            What::Run(run) => (
                Kind::ToolCall,
                [none(), run.command, run.said.unwrap_or_default()],
            ),
            What::Edit { paths, said, .. } => (
                Kind::ToolCall,
                [none(), paths.join("\n"), said.unwrap_or_default()],
            ),
            What::Failed { target, said, .. } => (Kind::ToolResult, [none(), target, said]),
            What::Denied(_)
            | What::Answer { .. }
            | What::Plan(_)
            | What::Interrupted
            | What::Compacted => return None,
        };
        Some(Noted {
            seq: step.seq,
            turn: step.turn,
            at: step.at,
            kind,
            texts,
        })
    }
}
