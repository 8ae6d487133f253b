//! Finding patterns.

use std::collections::BTreeMap;

use super::{Pattern, PatternKind};
use crate::Memory;
use crate::error::Result;

/// Which patterns to find. An empty filter finds all.
#[derive(Debug, Clone, Default)]
pub struct PatternFilter {
    /// Only those that occurred at least so often.
    pub min_frequency: u64,
    /// Only in this project: a folder or a repository's name.
    pub project: Option<String>,
    /// Only in projects of this domain.
    pub domain: Option<String>,
    /// Only problems, or only successes.
    pub kind: Option<PatternKind>,
    /// The domain of each project, by its root or by its name.
    pub domains: BTreeMap<String, String>,
}

impl PatternFilter {
    /// The domain of a project, by its root; a root that is named outright counts more than the name of its folder.
    pub fn domain_of(&self, root: &str) -> Option<&str> {
        let root = root.trim_end_matches('/');
        let name = root.rsplit(['/', '\\']).next().unwrap_or(root);
        let domain = self.domains.get(root).or_else(|| self.domains.get(name));
        domain.map(String::as_str)
    }
}

impl Memory {
    /// Patterns that recur in what is stored.
    pub fn patterns(&self, _filter: &PatternFilter) -> Result<Vec<Pattern>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_the_domain_of_its_root_or_name() {
        let map = [
            ("/work/shop", "sales"),
            ("shop", "shops"),
            ("notes", "writing"),
        ];
        let filter = PatternFilter {
            domains: map
                .map(|(project, domain)| (project.to_string(), domain.to_string()))
                .into(),
            ..PatternFilter::default()
        };
        assert_eq!(filter.domain_of("/work/shop/"), Some("sales"));
        assert_eq!(filter.domain_of("/elsewhere/shop"), Some("shops"));
        assert_eq!(filter.domain_of("notes"), Some("writing"));
        assert_eq!(filter.domain_of("/work"), None);
    }
}
