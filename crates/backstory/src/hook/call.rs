//! How a hook was called. Read without the parser of the command line: that refuses what it does not know, and an agent takes a
//! refusal for a no.

use std::ffi::OsString;
use std::path::PathBuf;

/// What an agent called for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// What happened, as the agent spells it.
    pub(crate) event: Option<String>,
    /// The agent that the hook was registered with.
    pub(crate) agent: Option<String>,
    /// Another configuration than the usual one.
    pub(crate) config: Option<PathBuf>,
}

impl Call {
    /// The call, if it is one: `None` for every other command, and for those who ask for help.
    pub(crate) fn of(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut call = Call::default();
        let mut is_hook = false;
        let mut arguments = arguments.into_iter().skip(1);
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy();
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text.as_ref(), None),
            };
            match name {
                "--config" => call.config = value.or_else(|| arguments.next()).map(PathBuf::from),
                "--agent" => {
                    let value = value.or_else(|| arguments.next());
                    call.agent = value.map(|value| value.to_string_lossy().into_owned());
                }
                "--help" | "-h" => return None,
                "hook" if !is_hook => is_hook = true,
                _ if !is_hook => return None,
                _ if text.starts_with('-') => {}
                _ => call.event = call.event.or(Some(text.into_owned())),
            }
        }
        is_hook.then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Option<(&str, &str, &str)>) {
        let call = Call::of(line.split_whitespace().map(OsString::from));
        let text = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let expect = expect.map(|(event, agent, config)| Call {
            event: text(event),
            agent: text(agent),
            config: text(config).map(PathBuf::from),
        });
        assert_eq!(call, expect, "{line}");
    }

    #[test]
    fn a_call_is_understood_however_it_is_spelled() {
        check("backstory hook Stop", Some(("Stop", "", "")));
        check(
            "backstory hook Stop --agent codex",
            Some(("Stop", "codex", "")),
        );
        check(
            "backstory --config a.toml hook --agent=codex Stop",
            Some(("Stop", "codex", "a.toml")),
        );
        check(
            "backstory hook --new-option Stop more",
            Some(("Stop", "", "")),
        );
        check("backstory hook --agent", Some(("", "", "")));
        check("backstory hook", Some(("", "", "")));
    }

    #[test]
    fn other_commands_are_left_to_the_parser() {
        check("backstory hook --help", None);
        check("backstory search hook", None);
        check("backstory --json hook", None);
        check("backstory", None);
    }
}
