//! Words of the user in the results of tools: answers to questions, and reasons of rejections.

use std::borrow::Cow;
use std::collections::BTreeMap;

use backstory_event::UserAnswer;
use serde_json::value::RawValue;

use super::twin::Twin;
use crate::shared::{cut, string};

/// Beginning of the result of a call that the user rejected.
const REJECTION: &str = "The user doesn't want to proceed with this tool use.";

/// Words in it that the user's reason follows.
const REASON: &str = "the user said:\n";

/// Beginning of what the agent adds behind the reason.
const NOTE: &str = "\n\nNote: ";

/// Beginning of the reason that the agent itself gives when the user wants to talk about its questions.
const CLARIFICATION: &str = "The user wants to clarify these questions.";

/// The word for such a rejection in `toolDenialKind`.
const USER_REJECTED: &str = "user-rejected";

/// First version whose records all have `toolDenialKind`: without it, the text of such a record can be that of any tool.
const KINDS_SINCE: [u32; 3] = [2, 1, 200];

/// Maximum number of answers of a result.
const MAX_ANSWERS: usize = 16;

/// Maximum length of a question or an answer.
const MAX_BYTES: usize = 2_000;

/// Returns the reason that the user gave for rejecting a call. `kind` is the record's own word for the denial, which older logs lack.
pub(super) fn rejection(
    text: &str,
    kind: Option<&str>,
    version: Option<&str>,
) -> Option<UserAnswer> {
    let is_of_user = match kind {
        Some(kind) => kind == USER_REJECTED,
        None => version.is_none_or(|version| numbers(version) < KINDS_SINCE),
    };
    let rest = text.strip_prefix(REJECTION).filter(|_| is_of_user)?;
    let (_, reason) = rest.split_once(REASON)?;
    let reason = reason.split_once(NOTE).map_or(reason, |(reason, _)| reason);
    let text = cut(reason.trim(), MAX_BYTES).to_string();
    let is_of_agent = text.is_empty() || text.starts_with(CLARIFICATION);
    (!is_of_agent).then_some(UserAnswer {
        question: None,
        text,
    })
}

/// Returns the answers to the questions of a call. Only the tool that asks has such a twin.
pub(super) fn question_answers(twin: &Twin<'_>) -> Vec<UserAnswer> {
    let (Some(_), Some(answers)) = (twin.questions, twin.answers) else {
        return Vec::new();
    };
    let answers: BTreeMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(answers.get()).unwrap_or_default();
    let answers = answers.into_iter().filter_map(|(question, answer)| {
        let answer = string(Some(answer))?;
        let text = cut(answer.trim(), MAX_BYTES).to_string();
        (!text.is_empty()).then(|| UserAnswer {
            question: Some(cut(question.trim(), MAX_BYTES).to_string()),
            text,
        })
    });
    answers.take(MAX_ANSWERS).collect()
}

fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_rejections_are_the_users_words() {
        let text = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. …). To tell you how to proceed, the \
                    user said:\nuse a flag instead\n\nNote: the user's next message may contain a correction";
        let words = |text: &str, kind: Option<&str>, version: Option<&str>| {
            rejection(text, kind, version).map(|answer| answer.text)
        };
        let found = Some("use a flag instead".to_string());
        assert_eq!(words(text, None, Some("2.1.12")), found);
        assert_eq!(words(text, Some("user-rejected"), Some("2.1.226")), found);
        assert_eq!(words(text, Some("permission-rule"), Some("2.1.226")), None);
        assert_eq!(words(text, None, Some("2.1.226")), None, "a tool said it");
        let quoted = format!("Exit code 1\n{text}");
        assert_eq!(words(&quoted, None, Some("2.1.12")), None);
        let silent = "The user doesn't want to proceed with this tool use. STOP what you are doing";
        assert_eq!(words(silent, None, Some("2.1.12")), None);
    }

    #[test]
    fn answers_stand_with_their_questions() {
        let twin = |json: &'static str| serde_json::from_str::<Twin<'static>>(json).unwrap();
        let asked =
            twin(r#"{"questions": [], "answers": {"Which store?": "SQLite", "Why?": " "}}"#);
        let expected = UserAnswer {
            question: Some("Which store?".to_string()),
            text: "SQLite".to_string(),
        };
        assert_eq!(question_answers(&asked), [expected]);
        assert!(question_answers(&twin(r#"{"answers": {"a": "b"}}"#)).is_empty());
        assert!(question_answers(&twin(r#"{"questions": [], "answers": [1]}"#)).is_empty());
    }
}
