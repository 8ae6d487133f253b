use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::changed::changed_files;
use super::process::{Deadline, Git};
use super::{ChangedFiles, Repository, earlier_names, head_branch, worktree_root};

struct TestRepository {
    folder: tempfile::TempDir,
}

impl TestRepository {
    fn new(options: &[&str]) -> Self {
        let repository = TestRepository {
            folder: tempfile::tempdir().unwrap(),
        };
        let init = ["init", "--quiet", "--initial-branch=main", "."];
        repository.git(&[&init, options].concat());
        repository
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        run_git(&self.root(), arguments);
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "one"]);
    }

    fn changed(&self) -> Vec<String> {
        changed_in(&self.root())
    }
}

fn run_git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
}

/// Without the limit of a session's start, for tests run on busy machines.
fn changed_in(root: &Path) -> Vec<String> {
    changed_files(root, &Deadline::after(Duration::from_secs(60)))
}

fn an_hour_later(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let later = SystemTime::now() + Duration::from_secs(3600);
    file.set_modified(later).unwrap();
}

#[test]
fn changed_files_are_modified_deleted_staged_and_untracked_ones() {
    for options in [
        &[][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
    ] {
        let repository = TestRepository::new(options);
        for name in [
            "same",
            "grown",
            "rewritten",
            "gone",
            "staged",
            "touched",
            "é b",
        ] {
            repository.write(&format!("src/{name}.rs"), "fn one() {}\n");
        }
        repository.write(".gitignore", "*.log\n");
        repository.commit();
        assert_eq!(repository.changed(), [""; 0], "{options:?}");

        repository.write("src/grown.rs", "fn one() {}\nfn two() {}\n");
        repository.write("src/rewritten.rs", "fn two() {}\n");
        repository.write("src/é b.rs", "");
        std::fs::remove_file(repository.root().join("src/gone.rs")).unwrap();
        an_hour_later(&repository.root().join("src/touched.rs"));
        repository.write("src/staged.rs", "fn three() {}\n");
        repository.git(&["add", "src/staged.rs"]);
        repository.write("src/new.rs", "");
        repository.write("src/a.log", "");
        repository.write("folder/inner.rs", "");
        repository.write("intended.rs", "fn one() {}\n");
        repository.git(&["add", "--intent-to-add", "intended.rs"]);
        let expected = [
            "intended.rs",
            "src/gone.rs",
            "src/grown.rs",
            "src/new.rs",
            "src/rewritten.rs",
            "src/staged.rs",
            "src/é b.rs",
        ];
        assert_eq!(repository.changed(), expected, "{options:?}");
        assert_eq!(head_branch(&repository.root()).as_deref(), Some("main"));
    }
}

#[test]
fn files_that_the_worktree_says_nothing_about_are_unchanged() {
    let inner = TestRepository::new(&[]);
    inner.write("lib.rs", "");
    inner.commit();
    let repository = TestRepository::new(&[]);
    for path in ["kept/a.rs", "left/b.rs", "assumed.rs", "linked"] {
        repository.write(path, "fn one() {}\n");
    }
    let link = repository.root().join("link.rs");
    std::os::unix::fs::symlink("kept/a.rs", &link).unwrap();
    let inner_root = inner.root().to_string_lossy().into_owned();
    repository.git(&["submodule", "--quiet", "add", &inner_root, "module"]);
    repository.commit();
    repository.git(&["update-index", "--split-index"]);
    repository.git(&["sparse-checkout", "set", "--sparse-index", "kept"]);
    repository.git(&["update-index", "--assume-unchanged", "assumed.rs"]);
    repository.write("assumed.rs", "fn one_and_more() {}\n");
    repository.write("module/lib.rs", "fn changed() {}\n");
    assert!(!repository.root().join("left/b.rs").exists());
    assert_eq!(repository.changed(), [""; 0]);
    // A file in place of the link, and a folder in place of a file.
    std::fs::remove_file(&link).unwrap();
    repository.write("link.rs", "kept/a.rs");
    std::fs::remove_file(repository.root().join("linked")).unwrap();
    repository.write("linked/b.rs", "");
    assert_eq!(repository.changed(), ["link.rs", "linked"]);
    // The submodule is a worktree of its own.
    assert_eq!(changed_in(&repository.root().join("module")), ["lib.rs"]);
}

#[test]
fn conflicts_and_linked_worktrees_are_seen() {
    let repository = TestRepository::new(&[]);
    repository.write("a.rs", "one\n");
    repository.commit();
    let fix = repository.folder.path().join("fix");
    let fix_text = fix.to_string_lossy();
    repository.git(&["worktree", "add", "--quiet", "-b", "fix", &fix_text]);
    std::fs::write(fix.join("a.rs"), "two\n").unwrap();
    assert_eq!(changed_in(&fix), ["a.rs"]);
    assert_eq!(head_branch(&fix).as_deref(), Some("fix"));
    let found = Repository::find_around(&fix).unwrap();
    assert_eq!(found.root, repository.root());
    run_git(&fix, &["commit", "--quiet", "--all", "--message", "two"]);
    repository.write("a.rs", "three\n");
    repository.git(&["commit", "--quiet", "--all", "--message", "three"]);
    let merge = Command::new("git")
        .current_dir(repository.root())
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(["merge", "fix"])
        .output()
        .unwrap();
    assert!(!merge.status.success());
    assert_eq!(repository.changed(), ["a.rs"]);
}

#[test]
fn a_file_is_followed_through_several_renames() {
    let repository = TestRepository::new(&[]);
    let lines: String = (0..20)
        .map(|line| format!("fn line_{line}() {{}}\n"))
        .collect();
    // Names that git could take for a pattern, an option or a status.
    for name in [":(glob)**", "--all", "R100", "src/pay.rs"] {
        match name {
            ":(glob)**" => repository.write(name, &lines),
            _ => {
                let old = ["R100", "--all", ":(glob)**"];
                let old = old.iter().find(|old| repository.root().join(old).exists());
                std::fs::create_dir_all(repository.root().join("src")).unwrap();
                let root = repository.root();
                std::fs::rename(root.join(old.unwrap()), root.join(name)).unwrap();
                repository.write("other.rs", name);
            }
        }
        repository.commit();
    }
    repository.write("src/pay.rs", &format!("{lines}fn more() {{}}\n"));
    repository.commit();
    let pair = |old: &str, new: &str| (old.to_string(), new.to_string());
    let expected = [
        pair("R100", "src/pay.rs"),
        pair("--all", "R100"),
        pair(":(glob)**", "--all"),
    ];
    assert_eq!(earlier_names(&repository.root(), "src/pay.rs"), expected);
    assert_eq!(earlier_names(&repository.root(), "other.rs"), []);
    assert_eq!(earlier_names(&repository.root(), "absent.rs"), []);
}

#[test]
fn broken_repositories_have_no_changed_files() {
    type Break = fn(&Path);
    let cases: [(&str, Break); 7] = [
        ("truncated index", |git| {
            let index = std::fs::read(git.join("index")).unwrap();
            std::fs::write(git.join("index"), &index[..10]).unwrap();
        }),
        ("garbage in HEAD", |git| {
            std::fs::write(git.join("HEAD"), b"\xff\0garbage").unwrap();
        }),
        ("no HEAD", |git| {
            std::fs::remove_file(git.join("HEAD")).unwrap();
        }),
        ("syntax error in the configuration", |git| {
            std::fs::write(git.join("config"), "[core\nx").unwrap();
        }),
        ("unknown format", |git| {
            let config = "[core]\nrepositoryformatversion = 99\n";
            std::fs::write(git.join("config"), config).unwrap();
        }),
        ("no objects", |git| {
            std::fs::remove_dir_all(git.join("objects")).unwrap();
        }),
        ("link to nowhere", |git| {
            std::fs::remove_dir_all(git).unwrap();
            std::fs::write(git, "gitdir: /dev/zero\n").unwrap();
        }),
    ];
    for (name, break_it) in cases {
        let repository = TestRepository::new(&[]);
        repository.write("a.rs", "one\n");
        repository.commit();
        repository.write("a.rs", "two and three\n");
        assert_eq!(repository.changed(), ["a.rs"]);
        break_it(&repository.root().join(".git"));
        assert_eq!(repository.changed(), [""; 0], "{name}");
        assert_eq!(earlier_names(&repository.root(), "a.rs"), [], "{name}");
    }
}

#[test]
fn another_worktree_in_the_configuration_does_not_count() {
    let repository = TestRepository::new(&[]);
    repository.write("etc/passwd", "one\n");
    repository.commit();
    repository.git(&["config", "core.worktree", "/"]);
    assert_eq!(repository.changed(), [""; 0]);
    repository.write("etc/passwd", "two and three\n");
    assert_eq!(repository.changed(), ["etc/passwd"]);
}

/// A folder with the files of a repository, as one can be committed, is none.
#[test]
fn a_bare_repository_in_a_folder_is_not_used() {
    let repository = TestRepository::new(&[]);
    repository.write("a.rs", "one\n");
    repository.commit();
    let bare = repository.root().join("bare");
    std::fs::rename(repository.root().join(".git"), &bare).unwrap();
    assert_eq!(worktree_root(&bare), None);
    assert_eq!(changed_in(&bare), [""; 0]);
}

#[test]
fn pipes_and_devices_in_place_of_files_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let pipe = |path: PathBuf| {
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    };
    let git = root.join("piped/.git");
    std::fs::create_dir_all(root.join("piped")).unwrap();
    pipe(git.clone());
    assert_eq!(worktree_root(&root.join("piped")), None);
    assert!(Repository::find_around(&root.join("piped")).is_none());
    std::fs::remove_file(&git).unwrap();
    std::fs::create_dir(&git).unwrap();
    pipe(git.join("HEAD"));
    std::os::unix::fs::symlink("/dev/zero", git.join("config")).unwrap();
    let found = Repository::find_around(&root.join("piped")).unwrap();
    assert_eq!((found.remote_url(), head_branch(&found.root)), (None, None));
    // Links of worktrees to pipes, devices and far too long names.
    let linked = root.join("linked");
    std::fs::create_dir(&linked).unwrap();
    let target = root.join("target");
    std::fs::create_dir(&target).unwrap();
    pipe(target.join("commondir"));
    let long = "x".repeat(1 << 20);
    for text in [
        "gitdir: ../target",
        "gitdir: /dev/zero",
        "gitdir: /dev/stdin",
        &format!("gitdir: {long}"),
        "gitdir: a\0b",
    ] {
        std::fs::write(linked.join(".git"), text).unwrap();
        assert_eq!(head_branch(&linked), None);
        let found = Repository::find_around(&linked);
        assert_eq!(found.and_then(|found| found.remote_url()), None);
    }
    // A worktree that git itself would wait for.
    let repository = TestRepository::new(&[]);
    let include = pipe(repository.root().join(".git/include"));
    let include = include.to_string_lossy();
    let config = format!("[include]\n\tpath = {include}\n");
    std::fs::write(repository.root().join(".git/config"), config).unwrap();
    let files = ChangedFiles::find_in(repository.root());
    assert_eq!(files.paths(), [""; 0]);
}

#[cfg(target_os = "linux")]
/// Processes whose command line has this text.
fn processes_with(text: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(text))
        .count()
}

#[cfg(target_os = "linux")]
/// What was killed is listed until the system has done it.
fn wait_for_no_process_with(text: &str) {
    let is_gone = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        processes_with(text) == 0
    });
    assert!(is_gone, "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn commands_that_hang_are_ended_with_all_that_they_started() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    // An alias of the repository, for nothing else is left that runs a program.
    let marker = format!("{}/hanging", root.display());
    let script = format!("!sh -c 'sleep 1000; : {marker}' & sleep 1000; : {marker}");
    let git = Git::in_worktree(&root).unwrap();
    let alias = format!("alias.hang={script}");
    let mut hanging = git.start(&["-c", alias.as_str(), "hang"]).unwrap();
    let mut output = Vec::new();
    while processes_with(&marker) < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let deadline = Deadline::after(Duration::from_millis(20));
    assert!(!hanging.read_more(&deadline, &mut output));
    drop(hanging);
    wait_for_no_process_with(&marker);
    // Whoever does not wait for an answer leaves no process behind either.
    let include = root.join(".git/include");
    nix::unistd::mkfifo(&include, nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for folder in ["refs", "objects"] {
        std::fs::create_dir(root.join(".git").join(folder)).unwrap();
    }
    let config = format!("[include]\n\tpath = {}\n", include.display());
    std::fs::write(root.join(".git/config"), config).unwrap();
    let unasked = ChangedFiles::find_in(root.clone());
    while processes_with(root.to_str().unwrap()) == 0 && unasked.is_running() {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(unasked);
    wait_for_no_process_with(root.to_str().unwrap());
}

#[test]
fn git_is_not_started_where_it_would_read_without_end() {
    use std::os::unix::fs::symlink;
    let repository = TestRepository::new(&[]);
    repository.write("a.txt", "1");
    repository.commit();
    let git = repository.root().join(".git");
    assert!(Git::in_worktree(&repository.root()).is_some());
    for name in [
        "HEAD",
        "config",
        "index",
        "packed-refs",
        "shallow",
        "commondir",
        "info/grafts",
        "info/exclude",
        "objects/info/alternates",
        "refs/heads/main",
    ] {
        let (path, aside) = (git.join(name), git.join("aside"));
        let was_there = std::fs::rename(&path, &aside).is_ok();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        for target in ["/dev/zero", "/dev/null"] {
            symlink(target, &path).unwrap();
            assert!(Git::in_worktree(&repository.root()).is_none(), "{name}");
            std::fs::remove_file(&path).unwrap();
        }
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Git::in_worktree(&repository.root()).is_none(), "{name}");
        std::fs::remove_file(&path).unwrap();
        if was_there {
            std::fs::rename(&aside, &path).unwrap();
        }
        assert!(Git::in_worktree(&repository.root()).is_some(), "{name}");
    }
    // A list that another list leads to, and lists that lead to each other.
    let alternates = git.join("objects/info/alternates");
    let other = repository.root().join("other/info");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(&alternates, "../../other\n").unwrap();
    assert!(Git::in_worktree(&repository.root()).is_some());
    std::fs::write(other.join("alternates"), "../.git/objects\n").unwrap();
    assert!(Git::in_worktree(&repository.root()).is_none());
    std::fs::remove_file(other.join("alternates")).unwrap();
    symlink("/dev/zero", other.join("alternates")).unwrap();
    assert!(Git::in_worktree(&repository.root()).is_none());
}

#[test]
#[cfg(target_os = "linux")]
fn memory_of_git_is_limited() {
    let repository = TestRepository::new(&[]);
    let git = Git::in_worktree(&repository.root()).unwrap();
    let alias = "alias.limits=!sleep 0.2; grep 'Max data' /proc/$PPID/limits";
    let limits = git.start(&["-c", alias, "limits"]).unwrap();
    let limits = limits.read_all(&Deadline::after(Duration::from_secs(20)), 4096);
    let limits = String::from_utf8(limits).unwrap();
    assert!(limits.contains("2147483648"), "{limits}");
}
