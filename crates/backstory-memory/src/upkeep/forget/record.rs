//! Results of forgetting as JSON documents.

use std::path::PathBuf;

use backstory_event::TimeMs;
use backstory_store::SessionHead;
use serde::{Deserialize, Serialize};

use super::{ForgetPlan, ForgetReport, Leftover, Proof, ResumedForget, RewrittenFile};
use crate::serde_text::rfc3339_time;

/// Sessions that were forgotten or would be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForgetRecord {
    /// The sessions.
    pub sessions: Vec<ForgottenSession>,
    /// True if nothing was changed.
    pub dry_run: bool,
    /// Sessions that an interrupted run had begun to forget and this one finished.
    pub resumed: Option<Box<ForgetRecord>>,
    /// Number of bytes by which the files on disk became smaller.
    pub freed_bytes: u64,
    /// The agents' own logs, which still have the text.
    pub agent_logs: Option<Vec<PathBuf>>,
    /// Files that were not changed.
    pub left: Option<Vec<Leftover>>,
    /// Published files that were not found on this machine.
    pub missing: Option<Vec<String>>,
    /// Files that were written anew or removed.
    pub rewritten: Option<Vec<RewrittenFile>>,
    /// Bytes of the store on disk.
    pub final_usage_bytes: Option<u64>,
    /// Verification that nothing is left.
    pub proof: Option<ProofRecord>,
    /// Files of the catalogue that would be rewritten or removed; only in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<Vec<PathBuf>>,
    /// Files with a published block that would be rewritten; only in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Vec<PathBuf>>,
}

/// A session that was forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForgottenSession {
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// Title.
    pub title: Option<String>,
    /// Time of its last event.
    #[serde(with = "rfc3339_time")]
    pub ended_at: Option<TimeMs>,
}

/// Verification that nothing is left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// Number of files that were searched.
    pub files_searched: u64,
    /// Number of blocks that were searched.
    pub blocks_searched: u64,
    /// Number of strings that were looked for.
    pub strings: u64,
    /// Number of places where one was found.
    pub found: usize,
    /// The places.
    pub remains: Vec<String>,
    /// Damaged pieces, which could not be searched.
    pub unsearched: Vec<String>,
}

impl ForgetRecord {
    /// Returns the result for these sessions; without a report, that of a dry run or of finishing an interrupted run.
    pub fn new(
        sessions: &[SessionHead],
        report: Option<&ForgetReport>,
        resumed: Option<&ResumedForget>,
    ) -> Self {
        let resumed = resumed
            .map(|resumed| ForgetRecord::new(&resumed.sessions, Some(&resumed.report), None));
        ForgetRecord {
            sessions: sessions.iter().map(ForgottenSession::from).collect(),
            dry_run: report.is_none() && resumed.is_none(),
            resumed: resumed.map(Box::new),
            freed_bytes: report.map_or(0, |report| report.freed_bytes),
            agent_logs: report.map(|report| report.agent_logs.clone()),
            left: report.map(|report| report.left.clone()),
            missing: report.map(|report| report.missing.clone()),
            rewritten: report.map(|report| report.rewritten.clone()),
            final_usage_bytes: report.map(|report| report.final_usage_bytes),
            proof: report.map(|report| ProofRecord::from(&report.proof)),
            catalogue: None,
            published: None,
        }
    }

    /// Returns what forgetting sessions would change.
    pub fn planned(sessions: &[SessionHead], plan: &ForgetPlan) -> Self {
        ForgetRecord {
            catalogue: Some(plan.catalogue.clone()),
            published: Some(plan.published.clone()),
            missing: Some(plan.missing.clone()),
            left: Some(plan.refused.clone()),
            agent_logs: Some(plan.agent_logs.clone()),
            ..ForgetRecord::new(sessions, None, None)
        }
    }
}

impl From<&SessionHead> for ForgottenSession {
    fn from(head: &SessionHead) -> Self {
        ForgottenSession {
            session: head.session.clone(),
            agent: head.agent.clone(),
            title: head.title.clone(),
            ended_at: head.ended_at,
        }
    }
}

impl From<&Proof> for ProofRecord {
    fn from(proof: &Proof) -> Self {
        ProofRecord {
            files_searched: proof.files_searched,
            blocks_searched: proof.blocks_searched,
            strings: proof.strings,
            found: proof.remains.len(),
            remains: proof.remains.clone(),
            unsearched: proof.unsearched.iter().map(ToString::to_string).collect(),
        }
    }
}
