//! Nothing in a repository runs, and nothing in it makes a command hang.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::environment::{Environment, feed, prompt, record};

/// Settings of a repository that name programs; `EVIL` stands for one.
const SETTINGS: &str = "
    filter.x.clean=EVIL filter.x.smudge=EVIL filter.x.process=EVIL diff.x.command=EVIL diff.x.textconv=EVIL
    diff.external=EVIL difftool.x.cmd=EVIL merge.x.driver=EVIL mergetool.x.cmd=EVIL core.fsmonitor=EVIL
    core.hooksPath=HOOKS core.pager=EVIL pager.ls-files=EVIL pager.diff-tree=EVIL core.editor=EVIL
    sequence.editor=EVIL core.askPass=EVIL core.sshCommand=EVIL core.gitProxy=EVIL core.alternateRefsCommand=EVIL
    credential.helper=!EVIL credential.https://example.org.helper=!EVIL gpg.program=EVIL gpg.openpgp.program=EVIL
    gpg.x509.program=EVIL gpg.ssh.program=EVIL gpg.ssh.defaultKeyCommand=EVIL alias.status=!EVIL alias.ls-files=!EVIL
    alias.rev-list=!EVIL interactive.diffFilter=EVIL remote.origin.uploadpack=EVIL remote.origin.receivepack=EVIL
    remote.origin.vcs=evil uploadpack.packObjectsHook=EVIL trailer.x.cmd=EVIL trailer.x.command=EVIL
    tar.x.command=EVIL sendemail.sendmailCmd=EVIL browser.x.cmd=EVIL submodule.module.update=!EVIL hook.x.command=EVIL
    include.path=included diff.tool=EVIL instaweb.httpd=EVIL web.browser=EVIL guitool.x.cmd=EVIL man.x.cmd=EVIL
    imap.tunnel=EVIL
";

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "pre-push",
    "query-watchman",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// A home, a repository in it with history and something changed, and a program that leaves a mark when it runs.
struct Trap {
    environment: Environment,
    root: PathBuf,
    evil: PathBuf,
    sessions: u32,
    _worker: std::fs::File,
}

impl Trap {
    fn new() -> Self {
        let environment = Environment::new();
        std::fs::create_dir_all(environment.home().join("shop")).unwrap();
        environment.sweep();
        // So that no worker starts.
        let worker = std::fs::File::create(environment.store().join("worker.lock")).unwrap();
        worker.lock().unwrap();
        worker
            .set_permissions(std::fs::Permissions::from_mode(0o600))
            .unwrap();
        let root = std::fs::canonicalize(environment.home().join("shop")).unwrap();
        let mut trap = Trap {
            evil: root.join("evil.sh"),
            environment,
            root,
            sessions: 0,
            _worker: worker,
        };
        trap.git(&["init", "--quiet", "--initial-branch=fix", "."]);
        let lines: String = (0..20)
            .map(|line| format!("fn line_{line}() {{}}\n"))
            .collect();
        trap.write("old.rs", &lines);
        trap.write(".gitattributes", "* filter=x diff=x merge=x\n");
        trap.commit();
        trap.git(&["mv", "old.rs", "a.rs"]);
        trap.write("a.rs", &format!("{lines}fn more() {{}}\n"));
        trap.commit();
        trap.sign_last_commit();
        // As long as before, and modified so shortly after the index was written that git reads it.
        trap.write("a.rs", &format!("{lines}fn most() {{}}\n"));
        trap.write(".git/info/attributes", "* filter=x diff=x merge=x\n");
        let mark = trap.mark();
        let script = format!("#!/bin/sh\necho \"$0\" >>'{}'\n", mark.display());
        trap.write_program("evil.sh", &script);
        for hook in HOOKS {
            trap.write_program(&format!(".git/hooks/{hook}"), &script);
        }
        trap.sessions = 1;
        trap
    }

    fn mark(&self) -> PathBuf {
        self.root.parent().unwrap().join("ran")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn write_program(&self, path: &str, text: &str) {
        self.write(path, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.root.join(path), mode).unwrap();
    }

    /// Git as it would run without any care.
    fn careless(&self, folder: &Path, arguments: &[&str]) -> std::process::Output {
        Command::new("git")
            .current_dir(folder)
            .env("HOME", self.environment.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn git(&self, arguments: &[&str]) {
        let output = self.careless(&self.root, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "one"]);
    }

    /// A signature that is none, which is enough for it to be checked.
    fn sign_last_commit(&self) {
        let commit = self.careless(&self.root, &["cat-file", "commit", "HEAD"]);
        let commit = String::from_utf8(commit.stdout).unwrap();
        let signature =
            "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----";
        let signed = commit.replacen("\n\n", &format!("\n{signature}\n\n"), 1);
        self.write("../commit", &signed);
        let written = ["hash-object", "-t", "commit", "-w", "../commit"];
        let id = self.careless(&self.root, &written).stdout;
        let id = String::from_utf8(id).unwrap();
        self.git(&["update-ref", "HEAD", id.trim()]);
    }

    /// Adds settings to a configuration of the repository.
    fn set(&self, config: &str, settings: &[&str]) {
        for setting in settings {
            let (key, value) = setting.split_once('=').unwrap();
            let value = value.replace("EVIL", &self.evil.to_string_lossy());
            let hooks = self.root.join(".git/hooks");
            let value = value.replace("HOOKS", &hooks.to_string_lossy());
            let set = ["config", "--file", config, key, &value];
            let output = self.careless(&self.root, &set);
            assert!(output.status.success(), "{setting}");
        }
    }

    /// The programs that ran since the last call.
    fn ran(&self) -> String {
        let ran = std::fs::read_to_string(self.mark()).unwrap_or_default();
        let _ = std::fs::remove_file(self.mark());
        ran
    }

    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.environment.command(arguments);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(folder);
        command
    }

    /// Runs all commands that look at repositories in a folder, and imports a session that was there.
    fn run_commands(&mut self, folder: &Path) {
        self.run_commands_with(folder, |_| {});
    }

    /// Whether the context names the changed file. Git has little time, and tests run on busy machines.
    fn sees_change(&self, folder: &Path, change: impl Fn(&mut Command)) -> bool {
        (0..20).any(|_| {
            let mut context = self.command(folder, &["context"]);
            change(&mut context);
            let outcome = feed(&mut context, b"");
            outcome
                .stdout
                .contains("edited a.rs for \"round the totals\"")
        })
    }

    fn run_commands_with(&mut self, folder: &Path, change: impl Fn(&mut Command)) {
        let number = self.sessions;
        self.sessions += 1;
        let folder_text = folder.to_str().unwrap();
        let input = json!({"file_path": format!("{folder_text}/a.rs"), "old_string": "more", "new_string": "most"});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("call-{number}"), "name": "Edit", "input": input}]});
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("call-{number}"), "content": "The file has been updated."}]});
        let lines = [
            prompt(number, number * 10, "round the totals"),
            record(number, number * 10 + 1, "assistant", &call),
            record(number, number * 10 + 2, "user", &result),
        ];
        let lines = lines.map(|line| line.replace("/home/ada/shop", folder_text));
        self.environment.claude(number, &lines);
        let started = json!({"session_id": "new", "cwd": folder, "hook_event_name": "SessionStart", "source": "startup"});
        let started = started.to_string();
        let commands: [(&[&str], &str); 7] = [
            (&["sweep"], ""),
            (
                &["hook", "SessionStart", "--agent", "claude-code"],
                &started,
            ),
            (&["blame", "a.rs"], ""),
            (&["map", "."], ""),
            (&["changes"], ""),
            (&["calls", "line_1"], ""),
            (&["context"], ""),
        ];
        for (arguments, input) in commands {
            let mut command = self.command(folder, arguments);
            change(&mut command);
            let outcome = feed(&mut command, input.as_bytes());
            // Nothing found is an answer too; `blame` refuses what is no file.
            let known = [0, 1].contains(&outcome.code) || arguments[0] == "blame";
            assert!(known, "{arguments:?}: {} {}", outcome.code, outcome.stderr);
        }
    }
}

#[test]
fn no_setting_of_a_repository_runs_a_program() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let config = std::fs::read(root.join(".git/config")).unwrap();
    let mut careless = Vec::new();
    for setting in SETTINGS.split_whitespace() {
        std::fs::write(root.join(".git/config"), &config).unwrap();
        trap.set(".git/config", &["log.showSignature=true", setting]);
        trap.write(
            ".git/included",
            &format!("[core]\n\tfsmonitor = {}\n", trap.evil.display()),
        );
        trap.ran();
        trap.run_commands(&root);
        assert_eq!(trap.ran(), "", "{setting}");
        // Without care some of them do run.
        for arguments in [
            &["status"][..],
            &["log", "--patch", "--follow", "a.rs"],
            &["diff"],
        ] {
            trap.careless(&root, arguments);
        }
        if !trap.ran().is_empty() {
            careless.push(setting);
        }
    }
    for setting in [
        "filter.x.clean=EVIL",
        "core.fsmonitor=EVIL",
        "gpg.program=EVIL",
        "diff.x.textconv=EVIL",
        "include.path=included",
    ] {
        assert!(careless.contains(&setting), "{setting}: {careless:?}");
    }
}

#[test]
fn hostile_settings_do_not_keep_git_from_answering() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let settings = SETTINGS.split_whitespace();
    let settings: Vec<&str> = settings
        .filter(|setting| !setting.starts_with("include"))
        .collect();
    trap.set(".git/config", &settings);
    trap.set(
        ".git/config",
        &[
            "log.showSignature=true",
            "core.bare=true",
            "core.worktree=/",
        ],
    );
    trap.run_commands(&root);
    assert!(trap.sees_change(&root, |_| {}));
    assert_eq!(trap.ran(), "");
}

#[test]
fn variables_for_git_and_programs_of_the_repository_are_not_used() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let script = std::fs::read_to_string(&trap.evil).unwrap();
    for name in ["git", "bin/git", "sh", "bin/sh", "bin/cat", "bin/false"] {
        trap.write_program(name, &script);
    }
    let path = format!(".::bin:{}/bin:/usr/local/bin:/usr/bin:/bin", root.display());
    let evil = trap.evil.clone();
    let change = |command: &mut Command| {
        command.env("PATH", &path).env("GIT_DIR", "/nowhere");
        command
            .env("GIT_INDEX_FILE", "/nowhere")
            .env("GIT_WORK_TREE", "/");
        command.env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "core.fsmonitor");
        command.env("GIT_CONFIG_VALUE_0", &evil);
        for name in [
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "PAGER",
            "GIT_EDITOR",
            "GIT_ASKPASS",
            "SSH_ASKPASS",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_PROXY_COMMAND",
            "EDITOR",
        ] {
            command.env(name, &evil);
        }
    };
    trap.run_commands_with(&root, change);
    assert!(trap.sees_change(&root, change));
    assert_eq!(trap.ran(), "");
    let careless = Command::new("git")
        .current_dir(&root)
        .env("PATH", format!("{}/bin", root.display()))
        .output();
    assert!(careless.is_ok() && !trap.ran().is_empty());
}

#[test]
fn submodules_and_worktrees_run_nothing() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let module = root.join("module");
    let inner = trap.root.parent().unwrap().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("a.rs"), "fn one() {}\n").unwrap();
    for arguments in [
        &["init", "--quiet", "."][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "one"],
    ] {
        assert!(trap.careless(&inner, arguments).status.success());
    }
    let inner = inner.to_string_lossy();
    let allow = "protocol.file.allow=always";
    trap.git(&["-c", allow, "submodule", "--quiet", "add", &inner, "module"]);
    trap.git(&["commit", "--quiet", "--message", "module"]);
    std::fs::write(module.join("a.rs"), "fn two() {}\n").unwrap();
    let evil = [
        "filter.x.clean=EVIL",
        "core.fsmonitor=EVIL",
        "core.hooksPath=HOOKS",
    ];
    trap.set(".git/modules/module/config", &evil);
    trap.write(".git/modules/module/info/attributes", "* filter=x\n");

    let worktree = trap.root.parent().unwrap().join("worktree");
    let worktree_text = worktree.to_string_lossy();
    trap.git(&["worktree", "add", "--quiet", "-b", "other", &worktree_text]);
    trap.set(".git/config", &["extensions.worktreeConfig=true"]);
    trap.set(".git/worktrees/worktree/config.worktree", &evil);
    std::fs::write(worktree.join("a.rs"), "fn two() {}\n").unwrap();

    trap.ran();
    for folder in [&root, &module, &worktree] {
        trap.run_commands(folder);
        assert_eq!(trap.ran(), "", "{}", folder.display());
        trap.careless(folder, &["status"]);
        assert_ne!(trap.ran(), "", "{}", folder.display());
    }
}

#[test]
fn a_partial_clone_fetches_nothing() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let url = format!("url=ext::{} %S", trap.evil.display());
    trap.set(
        ".git/config",
        &[
            "core.repositoryFormatVersion=1",
            "extensions.partialClone=origin",
            "remote.origin.promisor=true",
            &format!("remote.origin.{url}"),
            "protocol.ext.allow=always",
        ],
    );
    let tree = trap
        .careless(&root, &["rev-parse", "HEAD^{tree}", "HEAD~1:old.rs"])
        .stdout;
    let objects = String::from_utf8(tree).unwrap();
    for object in objects.lines() {
        let (folder, name) = object.split_at(2);
        std::fs::remove_file(root.join(".git/objects").join(folder).join(name)).unwrap();
    }
    trap.ran();
    trap.run_commands(&root);
    assert_eq!(trap.ran(), "");
    trap.careless(&root, &["diff-index", "--cached", "HEAD"]);
    assert_ne!(trap.ran(), "");
}

/// What a log names can have been put there by anybody.
#[test]
fn recorded_folders_with_pipes_do_not_hold_up_an_import() {
    let mut trap = Trap::new();
    let folder = trap.root.parent().unwrap().join("recorded");
    let pipe = |path: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    };
    pipe("piped/.git");
    pipe("config/.git/config");
    pipe("config/.git/HEAD");
    pipe("linked/target/commondir");
    std::fs::write(folder.join("linked/.git"), "gitdir: target\n").unwrap();
    pipe("ignored/.gitignore");
    pipe("ignored/sub/.ignore");
    pipe("source/a.rs");
    std::fs::create_dir_all(folder.join("endless/.git")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("endless/.gitignore")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("endless/.git/config")).unwrap();
    for name in ["piped", "config", "linked", "source"] {
        trap.run_commands(&folder.join(name));
    }
    for name in ["ignored", "ignored/sub", "endless"] {
        std::fs::write(folder.join(name).join("b.rs"), "fn one() {}\n").unwrap();
        let outcome = feed(&mut trap.command(&folder.join(name), &["map", "."]), b"");
        let warned = outcome.stderr.contains("not a regular file");
        assert!(warned, "{name}: {} {}", outcome.code, outcome.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_repository_that_git_waits_for_leaves_no_process_behind() {
    let mut trap = Trap::new();
    let root = trap.root.clone();
    let pipe = root.join(".git/pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let config = format!("[include]\n\tpath = {}\n", pipe.display());
    std::fs::write(root.join(".git/config"), config).unwrap();
    trap.run_commands(&root);
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    let left: Vec<String> = lines
        .filter(|line| line.contains(root.to_str().unwrap()))
        .collect();
    assert_eq!(left, [""; 0]);
}

/// A blocked signal stays blocked in every program that is started, which may never expect that.
#[cfg(target_os = "linux")]
#[test]
fn git_inherits_neither_blocked_nor_ignored_signals() {
    let trap = Trap::new();
    let programs = trap.environment.home().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let seen = trap.environment.home().join("signals");
    let real = installed_git();
    let script = format!(
        // Without another process: shells block signals for a moment when they start one.
        "#!/bin/sh\nwhile read line; do case \"$line\" in SigBlk*|SigIgn*) echo \"$line\" >>'{}' ;; esac; done </proc/$$/status\n\
         exec '{}' \"$@\"\n",
        seen.display(),
        real.display()
    );
    let git = programs.join("git");
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let input = json!({"session_id": "00000009-0000-4000-8000-000000000000", "source": "startup",
        "cwd": trap.root, "hook_event_name": "SessionStart"});
    let mut hook = trap
        .environment
        .command(&["hook", "SessionStart", "--agent", "claude-code"]);
    feed(
        hook.env("PATH", &path).current_dir(&trap.root),
        input.to_string().as_bytes(),
    );
    let mut context = trap.environment.command(&["context"]);
    context
        .env("PATH", &path)
        .current_dir(&trap.root)
        .output()
        .unwrap();
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(seen.lines().count() > 1, "git was not asked");
    // Whoever runs the tests may ignore some.
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = |name: &str| {
        let line = own.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap()
    };
    const SIGPIPE: u64 = 1 << 12;
    // Signals 32 and 33 are the C library's own.
    const STANDARD_SIGNALS: u64 = (1 << 31) - 1;
    for line in seen.lines() {
        let (name, mask) = line.split_once(':').unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        assert_eq!(mask & STANDARD_SIGNALS & !own(name) & !SIGPIPE, 0, "{line}");
    }
}

/// Path of the git on this machine.
#[cfg(target_os = "linux")]
fn installed_git() -> PathBuf {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
    let found = folders.iter().map(|folder| Path::new(folder).join("git"));
    found.into_iter().find(|path| path.exists()).unwrap()
}
