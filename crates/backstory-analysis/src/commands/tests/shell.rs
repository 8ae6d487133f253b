//! Tests of the parts of lines, their wrappers and folders.

use super::super::{Connector, ShellCommand, parse_shell_line};

fn joined(line: &str) -> Vec<String> {
    parse_shell_line(line)
        .into_iter()
        .map(|command| command.words.join(" "))
        .collect()
}

#[test]
fn wrappers_are_removed() {
    let check = |line: &str, expect: &str| assert_eq!(joined(line), [expect], "{line}");
    check("sudo -u www -E npm test", "npm test");
    check("time -p cargo test", "cargo test");
    check("timeout --kill-after=5 60s cargo test", "cargo test");
    check("timeout -s KILL 60 cargo test", "cargo test");
    check("nice -n 10 env -u A B=1 cargo test", "cargo test");
    check("nohup make test", "make test");
    check("A=1 command cargo test", "cargo test");
    check("exec cargo test", "cargo test");
    check("xargs -0 -n 1 prettier --check", "prettier --check");
    check("npx --yes -p typescript tsc --noEmit", "tsc --noEmit");
    check("bunx --bun vitest run", "vitest run");
    check("pnpm dlx eslint .", "eslint .");
    check("pnpm exec eslint .", "eslint .");
    check("npm exec -- eslint .", "eslint .");
    check("uv run --with pytest-cov pytest -q", "pytest -q");
    check("uv run -m pytest -q", "python -m pytest -q");
    check("poetry run mypy .", "mypy .");
    check("bundle exec rspec", "rspec");
    check("mise exec node@20 -- npm test", "npm test");
    check("rtk proxy cargo test", "cargo test");
    check("rtk cargo test", "cargo test");
    check("sudo timeout 5 npx jest", "jest");
    // These are commands of their own.
    check("command -v cargo", "command -v cargo");
    check("mise run test", "mise run test");
    check("uv build", "uv build");
    check("npm run test", "npm run test");
    check("env", "env");
    check("sudo", "sudo");
    check("timeout 5", "timeout 5");
}

#[test]
fn scripts_of_shells_take_their_place() {
    let check = |line: &str, expect: &[&str]| assert_eq!(joined(line), expect, "{line}");
    check("bash -c 'cd x && make test'", &["cd x", "make test"]);
    check(
        "bash -lc \"cargo test | tail -3\"",
        &["cargo test", "tail -3"],
    );
    check("zsh -c 'A=1 cargo test'", &["cargo test"]);
    check("sudo bash -euo pipefail -c 'cargo test'", &["cargo test"]);
    check(
        "pwsh -NoProfile -Command 'cargo test; git status'",
        &["cargo test", "git status"],
    );
    check(
        "cmd /c \"npm test && npm run lint\"",
        &["npm test", "npm run lint"],
    );
    // One level, and only of shells.
    check("bash -c \"bash -c 'cargo test'\"", &["bash -c cargo test"]);
    check("bash script.sh -c x", &["bash script.sh -c x"]);
    check("python -c 'cargo test; x'", &["python -c cargo test; x"]);
    let commands = parse_shell_line("a && bash -c 'b; c' | tail; d");
    let shape: Vec<_> = commands
        .iter()
        .map(|part| (part.connector, part.pipeline, part.is_piped_on))
        .collect();
    assert_eq!(
        shape,
        [
            (Connector::First, 0, false),
            (Connector::And, 1, true),
            (Connector::Then, 2, true),
            (Connector::And, 2, false),
            (Connector::Then, 3, false),
        ]
    );
}

#[test]
fn commands_have_the_folder_they_run_in() {
    let check = |line: &str, expect: Option<&str>| {
        let last = parse_shell_line(line).pop().unwrap();
        assert_eq!(last.folder.as_deref(), expect, "{line}");
    };
    check("cargo test", None);
    check("cd /shop && cargo test", Some("/shop"));
    check("cd /shop && cd web/../api && cargo test", Some("/shop/api"));
    check("cd /shop; cd - ; cargo test", None);
    check("cd && cargo test", Some("~"));
    check("pushd web && npm test", Some("web"));
    check("pushd web && npm test; popd; ls", None);
    check("(cd web && npm test); ls", None);
    check("(cd web && npm test)", Some("web"));
    check("git -C web commit -m x", Some("web"));
    check("cd /shop && git -C web push", Some("/shop/web"));
    check("git -c user.name=x -C /a/b commit -m x", Some("/a/b"));
    check("git commit -C HEAD", None);
    check("make -C native test", Some("native"));
    check(
        "cargo test --manifest-path crates/a/Cargo.toml",
        Some("crates/a"),
    );
    check("npm --prefix web test", Some("web"));
    check("pnpm -C web test", Some("web"));
    check("cargo test -- -C web", None);
    check("env -C web npm test", Some("web"));
    check("cd web && bash -c 'cd api && go test'", Some("web/api"));
    check("cd C:/shop && dotnet test", Some("C:/shop"));
}

#[test]
fn parts_say_where_they_stand() {
    let commands = |line: &str| parse_shell_line(line);
    let conditional = |line: &str| -> Vec<bool> {
        commands(line)
            .iter()
            .map(|part| part.is_conditional)
            .collect()
    };
    assert_eq!(conditional("a && b"), [false, false]);
    assert_eq!(conditional("if a; then b; fi; c"), [true, true, false]);
    assert_eq!(conditional("for x in y; do a; done; b"), [true, false]);
    assert_eq!(conditional("! a; b"), [true, false]);
    assert_eq!(conditional("f() { a; }; b"), [true, false]);
    assert_eq!(conditional("{ a; b; } && c"), [false, false, false]);
    assert_eq!(conditional("x && { a; b; }"), [false, false, true]);
    let background: Vec<bool> = commands("a && b & c")
        .iter()
        .map(|part| part.is_background)
        .collect();
    assert_eq!(background, [true, true, false]);
    let piped: Vec<bool> = commands("(a; b) | c")
        .iter()
        .map(|part| part.is_piped_on)
        .collect();
    assert_eq!(piped, [true, true, false]);
    let text = |line: &str| {
        commands(line)
            .pop()
            .and_then(|part: ShellCommand| part.here_text)
    };
    assert_eq!(
        text("git commit -F - <<'EOF'\nfix it\nEOF").as_deref(),
        Some("fix it\n")
    );
    assert_eq!(text("git commit -F - <<< 'fix it'"), None);
}

#[test]
fn lines_of_powershell_are_split() {
    let check = |line: &str, expect: &[&str]| assert_eq!(joined(line), expect, "{line}");
    check(
        "$env:Path += ';C:\\bin'; Set-Location C:\\shop; cargo test 2>&1 | Select-Object -Last 5",
        &[
            "$env:Path += ;C:\\bin",
            "Set-Location C:\\shop",
            "cargo test",
            "Select-Object -Last 5",
        ],
    );
    check(
        "$a = Get-Date\nif ($a -and $b) { dotnet test }",
        &["$a = Get-Date", "if ($a -and $b)", "dotnet test"],
    );
    check(
        "Write-Output \"say `\"hi`\"; it's\"; git push",
        &["Write-Output say \"hi\"; it's", "git push"],
    );
    check(
        "$m = 'x'; git commit -m @'\nfix: it's done; really\n'@; git push",
        &["$m = x", "git commit -m fix: it's done; really", "git push"],
    );
    let commands = parse_shell_line("$p = 'x'; Set-Location C:/shop; dotnet build");
    assert_eq!(commands.last().unwrap().folder.as_deref(), Some("C:/shop"));
    // A variable of bash, and a name with a dash.
    check("PATH=$PATH:/x cargo test", &["cargo test"]);
    check(
        "apt-get install x; Run-it now",
        &["apt-get install x", "Run-it now"],
    );
}

#[test]
fn a_patch_has_no_commands() {
    assert!(parse_shell_line("*** Begin Patch\n*** Update File: a\n+cargo test").is_empty());
    assert!(parse_shell_line("").is_empty());
    assert_eq!(
        joined("apply_patch <<'EOF'\n*** Begin Patch\n+cargo test; x\n*** End Patch\nEOF"),
        ["apply_patch"]
    );
}
