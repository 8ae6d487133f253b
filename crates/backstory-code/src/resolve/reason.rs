//! Why a call could not be resolved.

use super::{Resolver, Value};
use crate::chain::Step;
use crate::model::UnresolvedReason;
use crate::scope::{Binding, ScopeKind};

impl Resolver<'_, '_> {
    /// Returns why a chain leads nowhere.
    pub(super) fn reason(&self, scope: usize, chain: &[Step<'_>], hops: usize) -> UnresolvedReason {
        // Longest prefix that leads somewhere.
        let known = (1..chain.len())
            .map(|length| self.follow(scope, &chain[..length], hops))
            .take_while(|value| *value != Value::Unknown)
            .enumerate()
            .last();
        let failing = known.as_ref().map_or(0, |(place, _)| place + 1);
        let is_called_on = |step: &Step<'_>| *step == Step::Call;
        if chain.iter().skip(failing).any(is_called_on) {
            return UnresolvedReason::Chained;
        }
        match (known, chain.get(failing)) {
            (None, Some(Step::Name(name))) => self.unknown_name(scope, name, hops),
            (None, Some(Step::This | Step::Super)) => UnresolvedReason::UnknownBase,
            (Some((_, Value::Above(_))), _) => UnresolvedReason::UnknownBase,
            (Some((_, Value::Symbol(class) | Value::Object(class))), Some(Step::Name(name))) => {
                self.unknown_member(&class, name, hops)
            }
            _ => UnresolvedReason::Dynamic,
        }
    }

    /// Returns why nothing is known of a name.
    fn unknown_name(&self, scope: usize, name: &str, hops: usize) -> UnresolvedReason {
        let is_self = self.language.self_names.contains(&name) || name == "super";
        if is_self {
            return UnresolvedReason::UnknownBase;
        }
        let mut at = Some(scope);
        let mut is_first = true;
        while let Some(index) = at {
            let Some(scope) = self.found.scopes.get(index) else {
                break;
            };
            let is_visible = std::mem::take(&mut is_first) || scope.kind != ScopeKind::Class;
            at = scope.parent;
            if let (true, Some(binding)) = (is_visible, scope.bindings.get(name)) {
                return self.unknown_binding(index, binding, hops);
            }
        }
        UnresolvedReason::External
    }

    /// Returns why nothing is known of a member of a class of this file.
    fn unknown_member(&self, class: &str, name: &str, hops: usize) -> UnresolvedReason {
        let attributes = self.found.attributes.get(class);
        match attributes.and_then(|attributes| attributes.get(name)) {
            Some(binding) => self.unknown_binding(self.scope_of(class), binding, hops),
            None if self.found.bases.contains_key(class) => UnresolvedReason::UnknownBase,
            None => UnresolvedReason::Dynamic,
        }
    }

    fn unknown_binding(
        &self,
        scope: usize,
        binding: &Binding<'_>,
        hops: usize,
    ) -> UnresolvedReason {
        match binding {
            Binding::Parameter => UnresolvedReason::Injected,
            Binding::Typed(_) => UnresolvedReason::External,
            Binding::Value(chain) if hops > 0 => self.reason(scope, chain, hops - 1),
            _ => UnresolvedReason::Dynamic,
        }
    }
}
