//! `worker`.

use std::time::Duration;

use backstory_event::TimeMs;
use serde_json::{Value, json};

use crate::cli::{WorkerAction, WorkerArgs};
use crate::error::Error;
use crate::output::{counted, local_time, print_json, say, short_bytes};
use crate::setting::Setting;
use crate::worker::{Scope, StopOutcome, WorkerInfo, go_round, start, start_daemon, state, stop};

pub(super) fn run(setting: Setting, arguments: &WorkerArgs) -> Result<(), Error> {
    let json = arguments.json;
    match arguments.action {
        WorkerAction::Start { daemon: true, .. } => {
            let (info, is_new) = start_daemon(&setting)?;
            print_started(&info, is_new, json)
        }
        WorkerAction::Start {
            detached,
            idle_seconds,
            ..
        } => {
            let idle = Duration::from_secs(idle_seconds);
            start(setting, detached, idle, |info, is_new| {
                print_started(info, is_new, json)
            })
        }
        WorkerAction::Round { queue } => {
            let scope = if queue {
                Scope::Queue
            } else {
                Scope::Everything
            };
            match go_round(&setting, scope)? {
                true => Ok(()),
                false => Err(Error::silent()),
            }
        }
        WorkerAction::Stop => {
            let stopped = stop(&setting)?;
            if json {
                return print_json(&json!({
                    "stopped": stopped != StopOutcome::NotRunning,
                    "killed": stopped == StopOutcome::Killed,
                }));
            }
            say(match stopped {
                StopOutcome::NotRunning => "the worker is not running",
                StopOutcome::Left => "the worker has left",
                StopOutcome::Killed => "the worker did not answer and was killed",
            })
        }
        WorkerAction::Status => status(&setting, json),
    }
}

fn print_started(info: &WorkerInfo, is_new: bool, json: bool) -> Result<(), Error> {
    if json {
        let mut value = info_json(info);
        value["started"] = is_new.into();
        return print_json(&value);
    }
    let (pid, version) = (info.pid, &info.version);
    say(&if is_new {
        format!("the worker is process {pid}, at {}", info.socket.display())
    } else {
        format!("a worker is running already: process {pid}, version {version}")
    })
}

fn status(setting: &Setting, json: bool) -> Result<(), Error> {
    let Some(running) = state(setting)? else {
        if json {
            print_json(&json!({"running": false}))?;
        } else {
            say("the worker is not running; `backstory worker start --daemon` starts it")?;
        }
        return Err(Error::silent());
    };
    let health = running.health.unwrap_or_default();
    if json {
        let mut value = running.info.as_ref().map_or_else(|| json!({}), info_json);
        value["running"] = true.into();
        value["answering"] = (!health.is_null()).into();
        for name in ["uptime_seconds", "requests", "connections", "rss_bytes"] {
            value[name] = health[name].clone();
        }
        return print_json(&value);
    }
    let Some(info) = running.info else {
        return say("the worker is just starting or leaving");
    };
    let started = info.started_at.parse::<jiff::Timestamp>();
    let since = local_time(started.ok().map(|at| TimeMs::new(at.as_millisecond())));
    say(&format!(
        "the worker is process {}, version {}, since {since}",
        info.pid, info.version
    ))?;
    say(&info.socket.display().to_string())?;
    let Some(requests) = health["requests"].as_u64() else {
        return say("it does not answer; `backstory worker stop` ends it");
    };
    let memory = health["rss_bytes"].as_u64();
    let memory = memory.map_or(String::new(), |bytes| {
        format!(", {} of memory", short_bytes(bytes))
    });
    say(&format!("{}{memory}", counted(requests, "request")))
}

fn info_json(info: &WorkerInfo) -> Value {
    json!({
        "pid": info.pid,
        "version": info.version,
        "socket": info.socket,
        "started_at": info.started_at,
    })
}
