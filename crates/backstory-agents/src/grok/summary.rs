//! `summary.json`: where a session worked and what it is called.

use std::borrow::Cow;

use super::Session;
use super::fields::Fields;
use crate::record::Record;
use crate::shared::{is_true, items, kept, string};
use backstory_event::{Output, Parent, ParentKind, SessionFacts, Title};

impl Session {
    pub(super) fn summary(&mut self, record: Record<'_>, out: &mut Output) {
        let summary = Fields::read(record.json);
        let info = Fields::of(summary.get(&["info"]));
        let session = self.session(
            info.text(&["id"])
                .or_else(|| summary.text(&["id"]))
                .as_deref(),
        );
        let text = |names: &[&str]| summary.text(names).map(Cow::into_owned);
        let kind = text(&["session_kind", "sessionKind"]).unwrap_or_default();
        let subagent = kind.starts_with("subagent");
        let created = summary.time(&["created_at", "createdAt"]);
        let active = summary
            .time(&["last_active_at", "lastActiveAt"])
            .or_else(|| summary.time(&["updated_at", "updatedAt"]));
        out.facts.push(SessionFacts {
            session: Some(session),
            title: title(&summary),
            cwd: info
                .text(&["cwd"])
                .or_else(|| summary.text(&["cwd"]))
                .map(Cow::into_owned),
            branch: text(&["head_branch", "headBranch"]),
            repository: text(&["git_root_dir", "gitRootDir"]),
            remote: remote(&summary),
            // Only forks had a parent before sessions said what created them.
            parent: text(&["parent_session_id", "parentSessionId"]).map(|session| Parent {
                session,
                kind: if subagent {
                    ParentKind::Subagent
                } else {
                    ParentKind::Fork
                },
            }),
            machine: (subagent || is_true(summary.get(&["hidden"]))).then_some(true),
            period: created.zip(active.or(created)),
            meta: Some(record.json.to_string()),
            ..SessionFacts::default()
        });
    }
}

fn title(summary: &Fields<'_>) -> Option<Title> {
    let text = |names: &[&str]| summary.text(names).and_then(|text| kept(&text));
    if let Some(title) = text(&["generated_title", "generatedTitle"]) {
        let given = is_true(summary.get(&["title_is_manual", "titleIsManual"]));
        return Some(if given {
            Title::Given(title)
        } else {
            Title::Generated(title)
        });
    }
    text(&["session_summary", "summary"])
        .map(Title::Generated)
        .or_else(|| text(&["firstPrompt", "first_prompt"]).map(Title::Prompt))
}

fn remote(summary: &Fields<'_>) -> Option<String> {
    let first = items(summary.get(&["git_remotes", "gitRemotes"])?)
        .into_iter()
        .next()?;
    let url = string(Some(first)).or_else(|| Fields::read(first.get()).text(&["url"]))?;
    (!url.is_empty()).then(|| url.into_owned())
}
