//! The table of rules, by what the secrets open.
//!
//! Written from what providers publish about their formats: prefix, length, alphabet. Lengths are lower bounds where a provider
//! has changed them before. A rule with a prefix of its own stands before the general ones, so that the marker names it.

mod ai;
mod cloud;
mod code;
mod data;
mod database;
mod general;
mod money;
mod saas;
mod watch;

use super::rule::Rule;

const TABLES: [&[Rule]; 9] = [
    ai::RULES,
    cloud::RULES,
    database::RULES,
    code::RULES,
    saas::RULES,
    watch::RULES,
    money::RULES,
    data::RULES,
    general::RULES,
];

const COUNT: usize = {
    let mut count = 0;
    let mut table = 0;
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

/// Every rule, the more specific before the more general.
pub static RULES: &[Rule] = &{
    let mut rules = [TABLES[0][0]; COUNT];
    let mut next = 0;
    let mut table = 0;
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            rules[next] = TABLES[table][row];
            next += 1;
            row += 1;
        }
        table += 1;
    }
    rules
};
