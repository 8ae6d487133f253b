//! How good an observation is, without asking anybody.

use backstory_analysis::count_tokens;
use backstory_store::Scores;

use crate::code::last_name;
use crate::observe::{ObservationSource, Sizes, ToolUse, faith};

/// Scores an observation.
pub(crate) fn scores(source: &ObservationSource, sizes: &Sizes) -> Scores {
    let raw = source.texts().map(count_tokens).iter().sum();
    let tool_use = source.tool_use();
    let said = format!("{}\n{}", sizes.summary, sizes.detail);
    Scores {
        faithfulness: faithfulness(
            source,
            &format!("{}\n{}\n{}", sizes.title, sizes.summary, sizes.detail),
        ),
        compression: compression(raw, &sizes.summary),
        coverage: tool_use.and_then(|tool_use| coverage(tool_use, &said)),
    }
}

/// Which share of what a text names stands in what it is about; nothing when it names nothing.
pub(super) fn faithfulness(source: &ObservationSource, text: &str) -> Option<f64> {
    let faith = faith(source, text);
    let unfounded = faith.unfounded.len() as f64;
    (faith.named > 0).then(|| (1.0 - unfounded / faith.named as f64).max(0.0))
}

/// How many times fewer tokens a text has.
pub(super) fn compression(raw: usize, text: &str) -> Option<f64> {
    let tokens = count_tokens(text);
    (tokens > 0).then(|| raw as f64 / tokens as f64)
}

/// Which share of the files and functions a text names, by the last part of their names; nothing when there are none.
fn coverage(tool_use: &ToolUse, text: &str) -> Option<f64> {
    let files = tool_use.touches.iter().map(|touch| {
        let path = touch.path.trim_end_matches(['/', '\\']);
        path.rsplit(['/', '\\']).next().unwrap_or(path)
    });
    let functions = tool_use.functions.iter();
    let functions = functions.map(|function| last_name(&function.name));
    let mut names: Vec<&str> = files
        .chain(functions)
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    let named = names.iter().filter(|name| text.contains(*name)).count();
    (!names.is_empty()).then(|| named as f64 / names.len() as f64)
}

#[cfg(test)]
mod tests {
    use backstory_event::{Action, Touch};

    use super::*;
    use crate::observe::{ChangedFunction, FunctionChange};

    #[test]
    fn scores_of_an_observation() {
        let tool_use = ToolUse {
            tool: "Edit".to_string(),
            input: "one word ".repeat(100),
            output: "src/cart.rs has 12 lines".to_string(),
            touches: ["/w/src/cart.rs", "/w/src/till.rs"]
                .map(|path| Touch {
                    path: path.to_string(),
                    action: Action::Write,
                })
                .into(),
            functions: ["Cart.add", "Cart.take"]
                .map(|name| ChangedFunction {
                    file: "/w/src/cart.rs".to_string(),
                    name: name.to_string(),
                    change: FunctionChange::New,
                })
                .into(),
            ..ToolUse::default()
        };
        let source = ObservationSource::ToolUse(tool_use.clone());
        let sizes = Sizes {
            title: "Edited the cart".to_string(),
            summary: "add now counts 12, not 13, in src/cart.rs".to_string(),
            detail: "more".to_string(),
        };
        let found = scores(&source, &sizes);
        // 12 and the path stand there, 13 does not.
        assert_eq!(found.faithfulness, Some(1.0 - 1.0 / 3.0));
        let raw = count_tokens(&tool_use.input) + count_tokens(&tool_use.output);
        let told = count_tokens(&sizes.summary);
        assert_eq!(found.compression, Some(raw as f64 / told as f64));
        assert!(found.compression.unwrap() > 10.0);
        assert_eq!(found.coverage, Some(0.5));
        let nothing = ObservationSource::ToolUse(ToolUse::default());
        let nothing = scores(&nothing, &Sizes::default());
        assert_eq!(nothing, Scores::default());
    }
}
