//! Whatever others could have put somewhere is refused, and what is ours is not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs::{create_dir, metadata, set_permissions, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;

use nix::unistd::geteuid;

use super::*;

/// A user that is not the one of this process.
const NOBODY: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    metadata(path).unwrap().mode() & 0o777
}

/// Gives a file away; `false` when this process may not.
fn give_away(path: &Path) -> bool {
    geteuid().is_root() && chown(path, Some(NOBODY), Some(NOBODY)).is_ok()
}

struct Trial {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn trial() -> Trial {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_path_buf();
    Trial {
        _folder: folder,
        root,
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(opened: io::Result<T>, reason: &str) {
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(reason), "{error}");
}

#[test]
fn only_regular_files_of_ours_that_nobody_else_can_write_are_opened() {
    let trial = trial();
    let file = trial.root.join("file");
    write(&file, "ours").unwrap();
    for (mode, privacy, reason) in [
        (0o600, Privacy::Private, ""),
        (0o644, Privacy::OnlyWeWrite, ""),
        (0o644, Privacy::Private, "others can read it (mode 644)"),
        (
            0o646,
            Privacy::OnlyWeWrite,
            "others can write it (mode 646)",
        ),
        (
            0o666,
            Privacy::OnlyWeWrite,
            "others can write it (mode 666)",
        ),
    ] {
        set_mode(&file, mode);
        let opened = open_file(&file, privacy);
        if reason.is_empty() {
            opened.unwrap();
        } else {
            assert_refused(opened, reason);
        }
    }
    set_mode(&file, 0o600);
    let link = trial.root.join("link");
    symlink(&file, &link).unwrap();
    assert_refused(open_file(&link, Privacy::OnlyWeWrite), "symbolic link");
    open_regular(&link).unwrap();
    assert_refused(
        open_file(&trial.root, Privacy::OnlyWeWrite),
        "not a regular file",
    );
    let missing = open_file(&trial.root.join("missing"), Privacy::OnlyWeWrite).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    if give_away(&file) {
        assert_refused(
            open_file(&file, Privacy::OnlyWeWrite),
            "belongs to user 65534",
        );
    }
}

#[test]
fn a_fifo_is_refused_without_waiting_for_whoever_writes_to_it() {
    let trial = trial();
    let fifo = trial.root.join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_refused(open_file(&fifo, Privacy::OnlyWeWrite), "not a regular file");
    assert_refused(open_regular(&fifo), "not a regular file");
    let folder = Folder::open(&trial.root, Privacy::OnlyWeWrite).unwrap();
    assert_refused(
        folder.open_file("fifo".as_ref(), Privacy::OnlyWeWrite),
        "not a regular file",
    );
}

/// With a umask of 002 all files are writable by the group, and that group has nobody else in it.
#[test]
fn a_group_is_trusted_only_if_it_is_the_users_own() {
    let trial = trial();
    let file = trial.root.join("file");
    write(&file, "ours").unwrap();
    set_mode(&file, 0o664);
    if !geteuid().is_root() {
        return;
    }
    chown(&file, None, Some(0)).unwrap();
    open_file(&file, Privacy::OnlyWeWrite).unwrap();
    chown(&file, None, Some(NOBODY)).unwrap();
    assert_refused(
        open_file(&file, Privacy::OnlyWeWrite),
        "others can write it (mode 664)",
    );
}

#[test]
fn a_folder_is_opened_only_if_it_is_no_link_and_nobody_else_gets_in() {
    let trial = trial();
    let (folder, link) = (trial.root.join("folder"), trial.root.join("link"));
    create_dir(&folder).unwrap();
    set_mode(&folder, 0o700);
    symlink(&folder, &link).unwrap();
    Folder::open(&folder, Privacy::Private).unwrap();
    assert_refused(Folder::open(&link, Privacy::Private), "symbolic link");
    Folder::open_typed(&link, Privacy::Private).unwrap();
    set_mode(&folder, 0o755);
    assert_refused(Folder::open(&folder, Privacy::Private), "mode 755");
    Folder::open(&folder, Privacy::OnlyWeWrite).unwrap();
    set_mode(&folder, 0o757);
    assert_refused(Folder::open(&folder, Privacy::OnlyWeWrite), "mode 757");
    set_mode(&folder, 0o700);
    if give_away(&folder) {
        assert_refused(Folder::open(&folder, Privacy::Private), "user 65534");
    }
}

#[test]
fn a_wide_folder_of_ours_is_narrowed_with_all_that_is_in_it() {
    for mode in [0o755, 0o777, 0o750, 0o701] {
        let trial = trial();
        let store = trial.root.join("store");
        create_dir(&store).unwrap();
        create_dir(store.join("inner")).unwrap();
        write(store.join("file"), "").unwrap();
        write(store.join("inner/file"), "").unwrap();
        symlink("/nowhere", store.join("link")).unwrap();
        set_mode(&store.join("inner/file"), 0o666);
        set_mode(&store, mode);
        make_private_folder(&store, |_| true).unwrap();
        assert_eq!(mode_of(&store), 0o700);
        assert_eq!(mode_of(&store.join("inner")), 0o700);
        assert_eq!(mode_of(&store.join("file")), 0o600);
        assert_eq!(mode_of(&store.join("inner/file")), 0o600);
    }
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_left_as_it_is() {
    let trial = trial();
    let (store, link) = (trial.root.join("store"), trial.root.join("link"));
    create_dir(&store).unwrap();
    set_mode(&store, 0o777);
    symlink(&store, &link).unwrap();
    if !give_away(&store) {
        return;
    }
    for path in [&store, &link] {
        assert_refused(make_private_folder(path, |_| true), "belongs to user 65534");
        assert_refused(
            check_private_folder(path, |_| true),
            "belongs to user 65534",
        );
        assert_refused(check_owner(path), "belongs to user 65534");
    }
    assert_eq!(mode_of(&store), 0o777);
}

/// Else a planted database or journal would count as ours as soon as the mode does not show any more that others could plant it.
#[test]
fn a_wide_folder_with_a_file_of_somebody_else_is_refused_again_and_again() {
    let trial = trial();
    let store = trial.root.join("store");
    create_dir(&store).unwrap();
    create_dir(store.join("inner")).unwrap();
    let planted = store.join("inner/planted");
    write(&planted, "").unwrap();
    set_mode(&store, 0o777);
    if !give_away(&planted) {
        return;
    }
    for _ in 0..2 {
        assert_refused(
            make_private_folder(&store, |_| true),
            "inner/planted in it belongs to",
        );
    }
    std::fs::remove_file(planted).unwrap();
    make_private_folder(&store, |_| true).unwrap();
}

#[test]
fn a_link_of_somebody_else_leads_to_no_store() {
    let trial = trial();
    let (store, link) = (trial.root.join("store"), trial.root.join("link"));
    make_private_folder(&store, |_| true).unwrap();
    symlink(&store, &link).unwrap();
    make_private_folder(&link, |_| true).unwrap();
    let given =
        geteuid().is_root() && std::os::unix::fs::lchown(&link, Some(NOBODY), Some(NOBODY)).is_ok();
    if given {
        assert_refused(
            make_private_folder(&link, |_| true),
            "belongs to user 65534",
        );
    }
}

#[test]
fn a_socket_counts_only_in_a_private_folder() {
    let trial = trial();
    let socket = trial.root.join("s");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    set_mode(&trial.root, 0o700);
    check_socket(&socket).unwrap();
    set_mode(&trial.root, 0o755);
    assert_refused(check_socket(&socket), "mode 755");
    set_mode(&trial.root, 0o700);
    write(trial.root.join("f"), "").unwrap();
    assert_refused(check_socket(&trial.root.join("f")), "not a socket");
    if give_away(&socket) {
        assert_refused(check_socket(&socket), "belongs to user 65534");
    }
}

/// A home or the root folder that somebody took for a store must not be closed to all others.
#[test]
fn a_wide_folder_with_other_things_in_it_is_refused_and_left_as_it_is() {
    let trial = trial();
    let home = trial.root.join("home");
    create_dir(&home).unwrap();
    write(home.join("backstory.db"), "").unwrap();
    write(home.join("letter.txt"), "").unwrap();
    set_mode(&home, 0o755);
    let is_expected = crate::is_store_entry;
    assert_refused(make_private_folder(&home, is_expected), "letter.txt");
    // Others cannot write it, so it can be read.
    check_private_folder(&home, is_expected).unwrap();
    set_mode(&home, 0o757);
    assert_refused(check_private_folder(&home, is_expected), "letter.txt");
    assert_eq!(mode_of(&home), 0o757);
    std::fs::remove_file(home.join("letter.txt")).unwrap();
    make_private_folder(&home, is_expected).unwrap();
}
