//! Which patterns are asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Pattern, PatternKind};

/// Which patterns to find.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternFilter {
    /// Seen at least so often.
    pub min_frequency: u64,
    /// Seen in this project: its root, or the end of it.
    pub project: Option<String>,
    /// Seen in this domain.
    pub domain: Option<String>,
    /// Of this kind.
    pub kind: Option<PatternKind>,
    /// Those on which nobody can act, too.
    pub include_minor: bool,
    /// The domain of each repository, by its root or the end of it.
    pub domains: BTreeMap<String, String>,
}

impl PatternFilter {
    /// One session is no pattern.
    pub(super) fn passes(&self, pattern: &Pattern) -> bool {
        let of_project = |wanted: &String| pattern.projects.iter().any(|root| is_at(root, wanted));
        pattern.sessions.len() > 1
            && (self.include_minor || !pattern.is_minor)
            && pattern.frequency >= self.min_frequency
            && self.project.as_ref().is_none_or(of_project)
            && self
                .domain
                .as_ref()
                .is_none_or(|wanted| pattern.domains.contains(wanted))
    }

    /// The domain of a project, by its root; a root that is named outright counts more than the name of its folder.
    pub(super) fn domain_of(&self, root: &str) -> Option<&str> {
        let root = root.trim_end_matches('/');
        let name = root.rsplit(['/', '\\']).next().unwrap_or(root);
        let domain = self.domains.get(root).or_else(|| self.domains.get(name));
        domain.map(String::as_str)
    }
}

/// Whether a project's root is this path, or ends with this name.
fn is_at(root: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    root == wanted
        || root
            .strip_suffix(wanted)
            .is_some_and(|before| before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_the_domain_of_its_root_or_name() {
        let map = [
            ("/home/ada/shop", "sales"),
            ("shop", "shops"),
            ("notes", "writing"),
        ];
        let filter = PatternFilter {
            domains: map
                .map(|(project, domain)| (project.to_string(), domain.to_string()))
                .into(),
            ..PatternFilter::default()
        };
        assert_eq!(filter.domain_of("/home/ada/shop/"), Some("sales"));
        assert_eq!(filter.domain_of("/elsewhere/shop"), Some("shops"));
        assert_eq!(filter.domain_of("notes"), Some("writing"));
        assert_eq!(filter.domain_of("/home/ada"), None);
    }
}
