//! Confidence intervals of shares.

/// Quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Returns Wilson's interval of 95 % of a share: unlike the usual one it is right for few trials and for shares near 0.
pub(crate) fn wilson_interval(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let count = trials as f64;
    let share = hits as f64 / count;
    let square = Z * Z;
    let middle = share + square / (2.0 * count);
    let reach = Z * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    let scale = 1.0 + square / count;
    (
        ((middle - reach) / scale).max(0.0),
        ((middle + reach) / scale).min(1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of R. G. Newcombe, Statistics in Medicine 17 (1998), 857–872, table I, method 3.
    #[test]
    fn intervals_of_a_share() {
        let check = |hits: u64, trials: u64, expect: (f64, f64)| {
            let found = wilson_interval(hits, trials);
            let is_near = |one: f64, other: f64| (one - other).abs() < 0.000_06;
            assert!(
                is_near(found.0, expect.0) && is_near(found.1, expect.1),
                "{found:?} is not {expect:?}"
            );
        };
        check(81, 263, (0.2553, 0.3662));
        check(15, 148, (0.0624, 0.1605));
        check(0, 20, (0.0, 0.1611));
        check(1, 29, (0.0061, 0.1718));
        check(20, 20, (0.8389, 1.0));
        check(0, 0, (0.0, 1.0));
    }
}
