//! Tests of the deliveries that are found in commands.

use super::super::DeliveryKind::{Commit, Merge, PullRequest, Push, Release, Tag};
use super::super::{Delivery, DeliveryKind, parse_shell_line};

fn first_delivery(line: &str) -> Option<Delivery> {
    parse_shell_line(line).iter().find_map(Delivery::find)
}

#[test]
fn deliveries_are_found_with_their_subject() {
    let check = |line: &str, kind: DeliveryKind, subject: Option<&str>| {
        let Some(delivery) = first_delivery(line) else {
            panic!("no delivery in {line}");
        };
        assert_eq!(
            (delivery.kind, delivery.subject.as_deref()),
            (kind, subject),
            "{line}"
        );
    };
    check("git commit -m 'fix cart'", Commit, Some("fix cart"));
    check(
        "git commit -am \"fix cart\" -m body",
        Commit,
        Some("fix cart"),
    );
    check("git commit -qm'fix cart'", Commit, Some("fix cart"));
    check(
        "git commit --message='fix cart\n\nbody'",
        Commit,
        Some("fix cart"),
    );
    check(
        "git add -A && git -C web -c user.name=x commit -s -m 'fix'",
        Commit,
        Some("fix"),
    );
    check(
        "git --git-dir=/a/.git --work-tree /a commit -m fix",
        Commit,
        Some("fix"),
    );
    check(
        "git commit -m \"$(cat <<'EOF'\nfix: it's (mostly) done\n\nbody\nEOF\n)\"",
        Commit,
        Some("fix: it's (mostly) done"),
    );
    check(
        "git commit -m \"$(cat <<'EOF'\nfix\nEOF)\"",
        Commit,
        Some("fix"),
    );
    check(
        "git commit -F - <<'EOF'\n\nfix cart\nEOF",
        Commit,
        Some("fix cart"),
    );
    check("git commit -m $'fix\\n\\nbody'", Commit, Some("fix"));
    check("git commit -F message.txt", Commit, None);
    check("git commit --amend --no-edit", Commit, None);
    check("git commit -m \"$(printf 'fix')\"", Commit, None);
    check("git push", Push, None);
    check("git push -u origin main", Push, Some("main"));
    check("git push origin HEAD --tags", Push, Some("HEAD"));
    check("git merge --no-ff web", Merge, Some("web"));
    check("git merge -m 'take web' web", Merge, Some("web"));
    check("git tag -a v1.2 -m 'first'", Tag, Some("v1.2"));
    check("git tag v1.2", Tag, Some("v1.2"));
    check(
        "gh pr create --draft --title 'Fix cart' --body x",
        PullRequest,
        Some("Fix cart"),
    );
    check(
        "gh -R a/b pr create -t 'Fix cart'",
        PullRequest,
        Some("Fix cart"),
    );
    check("gh pr create --fill", PullRequest, None);
    check("gh pr merge 7 --squash", Merge, Some("7"));
    check("gh release create v1.2 --notes x", Release, Some("v1.2"));
    check(
        "glab mr create --title 'Fix cart'",
        PullRequest,
        Some("Fix cart"),
    );
    check("glab mr merge 7", Merge, Some("7"));
    check(
        "hub pull-request -m 'Fix cart'",
        PullRequest,
        Some("Fix cart"),
    );
    check("jj commit -m 'fix cart'", Commit, Some("fix cart"));
    check("jj describe -m 'fix cart'", Commit, Some("fix cart"));
    check("jj git push -b web", Push, Some("web"));
    check("hg commit -m 'fix cart'", Commit, Some("fix cart"));
    check("hg push", Push, None);
    check("npm publish --access public", Release, None);
    check("cargo publish -p store", Release, None);
    check(
        "$a = 'x'; git commit -m @'\nfix cart\nbody\n'@",
        Commit,
        Some("fix cart"),
    );
}

#[test]
fn deliveries_have_their_folder_and_amend_commits() {
    let folder = |line: &str| first_delivery(line).and_then(|delivery| delivery.folder);
    assert_eq!(
        folder("git -C /shop/web commit -m x").as_deref(),
        Some("/shop/web")
    );
    assert_eq!(
        folder("cd /shop && git commit -m x").as_deref(),
        Some("/shop")
    );
    assert_eq!(folder("git commit -m x"), None);
    let is_amend = |line: &str| first_delivery(line).is_some_and(|delivery| delivery.is_amend);
    assert!(is_amend("git commit --amend -m x"));
    assert!(!is_amend("git commit -m '--amend'"));
}

#[test]
fn commands_that_only_resemble_deliveries_are_none() {
    let lines = [
        "git commit --dry-run",
        "git push --dry-run",
        "git push -n",
        "git push --delete origin web",
        "git push origin :web",
        "git tag",
        "git tag -d v1",
        "git tag -l 'v*'",
        "git tag --contains HEAD",
        "git tag --sort=-v:refname",
        "git merge --abort",
        "git merge-base a b",
        "git commit-tree x",
        "git log --grep 'git commit'",
        "git stash push",
        "git remote add origin x",
        "git -C web status",
        "gh pr view 7",
        "gh pr list",
        "gh pr create --web",
        "gh pr create --dry-run",
        "gh release view v1",
        "gh run list",
        "glab mr view 7",
        "jj describe",
        "jj git fetch",
        "hg status",
        "npm publish --dry-run",
        "npm pack",
        "cargo publish --dry-run",
        "cargo package",
        "echo git push",
        "grep 'git commit' log",
        "git help commit",
        "git commit --help",
    ];
    for line in lines {
        assert_eq!(first_delivery(line), None, "{line}");
    }
}
