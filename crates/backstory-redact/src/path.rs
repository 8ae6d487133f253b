//! Secrets in the names of files and folders.
//!
//! Agents make names of other paths: `/work/shop` becomes `-work-shop` or `%2Fwork%2Fshop`. So a secret in the name of a folder stands
//! behind letters that belong to no word of it, and every other character of it may have become a hyphen.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{Finding, ScanMemory, each_keyword};
use super::{Redactor, merged, unescape};

/// How many beginnings are tried in one name. More keywords than this are no name.
const MAX_BEGINNINGS: usize = 32;

/// Extensions that no secret has.
const LOG_EXTENSIONS: [&str; 4] = [".jsonl", ".jsonl.zst", ".json", ".md"];

impl Redactor {
    /// Replaces secrets in a path. The same path gives the same text every time, and another one another text, so that what is stored
    /// under it is found again.
    #[must_use]
    pub fn redact_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let mut findings = Vec::new();
        let mut memory = ScanMemory::default();
        for name in names(path.as_bytes()) {
            self.find_in_name(path.as_bytes(), &name, &mut memory, &mut findings);
        }
        if findings.is_empty() {
            return Cow::Borrowed(path);
        }
        let (redacted, _) = self.replaced(path.as_bytes(), &merged(findings), &mut []);
        String::from_utf8_lossy(&redacted).into_owned().into()
    }

    fn find_in_name(
        &self,
        path: &[u8],
        name: &Range<usize>,
        memory: &mut ScanMemory,
        findings: &mut Vec<Finding>,
    ) {
        let decoded = Decoded::of(path, name);
        self.find_in_decoded(&decoded, &decoded.text, memory, findings);
        if decoded.text.starts_with(b"-") {
            let with = |byte: &u8| if *byte == b'-' { b'_' } else { *byte };
            let other: Vec<u8> = decoded.text.iter().map(with).collect();
            self.find_in_decoded(&decoded, &other, memory, findings);
        }
    }

    fn find_in_decoded(
        &self,
        decoded: &Decoded,
        text: &[u8],
        memory: &mut ScanMemory,
        findings: &mut Vec<Finding>,
    ) {
        let mut beginnings = vec![0];
        each_keyword(text, |at| {
            let before = at.checked_sub(1).and_then(|before| text.get(before));
            if matches!(before, Some(b'-' | b'_')) && beginnings.len() < MAX_BEGINNINGS {
                beginnings.push(at);
            }
        });
        for beginning in beginnings {
            let rest = text.get(beginning..).unwrap_or_default();
            for finding in self.all_findings(rest, memory) {
                let secret = rest.get(finding.range.clone()).unwrap_or_default();
                let value = finding.value.unwrap_or_else(|| unescape(secret));
                let range = beginning + finding.range.start..beginning + finding.range.end;
                findings.push(Finding {
                    range: decoded.original(&range),
                    rule: finding.rule,
                    value: Some(value),
                    keyword: 0,
                });
            }
        }
    }
}

/// The names that a path consists of: what stands between separators, those that were encoded included.
fn names(path: &[u8]) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(rest) = path.get(at..).filter(|rest| !rest.is_empty()) {
        let width = match rest {
            [b'/' | b'\\', ..] => 1,
            [b'%', b'2', b'F' | b'f', ..] | [b'%', b'5', b'C' | b'c', ..] => 3,
            _ => 0,
        };
        if width > 0 {
            names.push(start..at);
            start = at + width;
        }
        at += width.max(1);
    }
    names.push(start..end_without_extension(path));
    names
}

/// Returns the end of a path without the extension that a log has: a secret would be taken to reach to the end of its name, and readers
/// know logs by their extensions.
fn end_without_extension(path: &[u8]) -> usize {
    let mut extensions = LOG_EXTENSIONS.iter();
    let extension = extensions.find(|extension| path.ends_with(extension.as_bytes()));
    path.len() - extension.map_or(0, |extension| extension.len())
}

/// A name without percent-encoding, and the way back.
struct Decoded {
    text: Vec<u8>,
    /// Where each byte stands in the path; one more for the end.
    places: Vec<usize>,
}

impl Decoded {
    fn of(path: &[u8], name: &Range<usize>) -> Self {
        let mut decoded = Decoded {
            text: Vec::with_capacity(name.len()),
            places: Vec::with_capacity(name.len() + 1),
        };
        let mut at = name.start;
        while at < name.end {
            let byte = path.get(at).copied().unwrap_or_default();
            let encoded = path
                .get(at + 1..(at + 3).min(name.end))
                .filter(|_| byte == b'%')
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .filter(|digits| digits.len() == 2)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            decoded.text.push(encoded.unwrap_or(byte));
            decoded.places.push(at);
            at += if encoded.is_some() { 3 } else { 1 };
        }
        decoded.places.push(name.end);
        decoded
    }

    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| self.places.get(at).copied().unwrap_or_default();
        place(range.start)..place(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RULES, planted};

    fn secret(rule: &str) -> String {
        let rule = RULES.iter().find(|known| known.id == rule).unwrap();
        planted(rule, 3).secrets.remove(0)
    }

    #[test]
    fn secrets_in_names_as_agents_write_them() {
        let redactor = Redactor::new([1; 32]);
        let anthropic = secret("anthropic-api-key");
        let github = secret("github-personal-token");
        let only_hyphens = github.replace('_', "-");
        for path in [
            format!("/home/me/{anthropic}/log.jsonl"),
            format!("/home/me/.claude/projects/-home-me-{anthropic}/log.jsonl"),
            format!("/home/me/.claude/projects/-home-me-{only_hyphens}-shop/log.jsonl"),
            format!("/home/me/.grok/sessions/%2Fhome%2Fme%2F{anthropic}%2Fshop/id/updates.jsonl"),
            format!("/home/me/.grok/sessions/%2Fhome%2Fapi_key%3D{anthropic}/id/updates.jsonl"),
            format!("/home/me/.claude/projects/-work/id/subagents/agent-{github}.jsonl"),
            format!("C:\\Users\\me\\{github}\\log.jsonl"),
        ] {
            let redacted = redactor.redact_path(&path);
            assert!(redacted.contains("[REDACTED:"), "{path} → {redacted}");
            for secret in [&anthropic, &github, &only_hyphens] {
                for part in secret.as_bytes().windows(12) {
                    let part = std::str::from_utf8(part).unwrap();
                    assert!(!redacted.contains(part), "{path} → {redacted}");
                }
            }
            assert_eq!(path.matches('/').count(), redacted.matches('/').count());
            assert_eq!(redactor.redact_path(&redacted), redacted);
        }
        let one = redactor.redact_path("/x/-w-shop/a.jsonl");
        assert_eq!(one, "/x/-w-shop/a.jsonl");
    }

    #[test]
    fn extensions_of_logs_stay() {
        let redactor = Redactor::new([1; 32]);
        for extension in LOG_EXTENSIONS {
            let path = format!("/w/API_KEY={}{extension}", secret("cohere-api-key"));
            let redacted = redactor.redact_path(&path);
            assert!(redacted.starts_with("/w/API_KEY=[REDACTED:"), "{redacted}");
            assert!(redacted.ends_with(&format!("]{extension}")), "{redacted}");
            assert_eq!(redactor.redact_path(&redacted), redacted);
        }
        for short in ["/.jsonl", ".md", "", "/w/.json"] {
            assert_eq!(redactor.redact_path(short), short);
        }
    }

    #[test]
    fn two_secrets_are_two_names() {
        let redactor = Redactor::new([1; 32]);
        let rule = RULES
            .iter()
            .find(|rule| rule.id == "anthropic-api-key")
            .unwrap();
        let path = |seed| format!("/w/{}/a.jsonl", planted(rule, seed).secrets[0]);
        assert_ne!(
            redactor.redact_path(&path(1)),
            redactor.redact_path(&path(2))
        );
    }

    #[test]
    fn ordinary_names_stay() {
        let redactor = Redactor::new([1; 32]);
        for path in [
            "/home/me/.claude/projects/-home-me-token-service/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl",
            "/home/me/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-0f8fad5b-d9cb-469f-a165-70867728950e.jsonl",
            "/home/me/.grok/sessions/%2Fhome%2Fme%2Fsecret-santa/019f0000-0000-7000-8000-00000000000a/updates.jsonl",
            "/work/password-manager/task-3f2504e04f8911d39a0c0305e82c3301/log.jsonl",
            "/work/100%/%zz/%2",
        ] {
            assert_eq!(redactor.redact_path(path), path);
        }
    }
}
