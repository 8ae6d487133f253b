//! launchd: an agent of the user.

use std::path::PathBuf;

use backstory_memory::trusted::read_settings;

use super::call::{call, demand, refusal, succeeds};
use super::job::Job;
use super::{Installed, Scheduler};
use crate::cadence::Cadence;
use crate::error::Error;
use crate::setting::Setting;

const LABEL: &str = "backstory.sweep";

pub(super) struct Launchd {
    plist: PathBuf,
}

impl Launchd {
    pub(super) fn new(setting: &Setting) -> Self {
        let folder = setting.home.join("Library").join("LaunchAgents");
        Launchd {
            plist: folder.join(format!("{LABEL}.plist")),
        }
    }
}

impl Scheduler for Launchd {
    fn name(&self) -> &'static str {
        "launchd"
    }

    fn is_there(&self) -> bool {
        succeeds("launchctl", &["version"])
    }

    fn find(&self, job: &Job) -> Result<Option<Installed>, Error> {
        let Ok(Some(text)) = read_settings(&self.plist) else {
            return Ok(None);
        };
        Ok(Some(Installed {
            cadence: interval(&text).map(|cadence| cadence.to_string()),
            command: arguments(&text),
            up_to_date: text == property_list(job),
            active: is_loaded()?,
            files: vec![self.plist.clone()],
            last_run: None,
            next_run: None,
        }))
    }

    fn install(&self, job: &Job) -> Result<(), Error> {
        backstory_memory::write_whole(&self.plist, property_list(job).as_bytes())?;
        // launchd keeps what it has read until it is told to forget it.
        unload()?;
        demand(
            "launchctl",
            &["bootstrap", &domain()?, &self.plist.to_string_lossy()],
            b"",
        )
    }

    fn remove(&self) -> Result<bool, Error> {
        if !self.plist.exists() {
            return Ok(false);
        }
        unload()?;
        std::fs::remove_file(&self.plist)?;
        Ok(true)
    }
}

/// Makes launchd forget the job. It ends a running sweep first and may say that this is not done yet, so what counts is whether
/// the job is gone in the end.
fn unload() -> Result<(), Error> {
    if !is_loaded()? {
        return Ok(());
    }
    let told = demand("launchctl", &["bootout", &target()?], b"");
    for _ in 0..50 {
        if !is_loaded()? {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    told
}

fn is_loaded() -> Result<bool, Error> {
    Ok(succeeds("launchctl", &["print", &target()?]))
}

fn target() -> Result<String, Error> {
    Ok(format!("{}/{LABEL}", domain()?))
}

/// The user's sessions, as launchd names them.
fn domain() -> Result<String, Error> {
    match call("id", &["-u"], b"")? {
        Some(output) if output.status.success() => Ok(format!(
            "gui/{}",
            String::from_utf8_lossy(&output.stdout).trim()
        )),
        Some(output) => Err(refusal("id", &["-u"], &output)),
        None => Err(Error::usage("there is no program id here")),
    }
}

fn property_list(job: &Job) -> String {
    let string = |text: &str| format!("<string>{}</string>", escaped(text));
    let mut variables = String::new();
    if !job.variables.is_empty() {
        variables.push_str("\t<key>EnvironmentVariables</key>\n\t<dict>\n");
        for (name, value) in &job.variables {
            variables.push_str(&format!("\t\t<key>{name}</key>\n\t\t{}\n", string(value)));
        }
        variables.push_str("\t</dict>\n");
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Made by `backstory schedule install`. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{LABEL}</string>
	<key>ProgramArguments</key>
	<array>
		{}
		<string>sweep</string>
	</array>
{variables}	<key>StartInterval</key>
	<integer>{}</integer>
	<key>RunAtLoad</key>
	<true/>
	<key>Nice</key>
	<integer>10</integer>
	<key>LowPriorityIO</key>
	<true/>
	<key>ProcessType</key>
	<string>Background</string>
</dict>
</plist>
"#,
        string(&job.program),
        job.cadence.minutes() * 60
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// How often a property list of ours runs.
fn interval(text: &str) -> Option<Cadence> {
    let (_, after) = text.split_once("<key>StartInterval</key>")?;
    let (seconds, _) = after
        .trim_start()
        .strip_prefix("<integer>")?
        .split_once('<')?;
    Some(Cadence::from_minutes(seconds.parse::<u64>().ok()? / 60))
}

/// What a property list of ours runs, as it stands there.
fn arguments(text: &str) -> Option<String> {
    let (_, after) = text.split_once("<key>ProgramArguments</key>")?;
    let (array, _) = after.split_once("</array>")?;
    let words = array
        .split("<string>")
        .skip(1)
        .filter_map(|word| word.split_once("</string>"));
    let words: Vec<&str> = words.map(|(word, _)| word).collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::job::{odd_job, plain_job};
    use super::*;

    #[test]
    fn property_lists_run_the_job() {
        let text = property_list(&plain_job(60));
        assert!(!text.contains("EnvironmentVariables"), "{text}");
        assert_eq!(interval(&text).unwrap().to_string(), "1h");
        assert_eq!(arguments(&text).unwrap(), "/usr/bin/backstory sweep");
    }

    #[test]
    fn property_lists_escape_what_xml_would_read() {
        let text = property_list(&odd_job());
        for line in [
            r#"<string>/opt/a b/100%/it's "x"&amp;&lt;y&gt;/\%$z/backstory</string>"#,
            "<key>BACKSTORY_HOME</key>",
            "<string>/home/ada/my store</string>",
            r#"<string>/c$d%"\é</string>"#,
            "<integer>5400</integer>",
        ] {
            assert!(
                text.lines().any(|found| found.trim() == line),
                "no line {line} in\n{text}"
            );
        }
    }
}
