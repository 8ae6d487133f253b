//! Evidence by which a person judges a digest.

use backstory_analysis::digest::LastCheck;

use super::super::{
    Closing, Statement, Step, What, is_go_on, is_of_a_person, prompts, session_notes,
};
use crate::Session;
use crate::conventions::AGENT_CONVENTIONS;
use crate::error::Result;

/// Evidence by which a person judges a digest: the user's words, the agent's last ones, and how checks went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DigestEvidence {
    /// The first request of a person.
    pub first_request: Option<Statement>,
    /// Prompts behind it, answers within turns and interruptions, in their order.
    pub later: Vec<Statement>,
    /// The last reply.
    pub last_reply: Option<Statement>,
    /// Last run of each check.
    pub checks: Vec<Statement>,
}

impl Session<'_> {
    /// Returns the evidence by which a person judges the digest.
    pub fn digest_evidence(&self) -> Result<DigestEvidence> {
        let notes = session_notes(&self.memory.store, self.row.id, &self.row.agent)?;
        let is_request = |text: &str| is_of_a_person(text) && !is_go_on(text);
        let first = prompts(&notes)
            .find(|(_, text)| is_request(text))
            .or_else(|| prompts(&notes).next());
        let first_seq = first.map(|(step, _)| step.seq);
        let later = notes.steps.iter().filter_map(|step| {
            let text = match &step.what {
                What::Prompt(text) if Some(step.seq) != first_seq && is_of_a_person(text) => {
                    text.clone()
                }
                What::Answer {
                    question: Some(question),
                    said,
                } => format!("answered {said:?} to {question:?}"),
                What::Answer {
                    question: None,
                    said,
                } => format!("rejected a call: {said}"),
                What::Interrupted => "interrupted the agent".to_string(),
                _ => return None,
            };
            Some(cite_step(step, text))
        });
        let last_reply = notes.steps.iter().rev().find_map(|step| match &step.what {
            What::Reply(text) => Some(cite_step(step, text.clone())),
            _ => None,
        });
        let checks = Closing::new(&notes, &AGENT_CONVENTIONS).checks;
        Ok(DigestEvidence {
            first_request: first.map(|(step, text)| cite_step(step, text.to_string())),
            later: later.collect(),
            last_reply,
            checks: checks.iter().map(describe_check).collect(),
        })
    }
}

fn cite_step(step: &Step, text: String) -> Statement {
    Statement {
        text,
        turn: Some(step.turn),
        events: vec![step.seq],
    }
}

fn describe_check(check: &LastCheck) -> Statement {
    // A pass of some tests only says nothing of the others, so it is no run here.
    let result = match check.ok {
        true => "passed in its last full run",
        false => "failed last, passes of a part not counted",
    };
    let times = match check.runs {
        1 => "1 run".to_string(),
        runs => format!("{runs} runs"),
    };
    Statement {
        text: format!("`{}` {result} ({times})", check.name),
        turn: Some(check.turn),
        events: Vec::new(),
    }
}
