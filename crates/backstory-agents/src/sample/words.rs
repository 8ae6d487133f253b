//! The vocabulary and the sentence shapes of generated text. Only tables.
//!
//! A placeholder is `%` and a letter; `text::fill` says what each stands for.

use std::sync::LazyLock;

/// A list of words, written as one text so that it stays readable.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) static $name: LazyLock<Vec<&'static str>> =
            LazyLock::new(|| $text.split_whitespace().collect());
    )*};
}

words! {
    NOUNS = "order cart request session voucher user response error config file index record batch cache client server
        handler message payment invoice product price worker queue event job table column row query schema migration
        stream buffer frame packet header body route path route_table middleware socket channel lock thread task timer
        clock schedule retry backoff limit quota rate window bucket counter metric gauge trace span log line parser
        lexer node tree branch leaf root edge graph vertex cursor page offset range slice chunk block segment shard
        replica leader follower snapshot journal ledger account balance currency tax discount coupon address country
        shipment parcel carrier label refund receipt customer profile avatar password_hash login logout permission role
        policy scope audit entry document note notebook tag folder attachment export import template layout widget
        button form field input output option flag argument command shell terminal prompt editor theme color font
        locale language translation plural format date time zone calendar reminder alarm notification email digest
        webhook callback signal pipe process child parent owner borrow lifetime pointer handle resource pool
        connection transaction commit rollback savepoint trigger view report summary chart axis legend tile map marker
        region city warehouse stock supplier catalog category review rating comment reply mention feed timeline story
        image thumbnail video audio codec bitrate sample filter kernel matrix vector tensor weight gradient epoch model
        dataset feature score threshold cluster centroid outlier anomaly forecast trend season holiday experiment variant
        cohort funnel conversion churn campaign budget bid auction keyword snippet word_stream symbol module package
        crate dependency version release changelog manifest lockfile registry mirror proxy gateway balancer probe
        heartbeat lease election quorum ballot term checkpoint watermark partition topic consumer producer offset_map
        envelope payload checksum digest_table cipher nonce salt certificate chain anchor issuer subject domain zone_file
        resolver record_set host port interface bridge tunnel peer neighbour hop latency jitter throughput";
    VERBS = "load parse read write update create delete find fetch send receive open close start stop check validate
        build render merge split apply reset retry resolve register remove insert push pop encode decode compress
        expand normalize collect filter group sort count measure record store restore copy move rename link attach
        detach lock release acquire flush drain poll wait notify publish subscribe schedule cancel expire refresh
        rotate sign verify authorize charge refund ship cancel_all compute estimate sample score rank match replace
        format print log trace inspect dump export import migrate backfill seed prune compact vacuum archive";
    ADJECTIVES = "old new stale empty missing invalid pending active slow fast shared local remote global nested optional
        required default custom internal external public private unused duplicate partial complete broken flaky wrong
        correct large small long short wide narrow async blocking ordered sorted raw cooked cached fresh expired
        retried failed skipped quiet noisy strict lenient explicit implicit atomic durable volatile mutable frozen";
    /// Words that carry no meaning but most of the frequency.
    GLUE = "the a to of in and is it that for on with as this not we by be from or an at when so but if only because
        then there still already which into before after no has was are can does will should would could just also
        each every both first last same other more less about without between while until since through now here";
    /// What names are made of that are in no dictionary.
    SYLLABLES = "ba ko ri lu den mo ta vis pel ga zu nor fi hel sta cro my dex qua tir";
    TYPES = "String u64 i64 usize bool Duration PathBuf Instant Arc<str> f64 u32 Uuid Bytes Timestamp";
}

/// What the user asks.
pub(crate) const PROMPTS: &[&str] = &[
    "the %a %n %ns fail when the %n is %a, can you look into %p?",
    "add a %f function to %p and use it where we %v the %n",
    "why does %f return the %a %n? it should %v the %n first",
    "run the tests and fix what fails. %s",
    "please rename %f to %f everywhere, including the docs",
    "I get `error: cannot %v %n: %a %n` after the last change. %s",
    "refactor the %n module: %s",
    "write a test for %f that covers the %a %n case",
    "%S %S Can you propose a plan first?",
    "continue",
    "ok, now do the same for the %n and the %n",
    "commit this with a good message",
    "that is not what I meant. %S Keep the %a %n as it is.",
    "look at the log below and tell me what is going on:\n\n%L\n%L\n%L\n",
];

/// What the agent says, and what prose is made of.
pub(crate) const SENTENCES: &[&str] = &[
    "The %n is %a because `%f` does not %v the %n.",
    "I'll %v the %a %n in `%p` first.",
    "%s, so the %n has to %v before the %n does.",
    "There are %d places that %v a %a %n.",
    "The test `%f` passes now, but %s.",
    "Let me check how `%f` handles the %a %n.",
    "That means the %n %s.",
    "In `%p` the %n is built from the %a %n, and %s.",
    "I changed `%f` to %v the %n only when the %n is %a.",
    "This keeps the %n %a: %s.",
    "Note that %s, which is why the %a %n showed up in the %n.",
    "Next, the %n: %s.",
    "`%N` now owns the %n, and `%f` borrows it.",
    "Without that, %s and the %n would %v twice.",
    "The %a path is rare (%d of %D runs), yet %s.",
    "I also noticed that `%p` has its own copy of `%f`; %s.",
    "%s.",
    "%s, %s.",
];

/// Lines of code, by language: Rust, TypeScript, Python. Four spaces of indentation are added by the function around them.
pub(crate) const RUST: &[&str] = &[
    "let %n = self.%n.%f(&%n)?;",
    "if %n.is_%a() {\n        return Err(%N::%T(%n.clone()));\n    }",
    "for %n in &self.%ns {\n        %n.%f(%d);\n    }",
    "let mut %ns = Vec::with_capacity(%d);",
    "tracing::debug!(%n = %n.id(), \"%s\");",
    "// %S",
    "match self.%f(%n) {\n        Some(%n) => %n.%v(),\n        None => self.%f(),\n    }",
    "let %n: %t = %n.%f().map(|%n| %n.%v()).unwrap_or_default();",
    "assert_eq!(%n.%v(), %d, \"%s\");",
    "self.%n.insert(\"%n_%n\", %n);",
    "let %n = %N::new(%n, Duration::from_millis(%D));",
];
pub(crate) const TYPESCRIPT: &[&str] = &[
    "const %n = await this.%n.%v(%n.id);",
    "if (!%n) {\n        throw new Error(`%s: ${%n}`);\n    }",
    "for (const %n of %ns) {\n        %n.%v(%d);\n    }",
    "const { %n, %n } = use%T(%n);",
    "logger.debug({ %n, %n: %d }, '%s');",
    "// %S",
    "return %ns.filter((%n) => %n.%a).map((%n) => %n.%v());",
    "expect(%n.%v()).toEqual({ %n: %d, %n: '%n' });",
    "this.%n.set('%n-%n', { ...%n, %n: %D });",
    "const %n: %T = { id: %d, %n: null, %a: true };",
];
pub(crate) const PYTHON: &[&str] = &[
    "%n = self.%n.%f(%n)",
    "if %n is None:\n        raise %TError(f\"%s: {%n}\")",
    "for %n in self.%ns:\n        %n.%f(%d)",
    "%ns = [%n.%v() for %n in %ns if %n.%a]",
    "log.debug(\"%s\", extra={\"%n\": %n})",
    "# %S",
    "with self.%n.%v() as %n:\n        %n.%f(%n=%d)",
    "assert %n.%v() == %d, \"%s\"",
    "%n: dict[str, %T] = {\"%n\": %n, \"%n\": %n}",
    "return %N(%n=%n, %n=%D)",
];

/// Commands: what is typed, one line of the output, how many of these at most, the end when it works, the end when it does not.
pub(crate) const COMMANDS: &[(&str, &str, u64, &str, &str)] = &[
    (
        "cargo test --workspace %f",
        "test %n::%n::%f ... ok\n",
        140,
        "\ntest result: ok. %d passed; 0 failed; 0 ignored; 0 measured; finished in 0.%ds\n",
        "test %n::%f ... FAILED\n\nfailures:\n\n---- %n::%f stdout ----\nthread '%n::%f' panicked at src/%p:%d:%d:\n\
         assertion `left == right` failed: %s\n  left: %D\n right: %d\n\ntest result: FAILED. %d passed; 1 failed\n",
    ),
    (
        "cargo build 2>&1 | tail -60",
        "   Compiling %n-%n v0.%d.%d\n",
        60,
        "    Finished `dev` profile [unoptimized + debuginfo] target(s) in %d.%ds\n",
        "error[E0%D]: %s\n  --> %p:%d:%d\n   |\n%d |     let %n = self.%f(&%n)?;\n   |              ^^^^ %s\n   |\n\
         error: could not compile `%n` (lib) due to 1 previous error\n",
    ),
    (
        "git log --oneline -40",
        "%h %n: %v the %a %n\n",
        40,
        "",
        "fatal: ambiguous argument '%n': unknown revision or path not in the working tree.\n",
    ),
    (
        "rg -n \"%f\" src tests",
        "%p:%d:    let %n = %f(%n, %d);\n",
        80,
        "",
        "",
    ),
    (
        "docker compose logs --tail 120 %n",
        "%L\n",
        110,
        "",
        "Error response from daemon: No such container: %n-%n-1\n",
    ),
    (
        "ls -la src/%n",
        "-rw-r--r-- 1 ada ada %D Oct %d 12:%d %n_%n.rs\n",
        30,
        "",
        "ls: cannot access 'src/%n': No such file or directory\n",
    ),
    (
        "pytest -q tests/test_%n.py",
        "tests/test_%n.py::test_%f PASSED\n",
        70,
        "%d passed in %d.%ds\n",
        "E       AssertionError: %s\nE       assert %d == %D\n\ntests/test_%n.py:%d: AssertionError\n1 failed, %d passed\n",
    ),
    (
        "npm test -- %n",
        "  \u{2713} %s (%d ms)\n",
        60,
        "\nTests:       %d passed, %d total\nTime:        %d.%d s\n",
        "  \u{25cf} %n \u{203a} %s\n\n    expect(received).toEqual(expected)\n\n      at Object.<anonymous> (%p:%d:%d)\n",
    ),
    (
        "psql -c 'select * from %ns limit 50'",
        " %D | %n_%n | %a | 2026-0%x-1%x 1%x:4%x:0%x | %h\n",
        50,
        "(%d rows)\n",
        "ERROR:  relation \"%ns\" does not exist\nLINE 1: select * from %ns limit 50\n",
    ),
    (
        "curl -s localhost:8080/api/%ns | head -c 4000",
        "{\"id\":%D,\"%n\":\"%n-%h\",\"%a\":true,\"%n\":{\"%n\":%d,\"%n\":\"%s\"}},\n",
        40,
        "",
        "curl: (7) Failed to connect to localhost port 8080: Connection refused\n",
    ),
];
