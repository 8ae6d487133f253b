//! Several writers, killed writers, links and permissions.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Barrier};

use backstory_columnar::{Error, SessionFile, WriteOptions, is_in_use, write_sessions};

use crate::support::{Place, session};

#[test]
fn writers_of_one_file_wait_for_each_other() {
    let place = Arc::new(Place::new());
    let barrier = Arc::new(Barrier::new(8));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let (place, barrier) = (Arc::clone(&place), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                for number in 0..5 {
                    place.write(vec![session(&format!("{writer}-{number}"), 3)]);
                }
            })
        })
        .collect();
    writers
        .into_iter()
        .for_each(|writer| writer.join().unwrap());
    assert_eq!(place.open().session_ids().unwrap().len(), 40);
    assert_eq!(
        fs::read_dir(place.folder()).unwrap().count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn a_writer_waits_until_a_file_is_not_locked() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    let holder = fs::File::open(place.file()).unwrap();
    holder.lock().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| place.write(vec![session("b", 1)]));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!writer.is_finished());
        assert_eq!(place.open().session_ids().unwrap(), ["a"]);
        drop(holder);
    });
    assert_eq!(place.open().session_ids().unwrap(), ["a", "b"]);
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    fs::write(
        place.folder().join(".sessions.h5.backstory-new"),
        b"\x89HDF half",
    )
    .unwrap();
    fs::write(place.folder().join(".sessions.h5.backstory-lock"), "").unwrap();
    place.write(vec![session("b", 1)]);
    assert_eq!(place.open().session_ids().unwrap(), ["a", "b"]);
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1);
}

#[test]
fn a_failure_leaves_the_old_file() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    let before = fs::read(place.file()).unwrap();
    let sessions = [
        Ok(session("b", 1)),
        Err(Error::Input("the store is closed".into())),
    ];
    let error =
        write_sessions(&place.file(), "test", sessions, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "the store is closed");
    assert_eq!(fs::read(place.file()).unwrap(), before);
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1);
}

#[test]
fn sessions_of_other_agents_and_ids_are_not_merged() {
    let place = Place::new();
    place.write(vec![session("a", 2)]);
    let before = fs::read(place.file()).unwrap();
    // Placed when the file had no session of that name.
    let (mut agent, mut id) = (session("a", 3), session("a", 3));
    agent.attributes.agent = "other".into();
    id.attributes.session_id_original = Some("b".into());
    for other in [agent, id] {
        let options = WriteOptions::default();
        let error = write_sessions(&place.file(), "test", [Ok(other)], &options).unwrap_err();
        assert!(error.to_string().contains("try again"), "{error}");
        assert_eq!(fs::read(place.file()).unwrap(), before);
    }
}

#[test]
fn a_symbolic_link_is_followed() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    let link = place.folder().join("link.h5");
    symlink(place.file(), &link).unwrap();
    write_sessions(
        &link,
        "test",
        [Ok(session("b", 1))],
        &WriteOptions::default(),
    )
    .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(place.open().session_ids().unwrap(), ["a", "b"]);
    let dangling = place.folder().join("dangling.h5");
    symlink(place.folder().join("nowhere"), &dangling).unwrap();
    let error = write_sessions(
        &dangling,
        "test",
        [Ok(session("b", 1))],
        &WriteOptions::default(),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("symbolic link to a file that does not exist"),
        "{error}"
    );
}

#[test]
fn what_is_in_the_way_is_refused_at_once() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    let before = fs::read(place.file()).unwrap();
    for name in [".sessions.h5.backstory-new", ".sessions.h5.backstory-lock"] {
        let path = place.folder().join(name);
        let plants: [fn(&Path); 3] = [
            |path| make_pipe(path),
            |path| symlink("/dev/null", path).unwrap(),
            |path| fs::create_dir(path).unwrap(),
        ];
        for plant in plants {
            plant(&path);
            let options = WriteOptions::default();
            let error = write_sessions(&place.file(), "test", [Ok(session("b", 1))], &options)
                .unwrap_err()
                .to_string();
            assert!(error.contains("not a regular file owned by you"), "{error}");
            assert!(error.contains(name), "{error}");
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
    }
    assert_eq!(fs::read(place.file()).unwrap(), before);
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 1);
    let pipe = place.folder().join("pipe.h5");
    make_pipe(&pipe);
    assert!(!is_in_use(&pipe));
    let options = WriteOptions::default();
    let error = write_sessions(&pipe, "test", [Ok(session("b", 1))], &options).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    let error = SessionFile::open(&pipe).err().unwrap();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_missing_folder_is_named() {
    let place = Place::new();
    let path = place.folder().join("none/sessions.h5");
    let options = WriteOptions::default();
    let error = write_sessions(&path, "test", [Ok(session("a", 1))], &options).unwrap_err();
    assert!(error.to_string().contains("there is no folder"), "{error}");
}

#[test]
fn permissions_stay() {
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o600)).unwrap();
    place.write(vec![session("b", 1)]);
    assert_eq!(
        fs::metadata(place.file()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(SessionFile::open(&place.file()).is_ok());
}

#[test]
#[cfg(unix)]
fn owner_and_group_stay() {
    use std::os::unix::fs::{MetadataExt, chown};
    let place = Place::new();
    place.write(vec![session("a", 1)]);
    // Only root may give a file away.
    if chown(place.file(), Some(65_534), Some(60)).is_err() {
        return;
    }
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o640)).unwrap();
    place.write(vec![session("b", 1)]);
    let found = fs::metadata(place.file()).unwrap();
    let access = (found.uid(), found.gid(), found.mode() & 0o777);
    assert_eq!(access, (65_534, 60, 0o640));
}
