//! cron: a marked block at the beginning of the user's crontab. There no line before it sets variables for it, and it can be
//! taken out again without touching a byte of what follows, whatever its line endings.

use std::ops::Range;

use super::call::{call, demand, refusal};
use super::job::Job;
use super::{Installed, Scheduler};
use crate::cadence::Cadence;
use crate::error::Error;

const OPEN: &str = "# >>> backstory schedule, every ";
const CLOSE: &str = "# <<< backstory schedule";

pub(super) struct Cron;

impl Scheduler for Cron {
    fn name(&self) -> &'static str {
        "cron"
    }

    fn is_there(&self) -> bool {
        matches!(call("crontab", &["-l"], b""), Ok(Some(_)))
    }

    fn find(&self, job: &Job) -> Result<Option<Installed>, Error> {
        let crontab = read()?;
        let Some(place) = block(&crontab)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&crontab[place]);
        let mut lines = text.lines();
        let cadence = lines.next().and_then(|line| line.strip_prefix(OPEN));
        let command = lines.next().and_then(|line| line.splitn(6, ' ').last());
        Ok(Some(Installed {
            cadence: cadence.map(str::to_string),
            command: command.map(str::to_string),
            up_to_date: text == lines_for(job),
            active: true,
            files: Vec::new(),
            last_run: None,
            next_run: None,
        }))
    }

    fn install(&self, job: &Job) -> Result<(), Error> {
        let mut crontab = read()?;
        let place = block(&crontab)?.unwrap_or(0..0);
        crontab.splice(place, lines_for(job).into_bytes());
        write(&crontab)
    }

    fn remove(&self) -> Result<bool, Error> {
        let mut crontab = read()?;
        let Some(place) = block(&crontab)? else {
            return Ok(false);
        };
        crontab.drain(place);
        write(&crontab)?;
        Ok(true)
    }
}

/// The whole crontab; empty when there is none, or no cron.
fn read() -> Result<Vec<u8>, Error> {
    let Some(output) = call("crontab", &["-l"], b"")? else {
        return Ok(Vec::new());
    };
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    // Anything else may hide a crontab, which must not be overwritten.
    if said.contains("no crontab") || said.contains("no such file") {
        return Ok(Vec::new());
    }
    Err(refusal("crontab", &["-l"], &output))
}

fn write(crontab: &[u8]) -> Result<(), Error> {
    if crontab.is_empty() {
        return demand("crontab", &["-r"], b"");
    }
    demand("crontab", &["-"], crontab)
}

/// Where our block is, its last newline included.
fn block(crontab: &[u8]) -> Result<Option<Range<usize>>, Error> {
    let (mut opens, mut closes) = (Vec::new(), Vec::new());
    let mut start = 0;
    for line in crontab.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(OPEN.as_bytes()) {
            opens.push(start);
        } else if line.starts_with(CLOSE.as_bytes()) {
            closes.push(start + line.len());
        }
        start += line.len();
    }
    match (opens.as_slice(), closes.as_slice()) {
        ([], []) => Ok(None),
        ([open], [close]) if open < close => Ok(Some(*open..*close)),
        _ => Err(
            Error::usage("the lines of backstory in your crontab are damaged").hint(
                "remove them with `crontab -e`: those from `# >>> backstory` to `# <<< backstory`",
            ),
        ),
    }
}

fn lines_for(job: &Job) -> String {
    let (cadence, times) = times(job.cadence);
    // cron cuts the line at a percent sign unless a backslash is before it; two backslashes before it do not help, so the quotes
    // are closed and opened between a backslash and a percent sign of the path.
    let command = job
        .command_line()
        .replace(r"\%", r"\''%")
        .replace('%', r"\%");
    format!("{OPEN}{cadence}\n{times} {command} >/dev/null\n{CLOSE}\n")
}

/// The nearest cadence that cron can keep and that is no rarer, and how cron writes it.
fn times(cadence: Cadence) -> (Cadence, String) {
    let largest_divisor = |whole: u64, most: u64| {
        (1..=most)
            .rev()
            .find(|part| whole.is_multiple_of(*part))
            .unwrap_or(1)
    };
    let (minutes, times) = match cadence.minutes() {
        // At noon, for at midnight laptops sleep.
        1440.. => (1440, "0 12 * * *".to_string()),
        minutes @ 120.. => {
            let hours = largest_divisor(24, minutes / 60);
            (hours * 60, format!("0 */{hours} * * *"))
        }
        60.. => (60, "0 * * * *".to_string()),
        minutes => {
            let minutes = largest_divisor(60, minutes);
            (minutes, format!("*/{minutes} * * * *"))
        }
    };
    (Cadence::from_minutes(minutes), times)
}

#[cfg(test)]
mod tests {
    use super::super::job::{odd_job, plain_job};
    use super::*;

    #[test]
    fn cron_keeps_the_nearest_cadence_that_is_no_rarer() {
        for (minutes, cadence, expect) in [
            (5, "5m", "*/5 * * * *"),
            (7, "6m", "*/6 * * * *"),
            (45, "30m", "*/30 * * * *"),
            (60, "1h", "0 * * * *"),
            (90, "1h", "0 * * * *"),
            (120, "2h", "0 */2 * * *"),
            (5 * 60, "4h", "0 */4 * * *"),
            (23 * 60, "12h", "0 */12 * * *"),
            (1440, "1d", "0 12 * * *"),
            (7 * 1440, "1d", "0 12 * * *"),
        ] {
            let (kept, times) = times(Cadence::from_minutes(minutes));
            assert_eq!(
                (kept.to_string().as_str(), times.as_str()),
                (cadence, expect)
            );
        }
    }

    #[test]
    fn the_block_runs_the_job() {
        assert_eq!(
            lines_for(&plain_job(60)),
            "# >>> backstory schedule, every 1h\n0 * * * * nice -n 10 /usr/bin/backstory sweep >/dev/null\n# <<< backstory schedule\n"
        );
        // What cron hands to the shell is the command line as a shell wants it.
        let text = lines_for(&odd_job());
        let line = text
            .lines()
            .nth(1)
            .and_then(|line| line.strip_prefix("0 * * * * "))
            .unwrap();
        let handed = what_cron_hands_on(line);
        let expected = odd_job().command_line().replace(r"\%", r"\''%");
        assert_eq!(handed, format!("{expected} >/dev/null"));
    }

    /// As cron does it: a percent sign ends the command, unless a backslash that is not itself escaped is before it.
    fn what_cron_hands_on(line: &str) -> String {
        let mut handed = String::new();
        let mut escaped = false;
        for character in line.chars() {
            match (escaped, character) {
                (true, '%') => {
                    handed.pop();
                }
                (false, '%') => break,
                _ => {}
            }
            handed.push(character);
            escaped = !escaped && character == '\\';
        }
        handed
    }

    #[test]
    fn blocks_are_found_or_refused() {
        let check = |crontab: &str, expect: Result<Option<&str>, ()>| {
            let found = block(crontab.as_bytes()).map(|place| place.map(|place| &crontab[place]));
            assert_eq!(found.map_err(|_| ()), expect, "{crontab}");
        };
        let ours = lines_for(&plain_job(60));
        check("", Ok(None));
        check("0 1 * * * x", Ok(None));
        check(&format!("a\r\n{ours}b"), Ok(Some(&ours)));
        check(&format!("{ours}{ours}"), Err(()));
        check(&format!("{OPEN}1h\nx"), Err(()));
        check(&format!("{CLOSE}\n{OPEN}1h\n"), Err(()));
    }
}
