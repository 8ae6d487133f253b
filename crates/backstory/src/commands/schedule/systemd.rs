//! systemd: a timer of the user's own manager.

use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_memory::trusted::read_settings;
use serde_json::Value;

use super::call::{call, demand, succeeds};
use super::job::Job;
use super::{Installed, Scheduler};
use crate::error::Error;
use crate::setting::Setting;

const SERVICE: &str = "backstory-sweep.service";
const TIMER: &str = "backstory-sweep.timer";

pub(super) struct Systemd {
    /// Where the user's units are.
    folder: PathBuf,
}

impl Systemd {
    pub(super) fn new(setting: &Setting) -> Self {
        Systemd {
            folder: setting.config_home.join("systemd").join("user"),
        }
    }

    fn units(&self) -> [PathBuf; 2] {
        [self.folder.join(SERVICE), self.folder.join(TIMER)]
    }
}

impl Scheduler for Systemd {
    fn name(&self) -> &'static str {
        "systemd"
    }

    fn is_there(&self) -> bool {
        // The program may be there while the user's manager is not, as in a container.
        succeeds("systemctl", &["--user", "show-environment"])
    }

    fn find(&self, job: &Job) -> Result<Option<Installed>, Error> {
        let units = self.units();
        let [service, timer] = units
            .each_ref()
            .map(|path| read_settings(path).ok().flatten());
        if service.is_none() && timer.is_none() {
            return Ok(None);
        }
        let up_to_date = service.as_deref() == Some(&*service_unit(job))
            && timer.as_deref() == Some(&*timer_unit(job));
        let (last_run, next_run) = runs();
        Ok(Some(Installed {
            cadence: timer.and_then(|text| value_of(&text, "OnUnitActiveSec=")),
            command: service.and_then(|text| value_of(&text, "ExecStart=")),
            up_to_date,
            active: succeeds("systemctl", &["--user", "is-active", TIMER])
                && succeeds("systemctl", &["--user", "is-enabled", TIMER]),
            files: units.into_iter().filter(|path| path.exists()).collect(),
            last_run,
            next_run,
        }))
    }

    fn install(&self, job: &Job) -> Result<(), Error> {
        let [service, timer] = self.units();
        backstory_memory::write_whole(&service, service_unit(job).as_bytes())?;
        backstory_memory::write_whole(&timer, timer_unit(job).as_bytes())?;
        demand("systemctl", &["--user", "daemon-reload"], b"")?;
        demand("systemctl", &["--user", "enable", TIMER], b"")?;
        // A running timer goes on as it was until it is started again.
        demand("systemctl", &["--user", "restart", TIMER], b"")
    }

    fn remove(&self) -> Result<bool, Error> {
        let units = self.units();
        if !units.iter().any(|path| path.exists()) {
            return Ok(false);
        }
        // Without its manager nothing runs, and the files are all there is to remove.
        let _ = call("systemctl", &["--user", "disable", "--now", TIMER], b"");
        let wanted = self.folder.join("timers.target.wants").join(TIMER);
        for path in units.iter().chain([&wanted]) {
            remove_if_there(path)?;
        }
        let _ = call("systemctl", &["--user", "daemon-reload"], b"");
        Ok(true)
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::usage(format!(
            "cannot remove {}: {error}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// When the timer ran last and runs next; systemd before 249 does not tell in JSON.
fn runs() -> (Option<TimeMs>, Option<TimeMs>) {
    let listed = call(
        "systemctl",
        &["--user", "list-timers", "--all", "--output=json", TIMER],
        b"",
    );
    let listed = listed
        .ok()
        .flatten()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let timers: Value = serde_json::from_slice(&listed).unwrap_or_default();
    // Microseconds; 0 is never.
    let time = |key: &str| {
        timers[0][key]
            .as_i64()
            .filter(|at| *at > 0)
            .map(|at| TimeMs::new(at / 1000))
    };
    (time("last"), time("next"))
}

fn value_of(unit: &str, key: &str) -> Option<String> {
    unit.lines()
        .find_map(|line| line.strip_prefix(key))
        .map(str::to_string)
}

fn service_unit(job: &Job) -> String {
    let variables: String = job
        .variables
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "# Made by `backstory schedule install`.\n\
         [Unit]\nDescription=Take in what is new in the logs of coding agents\n\n\
         [Service]\nType=oneshot\nExecStart={}\n{variables}Nice=10\nIOSchedulingClass=idle\n",
        command(&job.program)
    )
}

fn command(program: &str) -> String {
    // systemd takes no program whose path has one of these, but passes them on as arguments.
    if program.contains(['"', '\'', '\\']) {
        let program = quoted(program).replace('$', "$$");
        return format!("/bin/sh -c 'exec \"$$0\" sweep' {program}");
    }
    format!("{} sweep", quoted(program))
}

fn timer_unit(job: &Job) -> String {
    // A start in the past makes the timer run at once when it is installed.
    format!(
        "# Made by `backstory schedule install`.\n\
         [Unit]\nDescription=Take in what is new in the logs of coding agents\n\n\
         [Timer]\nOnStartupSec=2min\nOnUnitActiveSec={}\n\n\
         [Install]\nWantedBy=timers.target\n",
        job.cadence
    )
}

/// A word in a unit. A dollar stays: it means nothing in Environment=, nor in the path of the program.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::super::job::{odd_job, plain_job};
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        for line in expect {
            assert!(
                text.lines().any(|found| found == *line),
                "no line {line} in\n{text}"
            );
        }
    }

    #[test]
    fn units_run_the_job() {
        let expect = [
            r#"ExecStart="/usr/bin/backstory" sweep"#,
            "Nice=10",
            "IOSchedulingClass=idle",
            "Type=oneshot",
        ];
        check(&service_unit(&plain_job(60)), &expect);
        check(
            &timer_unit(&plain_job(60)),
            &["OnUnitActiveSec=1h", "WantedBy=timers.target"],
        );
        check(&timer_unit(&plain_job(90)), &["OnUnitActiveSec=90m"]);
    }

    #[test]
    fn units_quote_what_systemd_would_expand() {
        let expect = [
            r#"ExecStart=/bin/sh -c 'exec "$$0" sweep' "/opt/a b/100%%/it's \"x\"&<y>/\\%%$$z/backstory""#,
            r#"Environment="BACKSTORY_HOME=/home/ada/my store""#,
            r#"Environment="CODEX_HOME=/c$d%%\"\\é""#,
        ];
        check(&service_unit(&odd_job()), &expect);
        assert_eq!(command("/a b/$c/100%"), r#""/a b/$c/100%%" sweep"#);
    }
}
