//! Forms in which secrets stand in files, on command lines and in listings, each of them in every setting of a log.

use super::plant::{expand, planted};
use super::rules::RULES;
use super::tests::{check_untouched, redacted, settings};

/// Rules whose tokens are not known behind a letter or a digit.
const WEAK_WITHIN_WORDS: [&str; 16] = [
    "adyen-api-key",
    "azure-client-secret",
    "brave-search-api-key",
    "crates-io-token",
    "dropbox-token",
    "elevenlabs-api-key",
    "exoscale-key",
    "facebook-access-token",
    "klaviyo-api-key",
    "mailchimp-api-key",
    "mandrill-api-key",
    "nuget-api-key",
    "scaleway-access-key",
    "telegram-bot-token",
    "voyage-api-key",
    "yandex-secret-key",
];
/// Rules whose tokens are not known behind any name: a hash behind a common word.
const WEAK_BEHIND_NAMES: [&str; 4] = [
    "firecrawl-api-key",
    "launchdarkly-api-key",
    "launchdarkly-sdk-key",
    "mailgun-api-key",
];

fn check_redacted(template: &str) {
    let planted = expand(template, 9);
    for text in settings(&planted.text) {
        let output = redacted(&text);
        assert!(
            planted
                .secrets
                .iter()
                .all(|secret| !output.contains(secret.as_str())),
            "left: {text} -> {output}"
        );
        assert_eq!(redacted(&output), output, "the second time");
        if text.starts_with('{') {
            let json = serde_json::from_str::<serde_json::Value>(output.trim_end());
            assert!(json.is_ok(), "no JSON any more: {output}");
        }
    }
}

#[test]
fn short_names_of_passwords_in_files_of_all_kinds() {
    for template in [
        "DB_PASS=«{w12}»",
        "export SMTP_PASS='«{p16}»'",
        "MYSQL_PASS=«{l12}»",
        "RABBITMQ_DEFAULT_PASS=«{w8}»",
        "      - RABBITMQ_DEFAULT_PASS=«{p12}»",
        "      RABBITMQ_DEFAULT_PASS: «{p12}»",
        "\"DB_PASS\":\"«{p16}»\"",
        "\"DB_PASS\": \"«{l12}»\"",
        "ADMIN_PW=«{p12}»",
        "admin_pw = \"«{p12}»\"",
        "ansible_become_pass: «{p16}»",
        "ansible_ssh_pass=«{p16}»",
        "db-pass = \"«{p16}»\"",
        "dbPass: '«{p16}»'",
        "smtpPass: \"«{p16}»\"",
        "auth: (user: 'me', pass: '«{p16}»')",
        "\"pass\": \"«{p16}»\"",
        "POSTGRES_PASSWORD: «{l14}»",
        "ENV DB_PASS=«{w12}»",
        "docker run -e DB_PASS=«{w12}» app",
        "https://x.internal/login?db_pass=«{w16}»&next=1",
        "DB_PASS=«{w3}4{w2}»",
    ] {
        check_redacted(template);
    }
}

#[test]
fn passwords_on_command_lines() {
    for template in [
        "mysql -u root -p«{l8}» main",
        "mysql -uroot -p'«{p12}» main",
        "mysqldump -h db -p«{w10}» main > dump.sql",
        "docker login -u me -p «{p16}» registry.internal",
        "echo «{p16}» | docker login -u me --password-stdin",
        "echo \"«{p16}»\" | docker login -u me --password-stdin",
        "printf '%s' '«{p16}»' | docker login --password-stdin",
        "redis-cli -h cache -a «{p16}» ping",
        "mongosh -u me -p «{p16}» mongodb://db",
        "ldapsearch -x -D cn=admin -w «{p12}» -b dc=x",
        "openssl genrsa -aes256 -passout pass:«{p12}» 4096",
        "smbclient //host/share -U me%«{w12}»",
        "keytool -list -keystore k.jks -storepass «{p12}»",
        "kubectl create secret generic db --from-literal=DB_PASS=«{l12}»",
        "kubectl create secret generic db --from-literal=key='«{p16}»'",
        "gh secret set DEPLOY --body \"«{p16}»\"",
        "gh secret set DEPLOY --body=«{p16}»",
        "http --auth=me:«{w16}» x.internal",
        "http --auth me:«{w16}» x.internal",
        "curl -H 'Authorization: SSWS «00{w40}»' https://x.internal",
    ] {
        check_redacted(template);
    }
}

#[test]
fn commands_that_are_given_a_password() {
    for template in [
        "echo «{w12}» | sudo -S apt update",
        "echo \"«{w12}»\" | sudo -kS ls",
        "sudo -S <<< «{w12}» ls",
        "sudo -S ls <<< \"«{w12}»\"",
        "echo root:«{w12}» | chpasswd",
        "echo \"root:«{w12}»\" | sudo chpasswd",
        "chpasswd <<< 'root:«{w12}»'",
        "htpasswd -b .htpasswd admin «{w12}»",
        "htpasswd -nbB admin '«{w12}»'",
        "useradd -m -p «{w12}» bob",
        "openssl enc -d -aes-256-cbc -in a -k '«{w12}»'",
        "7z x -p«{w12}» a.7z",
        "unzip -P «{w12}» a.zip",
        "zip -r -P «{w12}» a.zip b",
        "unrar x -p«{w12}» a.rar",
        "SSHPASS=«{w12}» sshpass -e ssh h",
        "sshpass -p'«{w12}»' ssh h",
        "sshpass -p«{w12}» ssh h",
        "curl https://x.internal -u \"me:«{w12}»\"",
        "curl -sSL -u me@x.internal:«{w12}» https://x.internal",
        "curl -ume:«{w12}» https://x.internal",
        "curl --user=me:«{w12}» https://x.internal",
        "curl --proxy-user me:«{w12}» https://x.internal",
        "curl -U me:«{w12}» -x proxy https://x.internal",
        "vault login «s.{w24}»",
        "aws configure set aws_secret_access_key «{b40}» --profile x",
        "CREATE USER app IDENTIFIED BY '«{w10}»';",
        "ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY '«{w10}»';",
        "psql -c \"ALTER ROLE app WITH PASSWORD '«{w10}»'\"",
        "CREATE USER app WITH ENCRYPTED PASSWORD '«{w10}»'",
        "SET PASSWORD FOR 'app'@'%' = PASSWORD('«{w10}»')",
    ] {
        check_redacted(template);
    }
}

#[test]
fn sessions_signatures_and_files() {
    for template in [
        "Set-Cookie: __Host-session=«{w32}»; Secure",
        "Cookie: theme=dark; sid=«{w24}»; a=1",
        "Cookie: _gh_sess=«{w32}»",
        "curl -b 'session=«{w26}»' https://x.internal",
        ".AspNetCore.Cookies=«CfDJ8{w40}»",
        "_auth=«{basic16}»",
        "PASS=«{w10}»",
        "export PASS='«{w10}»'",
        "SharedAccessSignature=sv=2022;sig=«{w43}%3D»",
        "https://x.internal?sv=2022&amp;sig=«{w43}%3D»",
        "https://x.internal?sv=2022%26sig%3D«{w43}%253D»",
        "sig=«{w43}%3D»&se=2026",
        "https://x.internal/a?signature=«{w43}%3D»",
        "https://x.internal/a?b=1&amp;Signature=«{w43}%3D»",
        "https://storage.internal/b?X-Goog-Algorithm=a&X-Goog-Signature=«{h256}»",
        "CloudFront-Signature=«{w60}~{w60}__»",
        "*:*:*:postgres:«{w12}»",
        "localhost:5434:main:app:«{w12}»",
        "default login me password «{w12}»",
        "Authorization: «{w24}»",
        "otpauth://totp/Acme:me@x.internal?secret=«{v32}»&issuer=Acme",
        "totp_seed: «{v16}»",
        "\"backup_code\": \"«{h10}»\"",
        "requirepass «{w16}»",
        "\"kty\":\"RSA\",\"n\":\"{u342}\",\"d\":\"«{u342}»\",\"p\":\"«{u171}»\",\"q\":\"«{u171}»\"",
        "\"d\":\"«{u43}»\",\"kty\":\"EC\"",
        "\"kty\":\"oct\",\"k\":\"«{u43}»\"",
        "\"p\":\"«{u171}»\",\"kty\":\"RSA\",\"kid\":\"example-1\",\"d\":\"«{u342}»\"",
        "\"kty\":\"EC\",\"d\":\"«{u43}»\",\"x5c\":[\"{b5000}\"]",
        ".AspNetCore.Cookies=«{u3000}»; path=/",
        "«b3BlbnNzaC1rZXktdjE{b51}\n{b70}\n{b70}\n{b20}=»",
        "«MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBK{b30}\n{b64}\n{b64}»",
        "«MIIEpAIBAAKCAQEA{b48}\n{b64}\n{b64}»",
    ] {
        check_redacted(template);
    }
}

#[test]
fn what_only_looks_like_a_new_form_survives() {
    for template in [
        "session={uuid}",
        "session={h32}",
        "session=claude-code-transcripts-2026",
        "sid={d10}",
        "side=left&inside=yes&sid=none",
        "signature={h64}",
        "\"signature\": \"{b86}==\"",
        "Authorization: required",
        "authorization: {uuid}",
        "Authorization: process.env.TOKEN_2",
        "PASS=12 FAIL=0",
        "PASS=true",
        "bypass=enabled1",
        "identified by its name",
        "each is identified by 'name' and 'kind'",
        "the user is identified with a token by 'hash'",
        "SELECT password 'abc123' FROM x",
        "prompt for password 'until it fits'",
        "sudo -S ls",
        "echo $PASS | sudo -S ls",
        "cat users.txt | chpasswd",
        "htpasswd -c .htpasswd admin",
        "useradd -m -s /bin/bash bob",
        "unzip -p a.zip file.txt",
        "unzip -o a.zip -d /tmp/out",
        "7z x archive.7z -oout",
        "docker run --user 1000:100000 x",
        "docker run --user node:nodejs x",
        "curl -u $USER:$PASS https://x.internal",
        "curl -o out.txt -U agent https://x.internal",
        "vault login -method=oidc role=reader",
        "aws_secret_access_key is read from the environment",
        "otpauth://totp/Acme?secret=$SECRET",
        "\"kty\":\"RSA\",\"n\":\"{u342}\",\"e\":\"AQAB\"",
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{b200}",
        "recovery_code: string",
        "requirepass is not set",
        "design=compact",
    ] {
        for text in settings(&expand(template, 9).text) {
            check_untouched(&text);
        }
    }
}

#[test]
fn tokens_and_hashes_without_a_name() {
    for template in [
        "curl https://api.telegram.org/bot«{d10}:AA{u33}»/getUpdates",
        "curl https://api.telegram.org/bot«{d9}:AA{u33}»/sendMessage?chat_id=1",
        "client.login(\"«MTA5{w20}.{w6}.{u38}»\")",
        "BOT_TOKEN=«MzA5{w20}.{w6}.{u38}»",
        "Sentry.init(dsn: \"https://«{h32}»@o17.ingest.us.sentry.io/42\")",
        "https://{h32}:«{h32}»@sentry.internal/42",
        "admin:$2y$10$«{w53}»",
        "root:$6$«{w16}${w86}»:19000:0:99999:7:::",
        "  password: «c3VwZX{b11}Q==»",
        "  API_KEY: «c2stYW50L{b60}»",
        "  .dockerconfigjson: «eyJhdXRocyI6{b80}»",
    ] {
        check_redacted(template);
    }
}

#[test]
fn what_only_looks_like_a_password_survives() {
    for text in [
        "pass: all 12 tests",
        "\"pass\": true, \"fail\": 0",
        "test_pass: 12",
        "first_pass = second_pass",
        "render_pass = device.begin_render_pass(desc)",
        "let two_pass: bool = true;",
        "bypass = \"allowlist\"",
        "encompass: everything",
        "pw = getpass.getpass()",
        "const pw = await promptPassword()",
        "DB_PASS=$DB_PASS",
        "DB_PASS=${DB_PASS:-}",
        "DB_PASS=<password>",
        "DB_PASS=changeme",
        "DB_PASS: ${{ secrets.DB_PASS }}",
        "db_pass = os.environ[\"DB_PASS\"]",
        "dbPass: process.env.DB_PASS",
        "password: string",
        "DB_PASSWORD: string;",
        "POSTGRES_PASSWORD: required",
        "POSTGRES_PASSWORD: postgres",
        "mysql -u root -p main",
        "mysql -u root -p -h localhost",
        "mysql -P 3306 -h localhost",
        "docker run -p 8080:80 nginx",
        "docker compose -p project up",
        "docker login -p $TOKEN",
        "docker login -u me -p <token>",
        "git log -p main",
        "mkdir -p target/debug",
        "echo $TOKEN | docker login --password-stdin",
        "cat token.txt | docker login --password-stdin",
        "git diff -U 3",
        "psql -U postgres -d main",
        "redis-cli -a $REDIS_PASS",
        "http --auth-type=basic x.internal",
        "kubectl create configmap c --from-literal=LEVEL=debug1234",
        "https://deploy@git.internal/a",
        "https://my-long-organization-name@dev.azure.com/x",
        "awk '{ print $1$2 }'",
        "echo $6$7",
        "/bottom/bot/bots",
        "passport_pw: null",
        "compass",
    ] {
        for text in settings(text) {
            check_untouched(&text);
        }
    }
}

#[test]
fn keys_glued_to_a_name() {
    let mut left = Vec::new();
    for rule in RULES {
        let planted = planted(rule, 5);
        let [secret] = &planted.secrets[..] else {
            continue;
        };
        if planted.text != *secret || secret.contains('\n') {
            continue;
        }
        if WEAK_BEHIND_NAMES.contains(&rule.id) {
            continue;
        }
        for name in [
            "backup-",
            "key_",
            "old-2026-11-17_",
            "x",
            "token",
            "my_key",
            "2",
        ] {
            let is_word = name.ends_with(|last: char| last.is_ascii_alphanumeric());
            let text = format!("{name}{secret}");
            let is_left = settings(&text)
                .iter()
                .any(|text| redacted(text).contains(secret.as_str()));
            if is_left && !(is_word && WEAK_WITHIN_WORDS.contains(&rule.id)) {
                left.push(format!("{}: {text}", rule.id));
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn names_and_data_with_the_prefix_of_a_key_survive() {
    for template in [
        "task-{h40}",
        "risk-{w40}",
        "desk-{a48}",
        "disk-{uuid}",
        "run-task-sk-{l8}-{l9}-{l12}-{l6}",
        "cache-key-{h32}",
        "idempotency_key-{h32}",
        "monkey-{h32}",
        "public-api-{uuid}",
        "my-sdk-{uuid}",
        "cmd-{l10}-{l11}",
        "core_{l8}_{l24}",
        "{h64}-us14",
        "{w40}AKIA{v16}{w20}",
        "{b400}BSA{u27}/{b40}",
        "{b60}EAAA{b60}+{b40}",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAA{b60}/{b60}",
        "{u60}-AIza{u35}-{u60}",
        "{u60}_ghp_{w36}-{u60}",
        "glpat-tokens-are-redacted-everywhere",
        "test_ghp_token_is_redacted_wherever_it_stands",
        "docs/pypi-AgEIcHlwaS5vcmc",
    ] {
        for text in settings(&expand(template, 5).text) {
            check_untouched(&text);
        }
    }
}

#[test]
fn key_ids_without_a_digit() {
    for template in [
        "«AKIA{L16}»",
        "aws_access_key_id = «AKIA{L16}»",
        "backup-«AKIA{L16}»",
        "aws_access_key_id = «ASIA{L16}»",
        "AWS_ACCESS_KEY_ID=«ASIA{L16}»",
        "\"accessKeyId\": \"«ASIA{L16}»\"",
    ] {
        check_redacted(template);
    }
    for text in [
        "ASIAPACIFICNORTHEAST",
        "AKIATESTTESTTESTTEST",
        "AKIAFAKEKEYFORTESTING",
        "aws_access_key_id = AKIAXXXXXXXXXXXXXXXX",
    ] {
        for text in settings(text) {
            check_untouched(&text);
        }
    }
}

#[test]
fn keys_behind_an_id() {
    for template in [
        "4a7900966b69-«ghp_{w36}»",
        "4a7900966b69_«ghp_{w36}»",
        "{uuid}-«glpat-{w20}»",
        "{h40}-«xoxb-{d12}-{d12}-{w24}»",
        "{h12}_«sk-ant-api03-{u93}AA»",
    ] {
        check_redacted(template);
    }
}

/// `text` without `hidden`, however often it was escaped.
fn without_hidden(text: &str, hidden: &str) -> String {
    let mut text = text.to_owned();
    let mut written = hidden.to_owned();
    for _ in 0..4 {
        text = text.replace(&written, "");
        let quoted = serde_json::to_string(&written).unwrap();
        written = quoted[1..quoted.len() - 1].to_owned();
    }
    text
}

/// `text` with `hidden` before every character at a multiple of `step`, but not beside blanks and quotes.
fn interrupted(text: &str, hidden: &str, step: usize) -> String {
    let mut output = String::new();
    let mut before = ' ';
    for (at, character) in text.chars().enumerate() {
        let is_part = |character: char| character.is_ascii_graphic() && !"\"'".contains(character);
        if at % step == step / 2 && is_part(before) && is_part(character) {
            output.push_str(hidden);
        }
        output.push(character);
        before = character;
    }
    output
}

#[test]
fn hidden_characters_do_not_split_a_secret() {
    let hidden = [
        "\u{1b}[31m",
        "\u{1b}[01;31m\u{1b}[K",
        "\u{1b}[m\u{1b}[K",
        "\u{1b}(B\u{1b}[m",
        "\u{1b}]8;;https://x.internal\u{7}",
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{ad}",
        "\u{2060}",
        "\u{202e}",
        "\u{e0041}",
        "\u{8}",
        "\r",
        "\u{9b}1m",
        "\u{0}",
    ];
    let mut left = Vec::new();
    for (number, rule) in RULES.iter().enumerate() {
        let planted = planted(rule, 5);
        // Each rule has others.
        for (nth, hidden) in hidden.iter().enumerate().skip(number % 3).step_by(3) {
            let step = [5, 9, 23][(nth + number / 3) % 3];
            let text = interrupted(&planted.text, hidden, step);
            for text in settings(&text) {
                let output = redacted(&text);
                let shown = without_hidden(&output, hidden);
                if planted
                    .secrets
                    .iter()
                    .any(|secret| shown.contains(secret.as_str()))
                {
                    left.push(format!("{}: {text:?} -> {output:?}", rule.id));
                }
                assert_eq!(redacted(&output), output, "the second time: {}", rule.id);
                if text.starts_with('{') {
                    let json = serde_json::from_str::<serde_json::Value>(output.trim_end());
                    assert!(json.is_ok(), "no JSON any more: {output}");
                }
            }
        }
    }
    left.truncate(10);
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn colours_between_name_and_value_hide_nothing() {
    for template in [
        // As `jq -C`, `bat`, `grep --color` and `yq -C` write it.
        "\u{1b}[34;1m\"password\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m \u{1b}[0;32m\"«{p16}»\"\u{1b}[0m",
        "\u{1b}[36mpassword\u{1b}[0m:\u{1b}[0m \u{1b}[32m«{w16}»\u{1b}[0m",
        "DB_\u{1b}[01;31m\u{1b}[KPASS\u{1b}[m\u{1b}[KWORD=«{w16}»",
        "\u{1b}[38;5;81mAPI_KEY\u{1b}[0m\u{1b}[38;5;203m=\u{1b}[0m\u{1b}[38;5;186m«{w32}»\u{1b}[0m",
        "pass\\u200bword=«{w16}»",
        "password=\u{200b}'«{p16}»'",
        "Authorization: \u{1b}[1mBearer\u{1b}[0m «{w32}»",
        "Authorization: \u{1b}[1mBasic\u{1b}[0m «Ym9iOmh1bnRlcjJodW50ZXI=»",
        "curl -u \u{1b}[33mbob:«{w16}»\u{1b}[0m https://x.internal",
        "mysql -u root \u{1b}[33m-p«{w12}»\u{1b}[0m main",
    ] {
        check_redacted(template);
    }
}

#[test]
fn the_same_key_has_the_same_marker_when_it_is_interrupted() {
    let key = expand("ghp_{w36}", 4).text;
    let marker = redacted(&key);
    for hidden in ["\u{1b}[31m", "\u{200b}", "\\u200b", "\\\\u001b[K"] {
        let text = format!("see {} there", interrupted(&key, hidden, 7));
        assert_eq!(redacted(&text), format!("see {marker} there"));
    }
}

#[test]
fn a_chain_of_secrets_is_redacted_at_once() {
    for piece in [
        "npg_99W1MdYG484Hnpg_",
        "npg_99W1MdYG484Hnpg_/",
        "--glft-99W1MdYG484H99W1MdYG484H",
        "\n--glft-99W1MdYG484H99W1MdYG484H",
        "Rappkey:a1OLLBAR_ACCESS_TON=145ac8d8b1431a6447e6208cb614A",
        "K005xjF4d9fS8M2XG7Fjed5tmJ70uPQ/",
        "sb_secret_xjF4d9fS8M2XG7Fjed5tmJ_7Ud0uPQA",
        "dbtc_hVx6IBkV9IWrhA270kH2iQAk7b2R09NvfC0jtPJ6u/",
        "pscale_oauth_hVx6IBkV9IWrh270kHA2iQAk7b2R09NcoherevfC0jtPJ6uZfb/",
    ] {
        for escape in [
            ("A", "A"),
            ("/", "\\/"),
            ("/", "\\\\/"),
            ("A", "\\u0041"),
            ("A", "\\\\u0041"),
            ("A", "\\u001b[31m"),
            ("A", "\\\\b"),
            ("d", "\\u0064"),
        ] {
            let text = format!("{}--AKIAQ2W3E4R5T6Y7U2I3", piece.repeat(300));
            let line = serde_json::json!({ "text": text }).to_string();
            let line = line.replace(escape.0, escape.1);
            let once = redacted(&line);
            assert_eq!(redacted(&once), once, "{piece} {escape:?}");
            let json = serde_json::from_str::<serde_json::Value>(&once);
            assert!(json.is_ok(), "no JSON any more: {once}");
        }
    }
}

#[test]
fn no_character_is_cut_in_two() {
    for length in 120..140 {
        let text = format!(
            "sshpass -p {}éééé ssh host",
            "a1B2c3D".repeat(20).get(..length).unwrap()
        );
        let quoted = serde_json::json!({ "text": text }).to_string();
        assert!(serde_json::from_str::<serde_json::Value>(&redacted(&quoted)).is_ok());
    }
}
