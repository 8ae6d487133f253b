//! Commands whose words stand in an array, each in quotes of its own: `["sshpass","-p","…"]`, also in source code: with both kinds of
//! quotes, literals such as `f"…"`, variables and comments between them.
//!
//! The rules know command lines. So at the name of a command that takes a secret, the strings of the array are joined by blanks and
//! searched as a line. Only what a rule finds in another string than its keyword is new: the rest was found in the text itself.
//!
//! The work is linear: a string is joined at most twice for each depth of quotes, however many names stand in the array.

use std::ops::Range;

use super::assignment::{backslashes, quote, quoted_end};
use super::examined::{count_leading, examined};
use super::scan::Finding;

/// Lists each name with the byte behind it that may end a string.
macro_rules! at_end_of_string {
    ($($name:literal)*) => {
        &[$(concat!($name, "\""), concat!($name, "\\"), concat!($name, "'")),*]
    };
}

/// The same for names of two letters, with the byte before them, too: words and strings end with the same two letters.
macro_rules! short_as_string {
    ($($name:literal)*) => {
        &[$(
            concat!("\"", $name, "\""),
            concat!("/", $name, "\""),
            concat!("\"", $name, "\\"),
            concat!("/", $name, "\\"),
            concat!("'", $name, "'"),
            concat!("/", $name, "'")
        ),*]
    };
}

/// What stands at the end of the first string of a command: the first words of the keywords by which rules know command lines.
pub(super) const ARGUMENT_KEYWORDS: [&[&str]; 2] = [
    at_end_of_string!(
        "mysql" "mysqldump" "mysqladmin" "mysqlimport" "mariadb" "mariadb-dump" "docker" "podman" "registry" "acr"
        "redis-cli" "mongosh" "mongo" "mongodump" "mongorestore" "ldapsearch" "ldapadd" "ldapmodify" "ldapwhoami"
        "sqlcmd" "plink" "pscp" "useradd" "usermod" "openssl" "zip" "unrar" "curl" "--user" "--proxy-user" "sshpass"
        "htpasswd" "vault" "requirepass" "masterauth" "kubectl" "-passout" "-passin" "-pass" "-storepass" "-keypass"
        "-deststorepass" "-srcstorepass" "--auth" "--token" "smbclient" "aws_secret_access_key"
        "sshpass -p" "docker login" "podman login" "registry login" "vault login" "openssl enc" "gh secret set"
    ),
    short_as_string!("az" "gh" "7z"),
];

/// Number of joined bytes behind a name that a rule may see: the longest command line, and a secret at its end.
const MIN_JOINED_BYTES: usize = 512;
/// Depth of quotes from which on nothing is joined: 31 backslashes.
const MAX_DEPTHS: usize = 6;
/// Blanks, line breaks and comments between two arguments.
const MAX_GAP_BYTES: usize = 256;
/// Length of a variable among the arguments, `self.user`.
const MAX_VARIABLE_BYTES: usize = 64;
/// What stands for a variable in the joined text: all rules know it as a reference.
const VARIABLE: &[u8] = b"$VARIABLE";

/// The quotes of a string: the mark, and the number of backslashes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quotes {
    mark: u8,
    backslashes: usize,
}

/// An argument behind another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// A string that begins here, behind its quotes.
    Text(usize, Quotes),
    /// A variable or number that ends here.
    Variable(usize),
}

/// A name at the end of a string that is followed by another argument.
#[derive(Debug, Clone)]
pub(super) struct CommandName {
    name: Range<usize>,
    quotes: Quotes,
    next: Argument,
}

impl CommandName {
    /// The name in the keyword at `hit`, if it ends a string in an array.
    pub(super) fn at(text: &[u8], hit: &Range<usize>) -> Option<Self> {
        let keyword = text.get(hit.clone())?;
        let before = usize::from(matches!(keyword.first(), Some(b'"' | b'\'' | b'/')));
        let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\'');
        let start = hit.start + before;
        let end = start + keyword.get(before..)?.iter().position(is_end)?;
        let (mark, backslashes, behind) = quote(text, end)?;
        let quotes = Quotes { mark, backslashes };
        quotes.depth().filter(|depth| *depth < MAX_DEPTHS)?;
        Some(Self {
            name: start..end,
            quotes,
            next: quotes.next_argument(text, behind)?,
        })
    }
}

impl Quotes {
    /// How often the quotes were escaped, counted from one; none for other quotes than those of JSON.
    fn depth(self) -> Option<usize> {
        match self.mark {
            b'"' => usize::try_from((self.backslashes + 1).ilog2() + 1).ok(),
            b'\'' => Some(0),
            _ => None,
        }
    }

    /// Returns whether such a quote stands at `at`.
    fn is_at(self, text: &[u8], at: usize) -> bool {
        backslashes(text, at) == self.backslashes
            && text.get(at + self.backslashes) == Some(&self.mark)
    }

    /// Returns the argument behind the one that ends at `end`, in an array whose first string has these quotes.
    fn next_argument(self, text: &[u8], end: usize) -> Option<Argument> {
        let comma = self.skip_gap(text, end)?;
        if text.get(comma) != Some(&b',') {
            return None;
        }
        let at = self.skip_gap(text, comma + 1)?;
        if let Some((mark, backslashes, start)) = quote(text, at) {
            let quotes = Quotes { mark, backslashes };
            return self
                .may_be_beside(quotes, text.get(start).copied())
                .then_some(Argument::Text(start, quotes));
        }
        let word = text.iter().skip(at).take(MAX_VARIABLE_BYTES);
        let length = count_leading(word, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'&' | b'*')
        });
        (1..MAX_VARIABLE_BYTES)
            .contains(&length)
            .then_some(Argument::Variable(at + length))
    }

    /// Returns whether a string in `other` quotes that begins with `first` may stand in the same array.
    fn may_be_beside(self, other: Quotes, first: Option<u8>) -> bool {
        match (self.mark, other.mark) {
            (_, b'\'') => true,
            (b'"', b'"') => self.backslashes == other.backslashes,
            // How often it is escaped is not known. Behind the end of a string of JSON stands one of these, and nothing is replaced there.
            (b'\'', b'"') => first.is_some_and(|byte| !b" \t\r\n,:]}\\\"".contains(&byte)),
            _ => false,
        }
    }

    /// Skips blanks, line breaks and comments up to the end of the line, escaped or not, in a string with these quotes.
    fn skip_gap(self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        let mut is_comment = false;
        while at < from + MAX_GAP_BYTES {
            examined(1);
            match (text.get(at)?, text.get(at + 1)) {
                (b'\n' | b'\r', _) => {
                    is_comment = false;
                    at += 1;
                }
                (b' ' | b'\t', _) => at += 1,
                (b'\\' | b'"', _) => {
                    let run = backslashes(text, at);
                    match text.get(at + run)? {
                        b'n' | b'r' => is_comment = false,
                        b't' => {}
                        // A quote that ends a string around the array.
                        b'"' if run < self.backslashes => return None,
                        _ if is_comment => {}
                        _ => return Some(at),
                    }
                    at += run + 1;
                }
                (b'#', _) | (b'/', Some(b'/')) => {
                    is_comment = true;
                    at += 1;
                }
                _ if is_comment => at += 1,
                _ => return Some(at),
            }
        }
        None
    }
}

/// The arguments of an array, joined by blanks.
#[derive(Debug, Default)]
pub(super) struct JoinedArguments {
    pub(super) text: Vec<u8>,
    /// Where each argument begins in the joined text, and where it stands in the original.
    arguments: Vec<(usize, Range<usize>)>,
}

impl JoinedArguments {
    /// Joins the arrays of `names`, which are in the order of the text, and calls `found` with each.
    pub(super) fn each(text: &[u8], names: &[CommandName], mut found: impl FnMut(&Self)) {
        // Up to where names were joined, for each depth of quotes: strings within strings are arrays of their own.
        let mut joined_to = [0; MAX_DEPTHS];
        for name in names {
            let done = name
                .quotes
                .depth()
                .and_then(|depth| joined_to.get_mut(depth));
            let Some(done) = done.filter(|done| name.name.start >= **done) else {
                continue;
            };
            let mut joined = Self::default();
            *done = joined.join(text, name);
            found(&joined);
        }
    }

    /// Joins the arguments from `name` on. Returns the end of those whose names have enough of the array behind them.
    fn join(&mut self, text: &[u8], name: &CommandName) -> usize {
        self.add_string(text, name.name.clone());
        let mut done = name.name.end;
        let mut next = Some(name.next);
        while let Some(argument) = next.filter(|_| self.text.len() < 2 * MIN_JOINED_BYTES) {
            let is_covered = self.text.len() < MIN_JOINED_BYTES;
            let (end, behind) = match argument {
                Argument::Variable(end) => {
                    self.add_word(VARIABLE, end..end);
                    (end, Some(end))
                }
                Argument::Text(start, quotes) => {
                    let end = quoted_end(text, start, quotes.mark, quotes.backslashes);
                    let Some(end) = end else { break };
                    self.add_string(text, start..end);
                    // The end of a string around it ends it, too.
                    let is_closed = quotes.is_at(text, end);
                    (end, is_closed.then_some(end + quotes.backslashes + 1))
                }
            };
            if is_covered {
                done = end;
            }
            next = behind.and_then(|behind| name.quotes.next_argument(text, behind));
        }
        done
    }

    fn add_string(&mut self, text: &[u8], place: Range<usize>) {
        examined(place.len());
        let word = text.get(place.clone()).unwrap_or_default();
        self.add_word(word, place);
    }

    /// Adds a word that stands for what is at `place`. Nothing is found in a word that is longer than its place.
    fn add_word(&mut self, word: &[u8], place: Range<usize>) {
        if !self.arguments.is_empty() {
            self.text.push(b' ');
        }
        self.arguments.push((self.text.len(), place));
        self.text.extend_from_slice(word);
    }

    /// Where a finding in the joined text is in the original. If its keyword stands in a string before, all of the string is the secret,
    /// whatever ends a word in a shell. `None` if it is in several strings.
    pub(super) fn original(&self, finding: &Finding) -> Option<Finding> {
        let argument_at = |at: usize| {
            let after = self.arguments.partition_point(|(start, _)| *start <= at);
            self.arguments.get(after.checked_sub(1)?)
        };
        let (start, place) = argument_at(finding.range.start)?;
        let (keyword_start, keyword_place) = argument_at(finding.keyword)?;
        let length = finding.range.end.checked_sub(*start)?;
        let end = if keyword_start == start {
            place.start + length
        } else {
            place.end
        };
        (length <= place.len()).then(|| Finding {
            range: place.start + (finding.range.start - start)..end,
            rule: finding.rule,
            value: None,
            keyword: keyword_place.start + (finding.keyword - keyword_start),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RULES;
    use crate::plant::expand;
    use crate::tests::{check_examined, check_untouched, redacted, settings};

    /// The words of a command as JSON writes them, as pretty JSON, and as Python shows a list.
    fn arrays(words: &[String]) -> Vec<String> {
        let shown: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        vec![
            serde_json::to_string(words).unwrap(),
            serde_json::to_string_pretty(words).unwrap(),
            format!("subprocess.run([\"sudo\", {:?}])", words.join("\", \"")).replace("\\\"", "\""),
            format!("[{}]", shown.join(", ")),
        ]
    }

    fn words(template: &str) -> (Vec<String>, Vec<String>) {
        let planted = expand(template, 9);
        let words = planted.text.split(' ').map(str::to_owned).collect();
        (words, planted.secrets)
    }

    #[test]
    fn passwords_in_arrays_of_arguments() {
        for template in [
            "sshpass -p «{w16}» ssh h",
            "/usr/bin/sshpass -p«{w16}» ssh h",
            "sudo docker login -u me -p «{w16}» registry.internal",
            "mysql -u root -p«{w12}» main",
            "redis-cli -h cache -a «{w16}» ping",
            "redis-server --requirepass «{w16}»",
            "vault login «s.{w24}»",
            "htpasswd -b .htpasswd admin «{w12}»",
            "htpasswd -nbB admin «{w12}»",
            "7z x -p«{w12}» a.7z",
            "unzip -P «{w12}» a.zip",
            "gh secret set DEPLOY --body «{p16}»",
            "az login -u me -p «{w16}»",
            "openssl enc -d -aes-256-cbc -in a -k «{w12}»",
            "openssl genrsa -aes256 -passout pass:«{p12}» 4096",
            "curl -sSL -u me@x.internal:«{w12}» https://x.internal",
            "curl -ume:«{w12}» https://x.internal",
            "curl --proxy-user me:«{w12}» https://x.internal",
            "http --auth me:«{w16}» x.internal",
            "keytool -list -keystore k.jks -storepass «{p12}»",
            "smbclient //host/share -U me%«{w12}»",
            "kubectl create secret generic db --from-literal key=«{w16}»",
            "kubectl create secret generic db --from-literal=key=«{w16}»",
            "aws configure set aws_secret_access_key «{b40}» --profile x",
            "kubeadm join --token «{a6}.{a16}»",
            // What ends a word in a shell does not end a string.
            "docker login -p «{w8};{w4}|{w4}'{w4}»",
        ] {
            let (words, secrets) = words(template);
            for array in arrays(&words) {
                if secrets.iter().any(|secret| secret.contains('\'')) && !array.contains('"') {
                    continue;
                }
                for text in settings(&array) {
                    let output = redacted(&text);
                    assert!(
                        !secrets.iter().any(|secret| output.contains(secret)),
                        "{text} -> {output}"
                    );
                    let rest = secrets.iter().filter_map(|secret| secret.split(';').nth(1));
                    assert!(
                        !rest.into_iter().any(|rest| output.contains(rest)),
                        "{output}"
                    );
                    assert_eq!(redacted(&output), output, "the second time");
                    if text.starts_with('{') {
                        let json = serde_json::from_str::<serde_json::Value>(output.trim_end());
                        assert!(json.is_ok(), "no JSON any more: {output}");
                    }
                }
            }
        }
    }

    #[test]
    fn passwords_in_arrays_of_source_code() {
        for template in [
            r#"["docker","login","-u",user,"-p","«{w16}»"]"#,
            r#"["docker", "login", "-u", self.user, "--host", args.host, port, "-p", "«{w16}»"]"#,
            r#"["docker", "login", "-u", &user, "-P", 8080, "-p", "«{w16}»"]"#,
            r#"["sshpass" , "-p" , "«{w16}»"]"#,
            r#"["sshpass", '-p', '«{w16}»']"#,
            r#"['sshpass', "-p", "«{w16}»"]"#,
            r#"["sshpass", '-p', "«{w16}»"]"#,
            r#"["sshpass", "-p", f"«{w16}»"]"#,
            r#"["sshpass", "-p", b"«{w16}»"]"#,
            r#"['sshpass', '-p', u'«{w16}»']"#,
            "[\n    \"sshpass\",  # of the \"old\" host\n    \"-p\",\n    # what it's for\n    \"«{w16}»\",\n]",
            "[\n\t'sshpass', // the host\n\t'-p', // secret\n\t'«{w16}»',\n]",
            &format!(
                "[\"sshpass\",\n{0}\"-p\",\n{0}\"«{{w16}}»\"]",
                " ".repeat(70)
            ),
            r#"["sshpass -p","«{w16}»"]"#,
            r#"["docker login", "-p", "«{w16}»"]"#,
        ] {
            let planted = expand(template, 9);
            for text in settings(&planted.text) {
                let output = redacted(&text);
                assert!(!output.contains(&planted.secrets[0]), "{text} -> {output}");
                assert_eq!(redacted(&output), output, "the second time");
                if text.starts_with('{') {
                    let json = serde_json::from_str::<serde_json::Value>(output.trim_end());
                    assert!(json.is_ok(), "no JSON any more: {output}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_secret_in_source_code_survives() {
        for text in [
            r#"["sshpass", "-p", password, "ssh-to-host", "kD83hf0aQz"]"#,
            r#"["sshpass", "-p", password, "kD83hf0aQz"]"#,
            r#"run("sshpass", name: "-p", "kD83hf0aQz")"#,
            r#"use "sshpass", and "-p", "kD83hf0aQz""#,
            // The quote behind the comma ends a string of JSON.
            r#"{"'sshpass', '-p',":[1234567],", ":2}"#,
            r#"{"a":"'sshpass', '-p', ","kD83hf0aQz":"1"}"#,
            r##"{"a":"[\"sshpass\", # -p","b":"-p","c":"kD83hf0aQz"}"##,
        ] {
            check_untouched(text);
        }
    }

    #[test]
    fn a_secret_has_one_hash_in_an_array_and_in_a_line() {
        let (words, _) = words("sshpass -p «{w16}» ssh h");
        let marker = |text: &str| {
            let output = redacted(text);
            let start = output.find('[').filter(|_| output.contains(crate::MARKER));
            output[start.unwrap()..]
                .split_once(']')
                .unwrap()
                .0
                .to_owned()
        };
        let array = serde_json::to_string(&words).unwrap();
        let array = array.trim_start_matches('[');
        assert_eq!(marker(array), marker(&words.join(" ")));
    }

    #[test]
    fn an_array_in_an_argument_of_another_is_searched() {
        let (words, secrets) = words("sshpass -p «{w16}» ssh h");
        let inner = serde_json::json!({ "command": words }).to_string();
        let outer = serde_json::json!(["curl", "-d", inner, "--user", "me:$PASS"]).to_string();
        let output = redacted(&outer);
        assert!(!output.contains(&secrets[0]), "{output}");
    }

    #[test]
    fn a_name_far_behind_another_has_its_arguments() {
        let (words, secrets) = words("sshpass -p «{w16}» ssh h");
        for between in [10, 60, 120, 400] {
            let mut all = vec!["curl".to_owned()];
            all.extend((0..between).map(|number| format!("word{number}")));
            all.extend(words.clone());
            let output = redacted(&serde_json::to_string(&all).unwrap());
            assert!(!output.contains(&secrets[0]), "{output}");
        }
    }

    #[test]
    fn what_is_no_secret_in_an_array_survives() {
        for words in [
            "mysql -u root -p main",
            "docker run -p 8080:80 nginx",
            "docker run --user 1000:100000 x",
            "docker login -p $TOKEN",
            "curl -u $USER:$PASS https://x.internal",
            "curl -o out.txt -U agent https://x.internal",
            "unzip -p a.zip file.txt",
            "vault login -method=oidc role=reader",
            "htpasswd -c .htpasswd admin",
            "kubectl create configmap c --from-literal LEVEL=debug1234",
            "openssl enc -k <password>",
            "gh secret set DEPLOY --body ${{secrets.DEPLOY}}",
            "curl docker mysql zip vault openssl",
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            for array in arrays(&words) {
                for text in settings(&array) {
                    check_untouched(&text);
                }
            }
        }
        // Strings that are no neighbours in an array.
        for text in [
            r#"{"name":"docker login","args":{"a":"-p"},"value":"kD83hf0aQz"}"#,
            r#"["sshpass"],["-p","kD83hf0aQz"]"#,
            r#"["sshpass","-p"],"kD83hf0aQz""#,
            r#"{"a":"vault","login":"kD83hf0aQzkD83hf0aQzkD83hf0aQz"}"#,
        ] {
            check_untouched(text);
        }
    }

    #[test]
    fn every_command_line_is_known_as_an_array() {
        const COMMAND_RULES: [&str; 11] = [
            "auth-flag",
            "aws-configured-secret",
            "command-password",
            "curl-user-password",
            "htpasswd-password",
            "keystore-password",
            "kubernetes-bootstrap-token",
            "openssl-password",
            "redis-password",
            "sshpass-password",
            "vault-login-token",
        ];
        let known: Vec<&str> = ARGUMENT_KEYWORDS.concat();
        let mut missing = Vec::new();
        let rules = RULES.iter().filter(|rule| COMMAND_RULES.contains(&rule.id));
        assert_eq!(rules.clone().count(), COMMAND_RULES.len());
        for rule in rules {
            for (first, _) in rule.keywords.iter().filter_map(|word| word.split_once(' ')) {
                let is_known = |known: &&str| known.trim_matches(['"', '\\', '\'', '/']) == first;
                if !known.iter().any(is_known) {
                    missing.push(format!("{}: {first}", rule.id));
                }
            }
        }
        assert!(missing.is_empty(), "{missing:#?}");
    }

    #[test]
    fn hostile_arrays_are_examined_a_few_times() {
        let quotes = ["\"", "\\\"", "\\\\\\\"", "'"];
        let words: [&[&str]; 5] = [
            &[""],
            &["", "-p"],
            &["", "login", "-p", "kD83hf0aQz"],
            &["", "-u", "me:kD83hf0aQz", "aB3_dE6-"],
            &["", ""],
        ];
        let all = words
            .iter()
            .flat_map(|words| quotes.map(|quote| (words, quote)));
        let all: Vec<_> = all.collect();
        for (number, keyword) in ARGUMENT_KEYWORDS.concat().iter().enumerate() {
            let name = keyword.trim_matches(['"', '\\', '\'', '/']);
            // Each name has others, one has all.
            let step = if name == "curl" { 1 } else { all.len() };
            for (words, quote) in all.iter().skip(number % step).step_by(step) {
                let next = format!("{quote},{quote}");
                check_examined(&format!("{name}{}{next}", words.join(&next)));
            }
        }
        for quote in quotes {
            check_examined(&format!("/7z{quote},\\n{quote}{}", "a".repeat(300)));
            for gap in [63, 64, 255, 256] {
                check_examined(&format!("/7z{quote},{}", " ".repeat(gap)));
                check_examined(&format!("/7z{quote},{}", "#".repeat(gap)));
                check_examined(&format!("/7z{quote},{}{quote}", "a".repeat(gap)));
            }
            for next in [
                ",#", ",a,", ",//", " , ", ",f", ",a.b,'", ",'", ",'x',\"", ",#\n",
            ] {
                check_examined(&format!("/7z{quote}{next}"));
                check_examined(&format!("curl{quote}{next}"));
                check_examined(&format!("curl{quote}{next}curl','curl\",\"curl\\\",'"));
                check_examined(&format!("curl{quote},a{}", ",a".repeat(60)));
            }
        }
        check_examined("curl\",\"curl\\\",\\\"curl\\\\\\\",\\\\\\\"curl','");
        check_examined(&format!("curl{}", "\\".repeat(60)));
    }
}
