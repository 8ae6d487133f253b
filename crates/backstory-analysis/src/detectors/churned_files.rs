//! Files that are edited again and again.

use std::collections::HashMap;

use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::{Notes, What};

pub(super) const DETECTOR: Detector = Detector {
    name: "churned_files",
    kind: PatternKind::Problem,
    weight: 1.0,
    alike: None,
    detect,
};

/// Number of edits in one session that count as churn.
const MANY: usize = 6;

fn detect(notes: &Notes, _: &AgentConventions, found: &mut Vec<Signal>) {
    let mut edits: HashMap<&str, usize> = HashMap::new();
    for step in &notes.steps {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
        {
            for path in paths {
                let times = edits.entry(path).or_default();
                *times += 1;
                if *times == MANY {
                    let mut parts: Vec<&str> = path.rsplit(['/', '\\']).take(3).collect();
                    parts.reverse();
                    let name = parts.join("/");
                    let title = format!("`{name}` is edited again and again in one session");
                    found.push(Signal::at(step, name, title, path).minor());
                }
            }
        }
    }
}
