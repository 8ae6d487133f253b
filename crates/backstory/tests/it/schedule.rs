//! Schedules, with small scripts in place of the system's programs: what they were asked is what matters here, and no test may
//! touch the real ones.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::environment::{Environment, Outcome};

/// Answers as a working manager of the user does; remembers what is enabled.
const SYSTEMCTL: &str = r#"
case "$2" in
  show-environment) exit 0 ;;
  enable) : > "$STATE/enabled" ;;
  disable) /bin/rm -f "$STATE/enabled" ;;
  is-active|is-enabled) test -e "$STATE/enabled" || exit 3 ;;
  list-timers) echo '[{"next":1800000000000000,"left":1,"last":1700000000000000,"passed":1,"unit":"backstory-sweep.timer"}]' ;;
esac
exit 0"#;
const LAUNCHCTL: &str = r#"
case "$1" in
  bootstrap) test -e "$STATE/loaded" && exit 5; : > "$STATE/loaded" ;;
  bootout) /bin/rm "$STATE/loaded" || exit 3 ;;
  print) test -e "$STATE/loaded" || exit 113 ;;
esac
exit 0"#;
const CRONTAB: &str = r#"
case "$1" in
  -l) test -e "$STATE/crontab" && exec /bin/cat "$STATE/crontab"; echo "no crontab for ada" >&2; exit 1 ;;
  -r) /bin/rm "$STATE/crontab" ;;
  -) /bin/cat > "$STATE/crontab" ;;
esac"#;
const BROKEN: &str = "echo 'cannot connect to the bus' >&2; exit 1";

/// A system with some programs and no others.
struct System {
    environment: Environment,
}

impl System {
    fn with(programs: &[(&str, &str)]) -> Self {
        let system = System {
            environment: Environment::new(),
        };
        std::fs::create_dir_all(system.bin()).unwrap();
        std::fs::create_dir_all(system.state()).unwrap();
        for (name, script) in programs {
            system.program(name, script);
        }
        system
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.bin().join(name);
        let log = "echo \"${0##*/} $*\" >> \"$STATE/calls\"";
        std::fs::write(&path, format!("#!/bin/sh\n{log}\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bin(&self) -> PathBuf {
        self.environment.home().join("bin")
    }

    fn state(&self) -> PathBuf {
        self.environment.home().join("state")
    }

    fn config(&self, name: &str) -> PathBuf {
        self.environment
            .home()
            .join(".config/systemd/user")
            .join(name)
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let mut command = self
            .environment
            .command(&[&["schedule"], arguments].concat());
        command.env("PATH", self.bin()).env("STATE", self.state());
        command.envs(variables.iter().copied());
        Outcome::of(&command.output().unwrap())
    }

    /// Runs a command that must succeed, and gives what it said.
    fn said(&self, action: &str) -> String {
        let outcome = self.run(&[action], &[]);
        assert_eq!(outcome.code, 0, "{action}: {}", outcome.stderr);
        outcome.stdout + &outcome.stderr
    }

    fn status(&self) -> Value {
        let outcome = self.run(&["status", "--json"], &[]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    fn configure(&self, cadence: &str) {
        let text = format!("cadence = \"{cadence}\"\n");
        self.environment
            .write(".config/backstory/config.toml", text);
    }

    /// What was asked of the system since this was last called, but for mere questions.
    fn changes(&self) -> Vec<String> {
        let path = self.state().join("calls");
        let calls = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, "").unwrap();
        let questions = [
            "show-environment",
            "is-",
            "list-timers",
            "version",
            "print",
            "-l",
            "id -u",
        ];
        let is_question = |call: &&str| questions.iter().any(|question| call.contains(question));
        calls
            .lines()
            .filter(|call| !is_question(call))
            .map(str::to_string)
            .collect()
    }
}

/// Installs, installs again, changes the cadence, and removes, as all systems must.
fn round_trip(system: &System, name: &str) {
    let before = system.status();
    assert_eq!(
        (before["system"].as_str(), before["installed"].as_bool()),
        (Some(name), Some(false))
    );
    assert!(system.said("status").contains("not installed"));
    assert!(system.changes().is_empty());

    let said = system.said("install");
    assert!(
        said.contains(&format!("{name} sweeps every 1h from now on")),
        "{said}"
    );
    assert!(!system.changes().is_empty());
    let status = system.status();
    for key in ["installed", "active", "up_to_date"] {
        assert_eq!(status[key], true, "{key} in {status}");
    }
    assert_eq!(
        (status["system"].as_str(), status["cadence"].as_str()),
        (Some(name), Some("1h"))
    );
    let command = status["command"].as_str().unwrap();
    assert!(
        command.contains("/backstory") && command.contains("sweep"),
        "{command}"
    );

    assert!(system.said("install").contains("nothing changed"));
    assert_eq!(system.changes(), Vec::<String>::new());

    system.configure("30m");
    let status = system.status();
    assert_eq!(
        (
            status["up_to_date"].as_bool(),
            status["configured"]["cadence"].as_str()
        ),
        (Some(false), Some("30m"))
    );
    assert!(
        system
            .said("status")
            .contains("differs from the configuration: every 30m")
    );
    assert!(
        system
            .said("install")
            .contains("every 30m from now on, no longer every 1h")
    );
    assert_eq!(system.status()["cadence"], "30m");

    assert!(
        system
            .said("remove")
            .contains(&format!("removed the schedule of {name}"))
    );
    assert_eq!(system.status()["installed"], false);
    system.changes();
    assert!(system.said("remove").contains("no schedule is installed"));
    assert_eq!(system.changes(), Vec::<String>::new());
}

#[test]
fn systemd_runs_a_timer_of_the_user() {
    let system = System::with(&[("systemctl", SYSTEMCTL), ("crontab", CRONTAB)]);
    round_trip(&system, "systemd");
    assert!(
        !system.config("backstory-sweep.service").exists()
            && !system.config("backstory-sweep.timer").exists()
    );
    system.said("install");
    let calls = system.changes();
    assert_eq!(
        calls,
        [
            "systemctl --user daemon-reload",
            "systemctl --user enable backstory-sweep.timer",
            "systemctl --user restart backstory-sweep.timer",
        ]
    );
    let service = std::fs::read_to_string(system.config("backstory-sweep.service")).unwrap();
    let store = system.environment.store();
    assert!(
        service.contains(&format!(
            "Environment=\"BACKSTORY_HOME={}\"\n",
            store.display()
        )),
        "{service}"
    );
    let status = system.status();
    assert_eq!(status["last_run"], "2023-11-14T22:13:20.000Z");
    assert_eq!(status["next_run"], "2027-01-15T08:00:00.000Z");
    // Stopped by hand: installing again starts it.
    std::fs::remove_file(system.state().join("enabled")).unwrap();
    assert_eq!(system.status()["active"], false);
    system.said("install");
    assert_eq!(system.status()["active"], true);
}

#[test]
fn launchd_runs_an_agent() {
    let system = System::with(&[
        ("launchctl", LAUNCHCTL),
        ("crontab", CRONTAB),
        ("id", "echo 501"),
    ]);
    round_trip(&system, "launchd");
    system.said("install");
    let plist = system
        .environment
        .home()
        .join("Library/LaunchAgents/backstory.sweep.plist");
    assert_eq!(
        system.changes(),
        [format!("launchctl bootstrap gui/501 {}", plist.display())]
    );
    system.said("remove");
    assert_eq!(
        system.changes(),
        ["launchctl bootout gui/501/backstory.sweep"]
    );
    assert!(!plist.exists());
    // One that is still running goes a moment later.
    let slow = "bootout) (/bin/sleep 0.3; /bin/rm \"$STATE/loaded\") >/dev/null 2>&1 & exit 36 ;;";
    let quick = "bootout) /bin/rm \"$STATE/loaded\" || exit 3 ;;";
    assert!(LAUNCHCTL.contains(quick));
    system.program("launchctl", &LAUNCHCTL.replace(quick, slow));
    system.said("install");
    system.configure("2h");
    assert!(system.said("install").contains("every 2h"));
    system.said("remove");
    assert!(!plist.exists());
}

#[test]
fn cron_runs_a_line_when_systemd_does_not_answer() {
    let system = System::with(&[("systemctl", BROKEN), ("crontab", CRONTAB)]);
    round_trip(&system, "cron");
    assert!(!system.state().join("crontab").exists());
    system.configure("90m");
    assert!(system.said("install").contains("cron cannot do every 90m"));
    assert_eq!(system.status()["up_to_date"], true);
}

#[test]
fn other_lines_of_a_crontab_stay_byte_for_byte() {
    let check = |before: &[u8]| {
        let system = System::with(&[("crontab", CRONTAB)]);
        let path = system.state().join("crontab");
        std::fs::write(&path, before).unwrap();
        system.said("install");
        system.configure("2h");
        system.said("install");
        let installed = std::fs::read(&path).unwrap();
        assert!(installed.ends_with(before) && installed.len() > before.len());
        system.said("remove");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    };
    check(b"MAILTO=ada\n0 1 * * * backup\n");
    check(b"0 1 * * * no newline at the end");
    check(b"# windows\r\n0 1 * * * date +\\%F\r\n\r\n");
    check(b"\n\n# not \xff\xfe text\n");
    // Lines that were moved around the block stay where they are.
    let system = System::with(&[("crontab", CRONTAB)]);
    let path = system.state().join("crontab");
    system.said("install");
    let block = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("A=1\r\n{block}0 2 * * * x")).unwrap();
    system.configure("2h");
    system.said("install");
    system.said("remove");
    assert_eq!(std::fs::read(&path).unwrap(), b"A=1\r\n0 2 * * * x");
}

#[test]
fn a_crontab_that_cannot_be_read_is_not_overwritten() {
    let system = System::with(&[(
        "crontab",
        "test \"$1\" = - && : > \"$STATE/written\"; echo 'not allowed' >&2; exit 1",
    )]);
    let outcome = system.run(&["install"], &[]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .stderr
            .contains("error: `crontab -l` failed: not allowed"),
        "{}",
        outcome.stderr
    );
    assert!(!system.state().join("written").exists());
    assert_eq!(system.run(&["status"], &[]).code, 2);
    assert_eq!(system.run(&["remove"], &[]).code, 2);
    // Who may not use cron can have a timer.
    system.program("systemctl", SYSTEMCTL);
    assert!(system.said("install").contains("systemd sweeps every 1h"));
    assert_eq!(system.status()["system"], "systemd");
    assert!(
        system
            .said("remove")
            .contains("removed the schedule of systemd")
    );
    assert_eq!(system.status()["installed"], false);
    // Nor one whose marks are damaged.
    let system = System::with(&[("crontab", CRONTAB)]);
    let damaged = "# >>> backstory schedule, every 1h\n0 * * * * x\n";
    std::fs::write(system.state().join("crontab"), damaged).unwrap();
    let outcome = system.run(&["install"], &[]);
    assert!(
        outcome.code == 2 && outcome.stderr.contains("hint: remove them with"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        std::fs::read_to_string(system.state().join("crontab")).unwrap(),
        damaged
    );
}

#[test]
fn without_any_scheduler_there_is_a_hint() {
    for programs in [&[][..], &[("systemctl", BROKEN)][..]] {
        let system = System::with(programs);
        let outcome = system.run(&["install"], &[]);
        assert_eq!(outcome.code, 1);
        assert!(
            outcome.stderr.contains("error: no scheduler was found"),
            "{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("hint: install cron"),
            "{}",
            outcome.stderr
        );
        let status = system.status();
        assert_eq!(
            (&status["system"], &status["installed"]),
            (&Value::Null, &Value::Bool(false))
        );
    }
}

#[test]
fn a_failed_installation_leaves_nothing() {
    let refuses = SYSTEMCTL.replace(": > \"$STATE/enabled\"", "echo refused >&2; exit 1");
    let system = System::with(&[("systemctl", &refuses)]);
    let outcome = system.run(&["install"], &[]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("refused"), "{}", outcome.stderr);
    assert!(!system.config("backstory-sweep.timer").exists());
}

#[test]
fn a_schedule_moves_to_the_scheduler_that_answers() {
    let system = System::with(&[("systemctl", BROKEN), ("crontab", CRONTAB)]);
    system.said("install");
    system.program("systemctl", SYSTEMCTL);
    assert_eq!(system.status()["system"], "cron");
    assert!(
        system
            .said("install")
            .contains("removed the schedule of cron")
    );
    assert_eq!(system.status()["system"], "systemd");
    assert!(!system.state().join("crontab").exists());
}

#[test]
fn odd_paths_are_run_as_they_are() {
    let system = System::with(&[("crontab", CRONTAB)]);
    let odd = system
        .environment
        .home()
        .join("it's 100% \"odd\" $HOME \\%/agents");
    std::fs::create_dir_all(&odd).unwrap();
    let store = odd.join("store");
    let variables = [
        ("BACKSTORY_HOME", store.to_str().unwrap()),
        ("CLAUDE_CONFIG_DIR", odd.to_str().unwrap()),
    ];
    let program = odd.join("backstory");
    std::fs::copy(env!("CARGO_BIN_EXE_backstory"), &program).unwrap();
    let mut command = std::process::Command::new(&program);
    command.args(["schedule", "install"]).env_clear();
    command
        .env("HOME", system.environment.home())
        .env("PATH", system.bin());
    command.env("STATE", system.state()).envs(variables);
    assert!(command.status().unwrap().success());
    let crontab = std::fs::read_to_string(system.state().join("crontab")).unwrap();
    let line = crontab
        .lines()
        .nth(1)
        .unwrap()
        .strip_prefix("0 * * * * ")
        .unwrap();
    // As cron hands it to the shell.
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &line.replace("\\%", "%")]).env_clear();
    shell
        .env("HOME", system.environment.home())
        .env("PATH", "/usr/bin:/bin");
    let output = shell.output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(store.join("backstory.db").exists(), "{line}");
    // What no scheduler could run is refused.
    let outcome = system.run(&["install"], &[("BACKSTORY_HOME", "/two\nlines")]);
    assert!(
        outcome.code == 2 && outcome.stderr.contains("cannot be written into a schedule"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_configuration_given_by_option_is_used_by_the_schedule() {
    let system = System::with(&[("crontab", CRONTAB)]);
    system
        .environment
        .write("other.toml", "cadence = \"15m\"\n");
    let outcome = system.run(&["install", "--config", "home/other.toml"], &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let crontab = std::fs::read_to_string(system.state().join("crontab")).unwrap();
    assert!(crontab.contains("\n*/15 * * * * "), "{crontab}");
    assert!(
        crontab.contains("/home/other.toml nice -n 10 "),
        "{crontab}"
    );
    for wrong in ["4m", "soon", "1.5h"] {
        system.configure(wrong);
        let outcome = system.run(&["status"], &[]);
        assert!(
            outcome.code == 2 && outcome.stderr.contains("is no cadence"),
            "{}",
            outcome.stderr
        );
    }
}
