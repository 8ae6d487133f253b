//! The Python package and h5py read and extend our files, and we theirs.

use backstory_columnar::{SessionFile, WriteOptions, unpack_logs, write_sessions};

use crate::support::{Place, run_python, session};

fn with_embeddings(id: &str, rows: u32) -> backstory_columnar::SessionColumns {
    let mut columns = session(id, rows);
    for (number, row) in columns.messages.iter_mut().enumerate().skip(1).step_by(3) {
        row.embedding = Some(vec![number as f32, 1.0, -1.0, 0.5]);
    }
    columns
}

#[test]
fn every_dataset_is_as_the_package_writes_it() {
    let place = Place::new();
    let mut large = with_embeddings("large", 700);
    large.messages[5].text = "x".repeat(200_000);
    place.write(vec![with_embeddings("a", 70), large, session("b", 3)]);
    let out = run_python("package_equal.py", &[&place.file(), place.folder()]);
    assert!(out.is_none_or(|out| out.trim().parse::<u32>().unwrap() > 60));
}

#[test]
fn the_package_appends_and_a_rebuild_keeps_what_it_added() {
    let place = Place::new();
    // Enough sessions for a symbol table.
    place.write(
        (0..40)
            .map(|number| session(&format!("session-{number}"), 2))
            .chain([with_embeddings("a", 100)])
            .collect(),
    );
    let Some(out) = run_python("package_append.py", &[&place.file()]) else {
        return;
    };
    assert_eq!(out.trim(), r#"{"a": [400, 120], "new": [300, 70]}"#);
    let check = || {
        let file = place.open();
        let summaries = file.sessions().unwrap();
        assert_eq!(summaries.len(), 42);
        let added = summaries.iter().find(|summary| summary.id == "a").unwrap();
        assert_eq!(
            (
                added.messages,
                added.tool_calls,
                added.artifacts,
                added.attributes.summary.as_str()
            ),
            (400, 120, 2, "changed")
        );
        let read = file.session("a").unwrap().read().unwrap();
        assert_eq!(read.messages[..100], with_embeddings("a", 100).messages);
        assert_eq!(
            (read.messages[399].text.as_str(), read.messages[399].seq),
            ("added 299", 0)
        );
        assert_eq!(
            read.messages[399].embedding.as_deref(),
            Some(&[299.0; 4][..])
        );
        assert_eq!(read.logs[0].bytes, session("a", 100).logs[0].bytes);
        assert_eq!(read.attributes.other.len(), 3);
    };
    check();
    place.write(vec![session("another", 1)]);
    run_python("carried_over.py", &[&place.file()]);
    let mut again = with_embeddings("a", 100);
    again.attributes.summary.clear();
    place.write(vec![again]);
    run_python("carried_over.py", &[&place.file()]);
}

#[test]
fn files_of_the_package_are_read() {
    let place = Place::new();
    let folder = place.folder().to_owned();
    if run_python("package_write.py", &[&folder]).is_none() {
        return;
    }
    for (name, messages, calls, tokens) in [
        ("converted.h5", 500, 250, 124_750),
        ("live.h5", 500, 249, 124_750),
        ("open.h5", 300, 300, 300),
        ("reopened.h5", 300, 200, 20_000),
    ] {
        let file = SessionFile::open(&folder.join(name)).unwrap();
        let summary = file.sessions().unwrap().remove(0);
        assert_eq!(
            (
                summary.messages,
                summary.tool_calls,
                summary.usage.input_tokens
            ),
            (messages, calls, tokens),
            "{name}"
        );
        let tail = file.session("s").unwrap().tail(2).unwrap();
        let last = messages - 1;
        assert_eq!(tail[1].uuid, format!("u{last}"), "{name}");
        assert!(tail[1].text.starts_with(&format!("text {last}")), "{name}");
        let read = file.session("s").unwrap().read().unwrap();
        assert_eq!(
            (read.messages.len() as u64, read.tool_calls.len() as u64),
            (messages, calls),
            "{name}"
        );
    }
    let converted = SessionFile::open(&folder.join("converted.h5")).unwrap();
    let attributes = converted.session("s").unwrap().attributes().unwrap();
    assert_eq!(
        (
            attributes.cwd.as_str(),
            attributes.session_id_original.as_deref()
        ),
        ("/work", Some("original"))
    );
    // One that was killed before it wrote anything may be unreadable, which is told.
    if let Err(error) =
        SessionFile::open(&folder.join("killed.h5")).and_then(|file| file.sessions())
    {
        assert!(error.to_string().contains("killed.h5"), "{error}");
    }
}

#[test]
fn what_cannot_be_carried_over_is_refused_before_anything_is_written() {
    let cases = [
        ("f['kind'] = h5py.string_dtype()", "named datatypes"),
        (
            "f['sessions/a'].create_dataset('links', data=f['sessions'].ref, dtype=h5py.ref_dtype)",
            "refer to other objects",
        ),
        (
            "f['sessions/a'].attrs['link'] = f['sessions'].ref",
            "attribute \"link\" cannot be written",
        ),
        (
            "f['sessions/a/latest'] = h5py.SoftLink('/sessions/a/messages')",
            "/sessions/a cannot be carried over: \"latest\" in it is a soft link",
        ),
        (
            "f['sessions/a/away'] = h5py.ExternalLink('other.h5', '/sessions')",
            "\"away\" in it is an external link",
        ),
        (
            "f['sessions/a/messages/uuid'].attrs['table'] = [[1, 2], [3, 4]]",
            "/sessions/a/messages/uuid cannot be carried over: its attribute \"table\" has several dimensions",
        ),
        (
            "f['sessions'].attrs['table'] = [['a', 'b']]",
            "attribute \"table\"",
        ),
        // Many links and attributes, which are stored in a heap or a symbol table.
        (
            "g = f.create_group('many')\nfor n in range(900): g.create_dataset(f'{n:0100}', data=n)\ng['soft'] = h5py.SoftLink('/nowhere')",
            "/many cannot be carried over: \"soft\" in it is a soft link",
        ),
        (
            "g = f.create_group('many')\nfor n in range(900): g.attrs[f'number-{n:060}'] = n\ng.attrs['table'] = [[1.5]]",
            "/many cannot be carried over: its attribute \"table\"",
        ),
    ];
    for (code, reason) in cases {
        for version in ["latest", "earliest"] {
            let place = Place::new();
            place.write(vec![session("a", 3)]);
            if !change_file(&place, version, code) {
                return;
            }
            let before = std::fs::read(place.file()).unwrap();
            let sessions = [Ok(session("b", 1))];
            let error = write_sessions(&place.file(), "test", sessions, &WriteOptions::default())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("cannot be carried over") && error.contains(reason),
                "{code}: {error}"
            );
            assert_eq!(std::fs::read(place.file()).unwrap(), before);
            assert_eq!(
                place.open().session("a").unwrap().message_count().unwrap(),
                3,
                "and it is still read"
            );
        }
    }
}

#[test]
fn many_members_and_attributes_are_carried_over() {
    // hdf5-pure follows few continuations of headers, which hold the attributes of the first version.
    for (version, attributes) in [("latest", 900), ("earliest", 30)] {
        let place = Place::new();
        place.write(vec![session("a", 3)]);
        let name = "{n:060}";
        let add = format!(
            "g = f.create_group('many')\nfor n in range(900): g.create_dataset(f'{name}', data=n)\nfor n in range({attributes}): g.attrs[f'{name}'] = n"
        );
        if !change_file(&place, version, &add) {
            return;
        }
        place.write(vec![session("b", 1)]);
        let check = format!(
            "g = f['many']\nassert len(g) == 900 and len(g.attrs) == {attributes}\nfor n in range(900): assert g[f'{name}'][()] == n\nfor n in range({attributes}): assert g.attrs[f'{name}'] == n"
        );
        change_file(&place, version, &check);
    }
}

#[test]
fn a_session_with_many_names_is_imported_once() {
    for version in ["earliest", "latest"] {
        let place = Place::new();
        let mut columns = session("a", 3);
        columns.logs.clear();
        columns.attributes.agent = "claude-code".into();
        place.write(vec![columns]);
        let add = "for n in range(300): f[f'sessions/b{n}'] = f['sessions/a']";
        if !change_file(&place, version, add) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let unpacked = unpack_logs(&place.file(), folder.path()).unwrap();
        assert_eq!(unpacked.logs.len(), 1, "{version}");
    }
}

/// Runs Python code on the file `f`, opened by h5py for a version of the format. Returns false when there is no Python.
fn change_file(place: &Place, version: &str, code: &str) -> bool {
    let program = place.folder().join("change.py");
    let open = format!("f = h5py.File(sys.argv[1], 'a', libver='{version}')");
    std::fs::write(
        &program,
        format!("import h5py, sys\n{open}\n{code}\nf.close()\n"),
    )
    .unwrap();
    run_python(program.to_str().unwrap(), &[&place.file()]).is_some()
}
