//! What happens in `/home/ada/shop`, a small web shop in Rust.

use crate::sample::step::Step::{
    self, Answer, Delegate, Edit, Grep, Interrupt, Plan, Prompt, Queued, Read, Run, Say, Think,
    Together, Write,
};

/// The subagent of the first session.
pub(super) const TOKEN_AGENT: &str = "a4c1f09d27be6358e";

const LIVE: &str = r#"//! The live updates of an order, over a websocket.

use crate::token::{Claims, verify};

pub async fn upgrade(socket: Socket, query: Query) -> Result<(), LiveError> {
    let claims = verify(&query.token)?;
    let mut orders = Orders::watch(claims.customer).await?;
    while let Some(change) = orders.next().await {
        if claims.expires_at < now() {
            return Err(LiveError::Unauthorized);
        }
        socket.send(change.to_json()).await?;
    }
    Ok(())
}
"#;

const LIVE_OLD: &str = r"    let claims = verify(&query.token)?;
    let mut orders = Orders::watch(claims.customer).await?;
    while let Some(change) = orders.next().await {
        if claims.expires_at < now() {
            return Err(LiveError::Unauthorized);
        }";

const LIVE_NEW: &str = r"    let mut claims = verify(&query.token)?;
    let mut orders = Orders::watch(claims.customer).await?;
    while let Some(change) = orders.next().await {
        if let Some(token) = socket.renewed_token() {
            claims = verify(&token)?;
        }
        if claims.expires_at < now() {
            return Err(LiveError::Unauthorized);
        }";

pub(super) const WEBSOCKET_AUTH: &[Step<'static>] = &[
    Prompt(
        "Customers report that the live order page stops updating after about 15 minutes. The browser console shows the websocket closing with 401. Can you find out why?",
    ),
    Think(
        "Fifteen minutes is the lifetime of an access token. The socket is probably checked against the token it was opened with, even after the page has refreshed it. I should find every place that checks tokens.",
    ),
    Say(
        "15 minutes is exactly the lifetime of our access tokens, so I suspect the socket keeps the token it was opened with. Let me have every token check listed first.",
    ),
    Delegate {
        agent: TOKEN_AGENT,
        description: "Find token checks",
        prompt: "List every place in this repository that verifies an access token or compares its expiry, with file and line, and say which of them can outlive one request.",
        report: "Three places verify tokens:\n- src/token.rs:41 `verify`, the only one that checks the signature\n- src/http/guard.rs:18, once per request\n- src/live.rs:6, once when the websocket opens; src/live.rs:9 compares that token's expiry on every change\n\nOnly src/live.rs outlives a request.",
    },
    Read {
        path: "src/live.rs",
        contents: LIVE,
    },
    Say(
        "Confirmed: `upgrade` verifies the token once and then compares its expiry on each change, so a refreshed token never reaches the socket. I'll let the client send the new one.",
    ),
    Edit {
        path: "src/live.rs",
        before: LIVE,
        old: LIVE_OLD,
        new: LIVE_NEW,
    },
    Run {
        command: "cargo test live",
        output: "running 4 tests\ntest live::closes_without_token ... ok\ntest live::closes_on_bad_signature ... ok\ntest live::closes_when_expired ... ok\ntest live::survives_a_token_refresh ... ok\n\ntest result: ok. 4 passed; 0 failed; 0 ignored; finished in 0.31s\n",
        exit_code: 0,
    },
    Answer(
        "Fixed. The websocket kept using the access token it was opened with and closed with 401 once that expired, although the page had refreshed it. `src/live.rs` now takes a renewed token from the client and verifies it before the expiry check. The test `survives_a_token_refresh` covers it.",
    ),
    Prompt("Great, commit it."),
    Run {
        command: "git commit -am 'live: accept a renewed token on an open websocket'",
        output: "[main 7d1c2e0] live: accept a renewed token on an open websocket\n 1 file changed, 4 insertions(+), 1 deletion(-)\n",
        exit_code: 0,
    },
    Answer("Committed as 7d1c2e0."),
];

pub(super) const FIND_TOKEN_CHECKS: &[Step<'static>] = &[
    Prompt(
        "List every place in this repository that verifies an access token or compares its expiry, with file and line, and say which of them can outlive one request.",
    ),
    Grep {
        pattern: "verify\\(|expires_at",
        matches: &[
            "src/token.rs:41:pub fn verify(token: &str) -> Result<Claims, TokenError> {",
            "src/http/guard.rs:18:    let claims = verify(bearer(&request)?)?;",
            "src/live.rs:6:    let claims = verify(&query.token)?;",
            "src/live.rs:9:        if claims.expires_at < now() {",
        ],
    },
    Answer(
        "Three places verify tokens:\n- src/token.rs:41 `verify`, the only one that checks the signature\n- src/http/guard.rs:18, once per request\n- src/live.rs:6, once when the websocket opens; src/live.rs:9 compares that token's expiry on every change\n\nOnly src/live.rs outlives a request.",
    ),
];

const DOCKERFILE: &str = "FROM rust:1.90-slim AS build\nWORKDIR /shop\nCOPY . .\nRUN cargo build --release\n\nFROM debian:trixie-slim\nCOPY --from=build /shop/target/release/shop /usr/local/bin/shop\nCMD [\"shop\"]\n";

/// Two agents meet this error; only the second gets past it.
const OPENSSL_ERROR: &str = "   Compiling openssl-sys v0.9.109\nerror: failed to run custom build command for `openssl-sys v0.9.109`\n\n  Could not find directory of OpenSSL installation, and this `-sys` crate cannot\n  proceed without this knowledge. If OpenSSL is installed and this crate had\n  trouble finding it, you can set the `OPENSSL_DIR` environment variable.\n\n  pkg-config could not be found: No such file or directory (os error 2)\nERROR: process \"/bin/sh -c cargo build --release\" did not complete successfully: exit code: 101\n";

pub(super) const DOCKER_GIVEN_UP: &[Step<'static>] = &[
    Prompt("docker build fails, please get it to work"),
    Think("Run the build first and look at the error."),
    Say("I'll run the build to see the error."),
    Run {
        command: "docker build -t shop .",
        output: OPENSSL_ERROR,
        exit_code: 101,
    },
    Say("`openssl-sys` cannot find OpenSSL. I'll try to point it at a directory."),
    Edit {
        path: "Dockerfile",
        before: DOCKERFILE,
        old: "RUN cargo build --release",
        new: "ENV OPENSSL_DIR=/usr/lib/ssl\nRUN cargo build --release",
    },
    Run {
        command: "docker build -t shop .",
        output: "error: failed to run custom build command for `openssl-sys v0.9.109`\n\n  OpenSSL include directory does not exist: /usr/lib/ssl/include\nERROR: process \"/bin/sh -c cargo build --release\" did not complete successfully: exit code: 101\n",
        exit_code: 101,
    },
    Say("The headers are not there either. I could switch every dependency to rustls instead."),
    Interrupt,
    Prompt("no, leave the dependencies alone. revert that change, I will look at it another day"),
    Run {
        command: "git checkout Dockerfile",
        output: "Updated 1 path from the index\n",
        exit_code: 0,
    },
    Answer(
        "Reverted. The Docker build still fails: `openssl-sys` finds no OpenSSL in the image, and setting OPENSSL_DIR alone does not help because the headers are missing.",
    ),
];

pub(super) const DOCKER_FIXED: &[Step<'static>] = &[
    Prompt(
        "The image does not build: failed to run custom build command for openssl-sys. Don't swap out dependencies, just fix the image.",
    ),
    Together(&[
        Read {
            path: "Dockerfile",
            contents: DOCKERFILE,
        },
        Run {
            command: "cargo tree -i openssl-sys --depth 2",
            output: "openssl-sys v0.9.109\n└── openssl v0.10.73\n    └── native-tls v0.2.14\n",
            exit_code: 0,
        },
    ]),
    Run {
        command: "docker build -t shop .",
        output: OPENSSL_ERROR,
        exit_code: 101,
    },
    Think(
        "The slim image has neither pkg-config nor the headers. The build stage needs pkg-config and libssl-dev, and the final stage needs libssl3 at run time, or it will build and then fail to start.",
    ),
    Say(
        "The slim base image has neither `pkg-config` nor the OpenSSL headers. The final stage will need the shared library as well, or the program builds and then does not start.",
    ),
    Edit {
        path: "Dockerfile",
        before: DOCKERFILE,
        old: "WORKDIR /shop\nCOPY . .\nRUN cargo build --release\n\nFROM debian:trixie-slim",
        new: "RUN apt-get update && apt-get install -y --no-install-recommends pkg-config libssl-dev\nWORKDIR /shop\nCOPY . .\nRUN cargo build --release\n\nFROM debian:trixie-slim\nRUN apt-get update && apt-get install -y --no-install-recommends libssl3 ca-certificates",
    },
    Run {
        command: "docker build -t shop . && docker run --rm shop --version",
        output: " => exporting to image\n => naming to docker.io/library/shop\nshop 0.4.1\n",
        exit_code: 0,
    },
    Answer(
        "The image builds and starts. The cause: `rust:1.90-slim` has no `pkg-config` and no OpenSSL headers, so `openssl-sys` could not be built. The build stage now installs `pkg-config` and `libssl-dev`, the final stage `libssl3` and `ca-certificates`. No dependency was changed.",
    ),
];

const CART_TEST: &str = r#"#[test]
fn expires_old_carts() {
    let carts = Carts::new();
    carts.insert(cart("mug"), Duration::from_millis(50));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(carts.active().len(), 0);
}
"#;

pub(super) const FLAKY_TEST: &[Step<'static>] = &[
    Prompt("expires_old_carts fails maybe one time in ten on CI. make it reliable please"),
    Think("A test that sleeps exactly as long as the expiry. Reproduce it in a loop first."),
    Run {
        command: "for i in $(seq 20); do cargo test -q expires_old_carts || break; done",
        output: "test carts::expires_old_carts ... FAILED\n\nthread 'carts::expires_old_carts' panicked at src/carts.rs:88:5:\nassertion `left == right` failed\n  left: 1\n right: 0\n",
        exit_code: 101,
    },
    Read {
        path: "src/carts.rs",
        contents: CART_TEST,
    },
    Say(
        "The test sleeps for exactly the lifetime of the cart, so it depends on which side of the same millisecond the clock falls. I'll pass the time in instead of sleeping.",
    ),
    Edit {
        path: "src/carts.rs",
        before: CART_TEST,
        old: "    std::thread::sleep(Duration::from_millis(50));\n    assert_eq!(carts.active().len(), 0);",
        new: "    let later = carts.now() + Duration::from_millis(51);\n    assert_eq!(carts.active_at(later).len(), 0);",
    },
    Run {
        command: "for i in $(seq 200); do cargo test -q expires_old_carts || break; done",
        output: "200 runs: ok\n",
        exit_code: 0,
    },
    Answer(
        "The flaky test raced against the wall clock: it slept exactly as long as the cart lives. `active_at` now takes the time as an argument and the test no longer sleeps. 200 runs in a row passed.",
    ),
];

pub(super) const REFUND_COLUMN: &[Step<'static>] = &[
    Prompt("We need to know when an order was refunded. Write the migration and the model change."),
    Plan(&[
        ("Look at the latest migration", "in_progress"),
        ("Add refunded_at to orders", "pending"),
        ("Update the Order model", "pending"),
        ("Run the migration on a copy of the database", "pending"),
    ]),
    Run {
        command: "ls migrations | tail -3",
        output: "0011_coupons.sql\n0012_shipment_carrier.sql\n0013_order_notes.sql\n",
        exit_code: 0,
    },
    Write {
        path: "migrations/0014_order_refunded_at.sql",
        contents: "-- Empty for every order that was not refunded.\nalter table orders add column refunded_at timestamptz;\n",
    },
    Queued("also add an index, the report will filter by refund date"),
    Edit {
        path: "migrations/0014_order_refunded_at.sql",
        before: "-- Empty for every order that was not refunded.\nalter table orders add column refunded_at timestamptz;\n",
        old: "alter table orders add column refunded_at timestamptz;",
        new: "alter table orders add column refunded_at timestamptz;\ncreate index orders_refunded_at on orders (refunded_at) where refunded_at is not null;",
    },
    Run {
        command: "sqlx migrate run --database-url postgres://localhost/shop_copy",
        output: "Applied 14/migrate order refunded at (61.2ms)\n",
        exit_code: 0,
    },
    Answer(
        "Migration 0014 adds `orders.refunded_at` with a partial index for the report, and applies cleanly to a copy of the database. The model has the field as an optional timestamp.",
    ),
];

/// The fork of the session above: the same question, another answer.
pub(super) const REFUNDS_TABLE: &[Step<'static>] = &[
    Prompt(
        "Let's try the other way: partial refunds will come, so one order can have several. Use a refunds table instead of the column.",
    ),
    Write {
        path: "migrations/0014_refunds.sql",
        contents: "create table refunds (\n    id bigint generated always as identity primary key,\n    order_id bigint not null references orders (id),\n    amount_cents bigint not null check (amount_cents > 0),\n    refunded_at timestamptz not null default now()\n);\ncreate index refunds_order on refunds (order_id);\n",
    },
    Run {
        command: "sqlx migrate run --database-url postgres://localhost/shop_copy",
        output: "error: migration 14 was previously applied but has been modified\n",
        exit_code: 1,
    },
    Say("The copy still has the first version of migration 14. I'll revert that one first."),
    Run {
        command: "sqlx migrate revert --database-url postgres://localhost/shop_copy && sqlx migrate run --database-url postgres://localhost/shop_copy",
        output: "Applied 14/revert order refunded at (12.8ms)\nApplied 14/migrate refunds (48.5ms)\n",
        exit_code: 0,
    },
    Answer(
        "Done in this branch of the session: migration 0014 now creates a `refunds` table, one row per refund with its amount. Remember to revert the earlier 0014 wherever it was already applied.",
    ),
];
