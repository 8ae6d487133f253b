//! Digests as JSON documents.

use backstory_event::{Seq, TimeMs};
use serde::{Deserialize, Serialize};

use super::{Digest, FileChange, PlanLinks, SessionSummary, Statement};
use crate::error::Result;
use crate::read::{SessionRecord, UsageCounts};
use crate::upkeep::WithDamage;
use crate::{Memory, Session};

/// A digest together with its session, as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestRecord {
    /// The session; its outcome is that of the digest.
    #[serde(flatten)]
    pub session: SessionRecord<UsageCounts>,
    /// The session in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Statement>,
    /// Text of the first prompts.
    pub goal: String,
    /// Events of the first prompts.
    pub goal_events: Vec<Seq>,
    /// Reasons for the outcome.
    pub reasons: Vec<Statement>,
    /// Things that were done.
    pub done: Vec<Statement>,
    /// Files that were changed.
    pub files: Vec<FileChange>,
    /// Errors, and how they ended.
    pub errors: Vec<Statement>,
    /// Errors of tests, builds and checks that were not seen to pass afterwards.
    #[serde(default)]
    pub problems: Vec<Statement>,
    /// Decisions and corrections of the user.
    pub decisions: Vec<Statement>,
    /// Things left to do.
    pub next_steps: Vec<Statement>,
    /// Sessions that made its plan or carried it out.
    #[serde(flatten)]
    pub plan: PlanLinks,
    /// Seconds between the first and the last event.
    pub duration_seconds: Option<i64>,
    /// Summary by a model; left out when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SessionSummary>,
}

impl Session<'_> {
    /// Returns the digest as one document, as it is known at `now`.
    pub fn digest_record(&self, now: TimeMs) -> Result<WithDamage<DigestRecord>> {
        let digest = self.digest()?;
        let record = digest.record(self.memory, now)?;
        let mut answer = digest.map(|_| record);
        // The session's own record may be damaged, too.
        self.memory.upkeep().add_met_damage(&mut answer);
        Ok(answer)
    }
}

impl Digest {
    fn record(&self, memory: &Memory, now: TimeMs) -> Result<DigestRecord> {
        let session: Session<'_> = memory.sessions().open(self.session.clone());
        let usage = UsageCounts::from(&self.usage);
        let mut session = session.record_with(usage, session.meta()?, now);
        session.outcome = self.outcome.name().to_string();
        let goal: Vec<&str> = self.goal.iter().map(|said| said.text.as_str()).collect();
        let duration = self.session.ended_at.zip(self.session.started_at);
        Ok(DigestRecord {
            session,
            headline: self.headline.clone(),
            goal: goal.join("\n"),
            goal_events: self
                .goal
                .iter()
                .flat_map(|said| said.events.clone())
                .collect(),
            reasons: self.reasons.clone(),
            done: self.done.clone(),
            files: self.files.clone(),
            errors: self.errors.clone(),
            problems: self.problems.clone(),
            decisions: self.decisions.clone(),
            next_steps: self.next_steps.clone(),
            plan: self.plan.clone(),
            duration_seconds: duration.map(|(end, start)| end.since(start) / 1000),
            summary: self.summary.clone(),
        })
    }
}
