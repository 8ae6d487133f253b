//! How good an observation is, without asking anybody.

use backstory_store::Scores;

use crate::code::last_name;
use crate::observe::{Sizes, ToolUse, faith};
use crate::tokens::count_tokens;

/// Scores an observation of a tool use.
pub(crate) fn scores(tool_use: &ToolUse, sizes: &Sizes) -> Scores {
    let raw = count_tokens(&tool_use.input) + count_tokens(&tool_use.output);
    Scores {
        faithfulness: faithfulness(
            tool_use,
            &format!("{}\n{}\n{}", sizes.title, sizes.summary, sizes.detail),
        ),
        compression: compression(raw, &sizes.summary),
        coverage: coverage(tool_use, &format!("{}\n{}", sizes.summary, sizes.detail)),
    }
}

/// Which share of what a text names stands in what it is about; nothing when it names nothing.
pub(super) fn faithfulness(tool_use: &ToolUse, text: &str) -> Option<f64> {
    let faith = faith(tool_use, text);
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
    let functions = tool_use.functions.iter().map(|name| last_name(name));
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
            functions: vec!["Cart.add".to_string(), "Cart.take".to_string()],
            ..ToolUse::default()
        };
        let sizes = Sizes {
            title: "Edited the cart".to_string(),
            summary: "add now counts 12, not 13, in src/cart.rs".to_string(),
            detail: "more".to_string(),
        };
        let found = scores(&tool_use, &sizes);
        // 12 and the path stand there, 13 does not.
        assert_eq!(found.faithfulness, Some(1.0 - 1.0 / 3.0));
        let raw = count_tokens(&tool_use.input) + count_tokens(&tool_use.output);
        let told = count_tokens(&sizes.summary);
        assert_eq!(found.compression, Some(raw as f64 / told as f64));
        assert!(found.compression.unwrap() > 10.0);
        assert_eq!(found.coverage, Some(0.5));
        let nothing = scores(&ToolUse::default(), &Sizes::default());
        assert_eq!(nothing, Scores::default());
    }
}
