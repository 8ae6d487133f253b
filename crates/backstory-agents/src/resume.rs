//! The command that continues a session in its agent.

/// A shell command in which `ID` stands for the agent's id of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume(pub(crate) &'static str);

impl Resume {
    /// Returns the shell command that continues a session, in the folder that it worked in: agents look for sessions of the
    /// folder that they are started in. `None` for a session that cannot be continued by itself, as that of a subagent.
    pub fn shell_command(&self, session: &str, folder: Option<&str>) -> Option<String> {
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        // Ids come from logs: nothing that a shell would read otherwise gets into a command.
        let is_id =
            !session.is_empty() && !session.starts_with('-') && session.bytes().all(is_plain);
        if !is_id || folder.is_some_and(|folder| folder.contains(char::is_control)) {
            return None;
        }
        let command = self.0.replace("ID", session);
        Some(match folder.filter(|folder| !folder.is_empty()) {
            Some(folder) => format!("cd '{}' && {command}", folder.replace('\'', r"'\''")),
            None => command,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_get_into_a_command() {
        let check = |session: &str, folder: Option<&str>, expect: Option<&str>| {
            let command = Resume("agent resume ID").shell_command(session, folder);
            assert_eq!(command.as_deref(), expect, "{session} {folder:?}");
        };
        check("5b1f-6c", None, Some("agent resume 5b1f-6c"));
        check("5b1f", Some(""), Some("agent resume 5b1f"));
        check(
            "5b1f",
            Some("/home/ada/it's here"),
            Some(r"cd '/home/ada/it'\''s here' && agent resume 5b1f"),
        );
        check("5b1f", Some("/x\n/y"), None);
        check("5b1f/agent-a1", None, None);
        check("$(rm -rf ~)", None, None);
        check("--version", None, None);
        check("", None, None);
    }
}
