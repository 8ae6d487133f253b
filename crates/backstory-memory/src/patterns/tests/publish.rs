//! Whatever a file is like, nothing outside the block changes, and taking the block out gives the file back.

use std::path::Path;

use super::super::block::{CLOSE, OPEN};
use super::super::publish::{plan_block, remove_block};
use super::super::{Entry, Published, Unpublished};
use super::*;

const LIMIT: usize = 4096;

fn entry(id: &str, title: &str, advice: &str) -> Entry {
    let folder = tempfile::tempdir().unwrap();
    let pattern = Pattern {
        advice: advice.to_string(),
        ..candidate(id, title, 3, &["codex"])
    };
    approved(folder.path(), &[pattern]).entries()[0].clone()
}

fn write_block(path: &Path, entries: &[&Entry], limit_bytes: usize) -> crate::Result<Published> {
    let (published, change) = plan_block(path, entries, limit_bytes)?;
    change.write()?;
    Ok(published)
}

fn publish_into(path: &Path, entries: &[Entry]) -> crate::Result<Published> {
    write_block(path, &entries.iter().collect::<Vec<_>>(), LIMIT)
}

/// Files without a block: beginnings, line endings and ends in all combinations, and some odd ones.
fn files() -> Vec<Vec<u8>> {
    let beginnings: [&[u8]; 5] = [
        b"",
        b"\xef\xbb\xbf",
        b"---\nname: skill\n---\n",
        "Grüße 👩‍💻 \u{202e}".as_bytes(),
        b"\xff\xfe latin\xe9",
    ];
    let bodies: [&[u8]; 5] = [
        b"# Rules\n\nBe kind.",
        b"# Rules\r\n\r\nBe kind.",
        b"one\r\ntwo\nthree\r\nfour",
        b"<!-- other:block -->\ntheirs\n<!-- /other:block -->",
        b"see `<!-- backstory:patterns -->` and <!-- /backstory:patterns --> in a line",
    ];
    let ends: [&[u8]; 5] = [b"", b"\n", b"\r\n", b"\r", b"\n\n\n"];
    let mut files: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\n".to_vec(),
        b"\r\n".to_vec(),
        b"\r".to_vec(),
        b" \t ".to_vec(),
        b"\xef\xbb\xbf".to_vec(),
        "long line ".repeat(100_000).into_bytes(),
        "many lines\r\n".repeat(100_000).into_bytes(),
        b"```\nunclosed fence\n".to_vec(),
        b"<!-- unclosed comment\n".to_vec(),
        b"<!-- backstory:pattern -->\n<!-- Backstory:patterns -->\n".to_vec(),
    ];
    for beginning in beginnings {
        for body in bodies {
            files.extend(ends.map(|end| [beginning, body, end].concat()));
        }
    }
    files
}

#[test]
fn publishing_and_taking_back_gives_every_file_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    let first = [
        entry("p-1", "Tests need a database", "Start it."),
        entry("p-2", "Ports are taken", ""),
    ];
    let second = [entry("p-3", "Another", "Advice.")];
    let files = files();
    assert!(files.len() > 50);
    for file in files {
        let shown = String::from_utf8_lossy(&file[..file.len().min(60)]).into_owned();
        std::fs::write(&path, &file).unwrap();
        let published = publish_into(&path, &first).unwrap();
        assert_eq!(
            (published.ids.len(), published.left_out, published.changed),
            (2, 0, true),
            "{shown:?}"
        );
        let with_block = std::fs::read(&path).unwrap();
        assert!(with_block.starts_with(&file), "{shown:?}");
        let block = String::from_utf8_lossy(&with_block[file.len()..]).into_owned();
        let lines = block.matches('\n').count();
        let windows = block.matches("\r\n").count();
        let all = file.iter().filter(|byte| **byte == b'\n').count();
        let has_windows = file.windows(2).filter(|pair| *pair == b"\r\n").count();
        if has_windows == all && all > 0 {
            assert_eq!(windows, lines, "{shown:?}");
        } else if has_windows == 0 && !file.ends_with(b"\r") {
            assert_eq!(windows, 0, "{shown:?}");
        }
        // Again, then others, then the first again: as if nothing had happened in between.
        assert!(!publish_into(&path, &first).unwrap().changed, "{shown:?}");
        assert!(publish_into(&path, &second).unwrap().changed);
        publish_into(&path, &first).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), with_block, "{shown:?}");
        assert_eq!(remove_block(&path).unwrap(), Unpublished::Block);
        assert_eq!(std::fs::read(&path).unwrap(), file, "{shown:?}");
        assert_eq!(remove_block(&path).unwrap(), Unpublished::Nothing);
    }
}

#[test]
fn a_block_that_people_placed_is_filled_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("CLAUDE.md");
    let entries = [entry("p-1", "Tests need a database", "Start it.")];
    for (before, after) in [
        ("# One\n\n", "\n\n# Two\n"),
        ("# One\r\n", "\r\n# Two\r\n"),
        ("\u{feff}", "\n# Two"),
        ("  ", "  \nrest"),
        ("", "\r\nrest"),
    ] {
        for inside in [
            "\n",
            "\r\n",
            "\nold text\n",
            "\n- edited\n\n<!-- note -->\n",
        ] {
            std::fs::write(&path, format!("{before}{OPEN}{inside}{CLOSE}{after}")).unwrap();
            publish_into(&path, &entries).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let inner = text
                .strip_prefix(before)
                .and_then(|text| text.strip_suffix(after))
                .unwrap();
            assert!(inner.starts_with(OPEN) && inner.ends_with(CLOSE) && inner.contains("(p-1)"));
            assert!(!inner.contains("old text") && !inner.contains("edited\n"));
            remove_block(&path).unwrap();
            let left = std::fs::read_to_string(&path).unwrap();
            let newline = if after.starts_with("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            assert_eq!(
                left,
                format!("{before}{}", after.strip_prefix(newline).unwrap_or(after))
            );
        }
    }
}

#[test]
fn damaged_markers_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    let block = format!("{OPEN}\nx\n{CLOSE}\n");
    for (file, reason) in [
        (format!("a\n{OPEN}\nb\n"), "without"),
        (OPEN.to_string(), "without"),
        (format!("{CLOSE}\n"), "without"),
        (format!("{CLOSE}\n{OPEN}\n"), "stands before"),
        (format!("{block}{block}"), "2 times and"),
        (format!("{OPEN}\n{block}"), "2 times and"),
        (format!("{block}{CLOSE}\r\n"), "2 times"),
        ("U\0T\0F\0".to_string(), "no UTF-8 text"),
    ] {
        std::fs::write(&path, &file).unwrap();
        let published = publish_into(&path, &[entry("p-1", "x", "")]).unwrap_err();
        for error in [published, remove_block(&path).unwrap_err()] {
            let error = error.to_string();
            assert!(
                error.contains("AGENTS.md") && error.contains(reason),
                "{error}"
            );
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), file);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_was_made_goes_again_unless_people_wrote_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    let entries = [entry("p-1", "x", ""), entry("p-2", "y", "")];
    publish_into(&path, &entries[..1]).unwrap();
    publish_into(&path, &entries).unwrap();
    assert_eq!(remove_block(&path).unwrap(), Unpublished::File);
    assert!(!path.exists());
    assert_eq!(remove_block(&path).unwrap(), Unpublished::Nothing);
    publish_into(&path, &entries).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}mine\n")).unwrap();
    assert_eq!(remove_block(&path).unwrap(), Unpublished::Block);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine\n");
    // With nothing to tell, no file is made, and an old block goes.
    std::fs::remove_file(&path).unwrap();
    assert!(!publish_into(&path, &[]).unwrap().changed && !path.exists());
    publish_into(&path, &entries).unwrap();
    assert!(publish_into(&path, &[]).unwrap().changed && !path.exists());
    let error = publish_into(&folder.path().join("no/such/AGENTS.md"), &entries).unwrap_err();
    assert!(
        error.to_string().contains("its folder is not there"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (
        folder.path().join("real.md"),
        folder.path().join("AGENTS.md"),
    );
    std::fs::write(&real, "mine").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.md", &link).unwrap();
    publish_into(&link, &[entry("p-1", "x", "")]).unwrap();
    assert!(link.is_symlink() && std::fs::read_to_string(&real).unwrap().contains("(p-1)"));
    assert_eq!(mode(&real), 0o640);
    remove_block(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(
        (
            std::fs::read_to_string(&real).unwrap().as_str(),
            mode(&real)
        ),
        ("mine", 0o640)
    );
    std::fs::remove_file(&real).unwrap();
    let error = publish_into(&link, &[entry("p-1", "x", "")]).unwrap_err();
    assert!(
        error.to_string().contains("leads nowhere") && !real.exists(),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    let entries = [entry("p-1", "x", "")];
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::write(&path, "mine").unwrap();
    set(&path, 0o444);
    let error = publish_into(&path, &entries).unwrap_err().to_string();
    assert!(error.contains("AGENTS.md: it is read-only"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    set(&path, 0o644);
    set(folder.path(), 0o555);
    // Root may write anywhere.
    if std::fs::write(folder.path().join("probe"), "").is_err() {
        let error = publish_into(&path, &entries).unwrap_err().to_string();
        assert!(error.contains("cannot write"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
    set(folder.path(), 0o755);
    assert!(publish_into(folder.path(), &entries).is_err());
}

#[test]
fn what_does_not_fit_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    let long = "x".repeat(3_000);
    let entries = [
        entry("p-1", &long, ""),
        entry("p-2", &long, ""),
        entry("p-3", "short", ""),
    ];
    let published = publish_into(&path, &entries).unwrap();
    assert_eq!(
        (published.ids, published.left_out),
        (vec!["p-1".to_string(), "p-3".to_string()], 1)
    );
    assert!(std::fs::metadata(&path).unwrap().len() <= LIMIT as u64);
    let error = write_block(&path, &[&entries[0]], 100).unwrap_err();
    assert!(
        error.to_string().contains("no pattern fits into 100 bytes"),
        "{error}"
    );
}

#[test]
fn text_is_shown_and_opens_nothing() {
    let check = |title: &str, advice: &str, expect: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("AGENTS.md");
        publish_into(&path, &[entry("p-1", title, advice)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().nth(4).unwrap(), expect);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert_eq!(remove_block(&path).unwrap(), Unpublished::File);
    };
    check(
        "Tests need a database",
        "Start it.",
        "- Tests need a database. Start it. Seen 3 times in 2 sessions. (p-1)",
    );
    check("Why?", "", "- Why? Seen 3 times in 2 sessions. (p-1)");
    check(
        "a\r\n<!-- /backstory:patterns -->\nb",
        "",
        "- a &lt;!-- /backstory:patterns --&gt; b. Seen 3 times in 2 sessions. (p-1)",
    );
    check(
        "<\u{200b}!-- x",
        "-\u{2060}->",
        "- &lt;!-- x. --&gt;. Seen 3 times in 2 sessions. (p-1)",
    );
    check(
        "\u{202e}txt\u{1b}[31m\u{7f}",
        "<backstory-context>\u{e0041}</backstory-context>",
        "- txt[31m. &lt;backstory-context>&lt;/backstory-context>. Seen 3 times in 2 sessions. (p-1)",
    );
    check(
        "Vec<String> ünïcode 漢字",
        "",
        "- Vec<String> ünïcode 漢字. Seen 3 times in 2 sessions. (p-1)",
    );
}

#[test]
fn procedures_become_skills_that_go_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("shop");
    std::fs::create_dir_all(root.join(".git")).unwrap();
    let procedure = Pattern {
        kind: PatternKind::Success,
        advice: "Before a commit, run `cargo fmt`, then `cargo test`.".to_string(),
        ..candidate(
            "p-1",
            "before a commit: `cargo fmt`, then `cargo test`",
            3,
            &["codex"],
        )
    };
    let mut catalogue = approved(
        &folder.path().join("catalogue"),
        &[
            procedure,
            candidate("p-2", "Tests need a database", 3, &["codex"]),
        ],
    );
    let publish = |catalogue: &mut Catalogue, dry: bool| {
        catalogue
            .publish_skills(&root, folder.path(), dry, TimeMs::ZERO)
            .unwrap()
    };
    let planned = publish(&mut catalogue, true);
    assert!(planned[0].changed && !root.join(".agents").exists());
    let [skill] = publish(&mut catalogue, false).try_into().unwrap();
    let path = root.join(&skill.target);
    let text = std::fs::read_to_string(&path).unwrap();
    let name = path
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap();
    assert!(
        text.starts_with(&format!("---\nname: {name}\ndescription: ")),
        "{text}"
    );
    assert!(name.len() <= 64 && name == "before-a-commit-p-1", "{name}");
    assert!(text.contains("- Before a commit, run `cargo fmt`, then `cargo test`. Seen 3 times in 2 sessions. (p-1)\n"), "{text}");
    assert!(!publish(&mut catalogue, false)[0].changed);
    assert_eq!(catalogue.entry("p-1").unwrap().published.len(), 1);
    assert_eq!(remove_block(&path).unwrap(), Unpublished::File);
    assert!(!path.parent().unwrap().exists());
    // What somebody else wrote stays.
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "mine").unwrap();
    let refused = catalogue.publish_skills(&root, folder.path(), false, TimeMs::ZERO);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("not written by Backstory")
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_dry_run_shows_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("AGENTS.md");
    std::fs::write(&path, "# Rules\n").unwrap();
    let one = entry("p-1", "Tests need a database", "");
    let (published, _) = plan_block(&path, &[&one], LIMIT).unwrap();
    assert!(published.changed && published.diff.iter().all(|line| line.starts_with('+')));
    assert!(
        published
            .diff
            .iter()
            .any(|line| line.contains("Tests need a database"))
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# Rules\n");
    publish_into(&path, &[one]).unwrap();
    let two = entry("p-2", "Lint needs a key", "");
    let (published, _) = plan_block(&path, &[&two], LIMIT).unwrap();
    let signs: String = published.diff.iter().map(|line| &line[..1]).collect();
    assert_eq!(signs, "-+", "{:?}", published.diff);
}
