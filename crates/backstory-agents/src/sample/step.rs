//! What happens in a session, before any agent's format: the story is a table of these, the generated logs a stream of them,
//! and each agent's writer turns them into its own lines.

/// One thing that happens in a session. Paths are below the project's folder.
pub(crate) enum Step<'a> {
    /// The user asks.
    Prompt(&'a str),
    /// The user asks and pastes a picture (PNG, in base64).
    Picture {
        text: &'a str,
        data: &'a str,
    },
    /// The user types the next request while a tool is still running.
    Queued(&'a str),
    Think(&'a str),
    /// Text before a tool call.
    Say(&'a str),
    /// The text that ends a turn.
    Answer(&'a str),
    /// A command in the shell.
    Run {
        command: &'a str,
        output: &'a str,
        exit_code: i32,
    },
    Read {
        path: &'a str,
        contents: &'a str,
    },
    Edit {
        path: &'a str,
        before: &'a str,
        old: &'a str,
        new: &'a str,
    },
    Write {
        path: &'a str,
        contents: &'a str,
    },
    /// A search in the files; matches are `path:line:text`.
    Grep {
        pattern: &'a str,
        matches: &'a [&'a str],
    },
    /// Files whose names match.
    Glob {
        pattern: &'a str,
        paths: &'a [&'a str],
    },
    /// The agent's list of tasks, with the state of each.
    Plan(&'a [(&'a str, &'a str)]),
    /// Work given to a subagent, and what it reports. Its own transcript is written apart.
    Delegate {
        agent: &'a str,
        description: &'a str,
        prompt: &'a str,
        report: &'a str,
    },
    /// Tools called in one response, each answered while the response still streams.
    Together(&'a [Step<'a>]),
    /// The user stops the turn.
    Interrupt,
    /// The conversation is replaced by this summary of it.
    Compact(&'a str),
}

/// A session being written in some agent's format.
pub(crate) trait Transcript {
    fn step(&mut self, step: &Step<'_>);

    /// How many bytes were written so far.
    fn size(&self) -> usize;
}
