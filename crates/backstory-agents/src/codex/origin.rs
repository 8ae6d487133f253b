//! Where a session comes from: who or what started it.

use crate::object::Object;
use backstory_event::{Parent, ParentKind};

/// Where a session comes from.
pub(super) struct Origin {
    pub(super) parent: Option<Parent>,
    pub(super) subagent: bool,
    pub(super) machine: Option<bool>,
}

impl Origin {
    pub(super) fn of(meta: &Object<'_>) -> Self {
        let source = meta.text("source");
        let source_object = meta.object("source");
        let source_has = |field: &str| {
            source_object
                .as_ref()
                .is_some_and(|source| source.has(field))
        };
        let thread_source = meta.text("thread_source");
        let spawned_by = source_object.as_ref().and_then(|source| {
            source
                .object("subagent")?
                .object("thread_spawn")?
                .name("parent_thread_id")
        });
        let subagent = source_has("subagent") || thread_source.as_deref() == Some("subagent");
        let forked_from = meta.name("forked_from_id");
        let started_by = meta.name("parent_thread_id").or(spawned_by);
        let parent = match (started_by, forked_from) {
            (Some(session), None) => Some(Parent {
                session,
                kind: ParentKind::Subagent,
            }),
            (Some(session), Some(_)) | (None, Some(session)) if subagent => Some(Parent {
                session,
                kind: ParentKind::Subagent,
            }),
            (_, Some(session)) => Some(Parent {
                session,
                kind: ParentKind::Fork,
            }),
            (None, None) => None,
        };
        let originator = meta.text("originator").unwrap_or_default();
        let machine = subagent
            || source_has("internal")
            || matches!(
                source.as_deref(),
                Some("exec" | "mcp" | "subagent" | "internal")
            )
            || thread_source.as_deref() == Some("memory_consolidation")
            || originator == "codex_exec"
            || originator.starts_with("codex_sdk");
        let person = matches!(source.as_deref(), Some("cli" | "vscode"));
        Origin {
            parent,
            subagent,
            machine: (machine || person).then_some(machine),
        }
    }
}
