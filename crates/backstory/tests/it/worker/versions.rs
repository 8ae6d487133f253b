//! Workers of different versions in one home. Another version is this program with another number in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Worker, info};
use crate::environment::Environment;

/// A copy of the program that takes itself for another version.
#[cfg(target_os = "linux")]
fn other_version(environment: &Environment, version: &str) -> PathBuf {
    let mark = format!("backstory-version:{}", env!("CARGO_PKG_VERSION"));
    let other = format!("backstory-version:{version}");
    assert_eq!(mark.len(), other.len(), "only bytes can be changed");
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_backstory")).unwrap();
    let found: Vec<usize> = memchr::memmem::find_iter(&program, mark.as_bytes()).collect();
    assert!(!found.is_empty());
    for at in found {
        program[at..at + other.len()].copy_from_slice(other.as_bytes());
    }
    let path = environment.write(version, program);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn start(environment: &Environment, program: &Path) -> Worker {
    let template = environment.command(&["worker", "start", "--json"]);
    let mut command = Command::new(program);
    command.args(template.get_args()).env_clear();
    for (name, value) in template.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    Worker::of(command)
}

#[test]
#[cfg(target_os = "linux")]
fn an_older_one_makes_way_and_a_newer_one_stays() {
    let environment = Environment::new();
    environment.sweep();
    let newer = other_version(&environment, "9.9.9");
    let older = other_version(&environment, "0.0.1");
    let mut first = start(&environment, &older);
    assert_eq!(first.told["version"], "0.0.1");
    assert_eq!(first.health()["version"], "0.0.1");
    let mut second = Worker::start(&environment);
    assert!(second.serves());
    assert!(first.ended().success());
    assert_eq!(second.health()["pid"], second.told["pid"]);
    let mut again = start(&environment, &older);
    assert!(!again.serves());
    assert_eq!(again.told["version"], env!("CARGO_PKG_VERSION"));
    assert!(again.ended().success());
    let third = start(&environment, &newer);
    assert!(third.serves());
    assert!(second.ended().success());
    let mut again = Worker::start(&environment);
    assert!(!again.serves());
    assert!(again.ended().success());
    assert_eq!(info(&environment).unwrap()["version"], "9.9.9");
    // One of another version is not asked, for it may mean other things by the same words.
    let before = third.health()["requests"].as_u64().unwrap();
    assert_eq!(environment.run(&["search", "anything"]).code, 1);
    assert_eq!(third.health()["requests"].as_u64(), Some(before + 1));
    assert_eq!(environment.json(&["worker", "stop"])["stopped"], true);
}
