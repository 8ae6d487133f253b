use super::*;

const DAY_MS: i64 = 24 * 3600 * 1000;

const CAPS: SpendingCaps = SpendingCaps {
    tokens: 1_000,
    micro_usd: Some(500),
};

fn request(at: i64, input: u64, output: u64, micro_usd: u64) -> NewCompression<'static> {
    NewCompression {
        at: at.into(),
        tier: Tier::Observation,
        model: "m",
        session: 1.into(),
        seq: Seq::new(2),
        most: Spending {
            input_tokens: input,
            output_tokens: output,
            micro_usd,
        },
    }
}

fn failed(took: Option<Spending>) -> Settled<'static> {
    Settled {
        took,
        latency_ms: 5,
        scores: Scores::default(),
        outcome: Err("timeout"),
    }
}

fn granted(reserved: Reserved) -> i64 {
    match reserved {
        Reserved::Granted(id) => id,
        Reserved::Met(cap) => panic!("met {cap:?}"),
    }
}

#[test]
fn a_cap_holds_to_the_token_and_to_the_millionth() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let first = granted(store.reserve(&request(0, 900, 50, 100), &CAPS).unwrap());
    let met = store.reserve(&request(0, 50, 1, 1), &CAPS).unwrap();
    assert_eq!(met, Reserved::Met(MetCap::Tokens));
    let second = granted(store.reserve(&request(0, 49, 1, 400), &CAPS).unwrap());
    // The next day is another.
    granted(store.reserve(&request(DAY_MS, 1_000, 0, 0), &CAPS).unwrap());
    let took = Spending {
        input_tokens: 9,
        output_tokens: 1,
        micro_usd: 100,
    };
    store.settle(first, &failed(Some(took))).unwrap();
    let met = store.reserve(&request(0, 1, 0, 1), &CAPS).unwrap();
    assert_eq!(met, Reserved::Met(MetCap::Money));
    // What nobody knows stays reserved.
    store.settle(second, &failed(None)).unwrap();
    assert_eq!(store.spent(TimeMs::new(DAY_MS - 1)).unwrap().tokens(), 60);
    granted(store.reserve(&request(0, 940, 0, 0), &CAPS).unwrap());
    assert_eq!(store.spent(TimeMs::ZERO).unwrap().tokens(), 1_000);
    assert_eq!(store.give_up_reserved("interrupted").unwrap(), 2);
    assert_eq!(store.spent(TimeMs::ZERO).unwrap().tokens(), 1_000);
    let reasons = ["timeout", "interrupted"];
    let failures = store.failures(Tier::Observation, 1.into(), Seq::new(2), &reasons);
    assert_eq!(failures.unwrap(), 4);
}

#[test]
fn a_server_that_claims_anything_breaks_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for _ in 0..3 {
        let id = granted(
            store
                .reserve(
                    &request(0, 1, 1, 1),
                    &SpendingCaps {
                        tokens: u64::MAX,
                        micro_usd: None,
                    },
                )
                .unwrap(),
        );
        let most = Spending {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            micro_usd: u64::MAX,
        };
        store.settle(id, &failed(Some(most))).unwrap();
    }
    assert_eq!(store.spent(TimeMs::ZERO).unwrap().input_tokens, 3 << 40);
}

#[test]
fn no_number_of_connections_passes_a_cap() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let caps = SpendingCaps {
        tokens: 700,
        micro_usd: None,
    };
    let sent: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let store = Store::open(folder.path()).unwrap();
                    let mut sent = 0;
                    for _ in 0..40 {
                        let reserved = store.reserve(&request(0, 5, 2, 0), &caps).unwrap();
                        sent += if matches!(reserved, Reserved::Granted(_)) {
                            7
                        } else {
                            0
                        };
                    }
                    sent
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(sent, 700);
    assert_eq!(
        Store::open(folder.path())
            .unwrap()
            .spent(TimeMs::ZERO)
            .unwrap()
            .tokens(),
        700
    );
}
