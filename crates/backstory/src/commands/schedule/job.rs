//! What a scheduler is to run.

use crate::cadence::Cadence;
use crate::error::Error;
use crate::setting::Setting;
use crate::shell;

/// A sweep, to be run by somebody else.
pub(super) struct Job {
    /// The program's absolute path.
    pub(super) program: String,
    /// What it must find in its environment to read and write the same as here.
    pub(super) variables: Vec<(String, String)>,
    pub(super) cadence: Cadence,
}

impl Job {
    pub(super) fn new(setting: &Setting) -> Result<Self, Error> {
        let job = Job {
            program: shell::own_path()?,
            variables: setting.variables(),
            cadence: setting.config.cadence,
        };
        let values = job.variables.iter().map(|(_, value)| value);
        for text in values.chain([&job.program]) {
            shell::check_writable(text, "a schedule")?;
        }
        Ok(job)
    }

    /// The job as a shell would run it.
    pub(super) fn command_line(&self) -> String {
        let variables: String = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={} ", shell::quoted(value)))
            .collect();
        format!(
            "{variables}nice -n 10 {} sweep",
            shell::quoted(&self.program)
        )
    }
}

/// A job with all that is hard to quote.
#[cfg(test)]
pub(super) fn odd_job() -> Job {
    let variable = |name: &str, value: &str| (name.to_string(), value.to_string());
    Job {
        program: r#"/opt/a b/100%/it's "x"&<y>/\%$z/backstory"#.to_string(),
        variables: vec![
            variable("BACKSTORY_HOME", "/home/ada/my store"),
            variable("CODEX_HOME", r#"/c$d%"\é"#),
        ],
        cadence: Cadence::from_minutes(90),
    }
}

#[cfg(test)]
pub(super) fn plain_job(minutes: u64) -> Job {
    Job {
        program: "/usr/bin/backstory".to_string(),
        variables: Vec::new(),
        cadence: Cadence::from_minutes(minutes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_understands_the_command_line() {
        assert_eq!(
            plain_job(60).command_line(),
            "nice -n 10 /usr/bin/backstory sweep"
        );
        let line = odd_job().command_line();
        let script = line.replace(
            "nice -n 10",
            "exec printf '%s\\n' \"$BACKSTORY_HOME\" \"$CODEX_HOME\"",
        );
        let script = script
            .replace("BACKSTORY_HOME=", "export BACKSTORY_HOME=")
            .replace(" CODEX_HOME=", "; export CODEX_HOME=");
        let script = script.replace(" exec", "; exec");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let job = odd_job();
        let expected = format!(
            "{}\n{}\n{}\nsweep\n",
            job.variables[0].1, job.variables[1].1, job.program
        );
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            expected,
            "{script}"
        );
    }
}
