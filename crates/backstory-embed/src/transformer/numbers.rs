//! Arithmetic on rows of numbers: norms, softmax, activations, rotary positions.
//!
//! Everything works in place on slices. Candle has most of these as operations on tensors, but each of them makes a new tensor, and
//! its exponential functions take one number at a time; here loops are written so that the compiler makes vector code of them.

/// Subtracts the mean, divides by the deviation, then scales and shifts.
pub(super) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    standardise(row, epsilon);
    for ((value, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
        *value = *value * weight + bias;
    }
}

/// Subtracts the mean and divides by the deviation.
pub(super) fn standardise(row: &mut [f32], epsilon: f32) {
    let count = row.len() as f32;
    let mean = sum(row) / count;
    for value in row.iter_mut() {
        *value -= mean;
    }
    let scale = 1.0 / (sum_of_squares(row) / count + epsilon).sqrt();
    for value in row.iter_mut() {
        *value *= scale;
    }
}

/// Divides by the root of the mean square, then scales.
pub(super) fn rms_norm(row: &mut [f32], weight: &[f32], epsilon: f32) {
    let scale = 1.0 / (sum_of_squares(row) / row.len() as f32 + epsilon).sqrt();
    for (value, weight) in row.iter_mut().zip(weight) {
        *value *= scale * weight;
    }
}

/// Gives a row the length one; says whether that was possible.
pub(super) fn normalise(row: &mut [f32]) -> bool {
    let length = sum_of_squares(row).sqrt();
    if !(length.is_finite() && length > 0.0) {
        return false;
    }
    for value in row.iter_mut() {
        *value /= length;
    }
    true
}

/// Turns scores, multiplied with `scale`, into shares of one.
pub(super) fn softmax(row: &mut [f32], scale: f32) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for value in row.iter_mut() {
        *value = exp((*value - largest) * scale);
    }
    let share = 1.0 / sum(row);
    for value in row.iter_mut() {
        *value *= share;
    }
}

/// The Gaussian error linear unit in its exact form, after a bias.
pub(super) fn gelu(row: &mut [f32], bias: &[f32]) {
    for (value, bias) in row.iter_mut().zip(bias) {
        let x = *value + bias;
        *value = 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Multiplies `row` with the sigmoid linear unit of `gate`.
pub(super) fn gate(row: &mut [f32], gate: &[f32]) {
    for (value, gate) in row.iter_mut().zip(gate) {
        *value *= gate / (1.0 + exp(-gate));
    }
}

/// Turns each pair of numbers, one from either half of `head`, by the angle of its position.
pub(super) fn rotate(head: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let (first, second) = head.split_at_mut(head.len() / 2);
    for (((one, two), cosine), sine) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
        (*one, *two) = (*one * cosine - *two * sine, *two * cosine + *one * sine);
    }
}

/// Adds one row to another.
pub(super) fn add(row: &mut [f32], other: &[f32]) {
    for (value, other) in row.iter_mut().zip(other) {
        *value += other;
    }
}

/// The angles of rotary positions: cosines and sines for each position, one for each pair of numbers.
pub(super) struct Rotations {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    half: usize,
}

impl Rotations {
    pub(super) fn new(base: f64, head: usize, positions: usize) -> Self {
        let half = head / 2;
        let mut cosines = Vec::with_capacity(positions * half);
        let mut sines = Vec::with_capacity(positions * half);
        for position in 0..positions {
            for pair in 0..half {
                let angle = position as f64 * base.powf(-2.0 * pair as f64 / head as f64);
                cosines.push(angle.cos() as f32);
                sines.push(angle.sin() as f32);
            }
        }
        Rotations {
            cosines,
            sines,
            half,
        }
    }

    /// Turns one head of the token at a position.
    pub(super) fn turn(&self, head: &mut [f32], position: usize) {
        let pairs = position * self.half..(position + 1) * self.half;
        if let (Some(cosines), Some(sines)) =
            (self.cosines.get(pairs.clone()), self.sines.get(pairs))
        {
            rotate(head, cosines, sines);
        }
    }
}

// Eight partial sums: one running sum would be added up one number after the other, as rounding does not allow another order.
fn sum(row: &[f32]) -> f32 {
    let (eights, rest) = row.as_chunks::<8>();
    let mut sums = [0f32; 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

fn sum_of_squares(row: &[f32]) -> f32 {
    let (eights, rest) = row.as_chunks::<8>();
    let mut sums = [0f32; 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value * value;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>()
}

/// e to the power of `x`, without branches: 2^n from the bits of a number, times a polynomial for the rest within ±ln 2 / 2.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const TO_INTEGER: f32 = 12_582_912.0; // 1.5 × 2^23: adding and subtracting it rounds to an integer.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let n = shifted - TO_INTEGER;
    let rest = x - n * LN2_HIGH - n * LN2_LOW;
    let mut series = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = series * rest + coefficient;
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    series * power
}

/// The error function, with an error below 2 × 10⁻⁷ (Abramowitz and Stegun, 7.1.26).
#[inline(always)]
fn erf(x: f32) -> f32 {
    let magnitude = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * magnitude);
    let mut series = 1.061_405_4;
    for coefficient in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = series * t + coefficient;
    }
    (1.0 - series * t * exp(-magnitude * magnitude)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f32, expected: f32, tolerance: f32) {
        assert!(
            (found - expected).abs() <= tolerance,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn exponential_is_that_of_the_library() {
        for step in -8_700..=8_800 {
            let x = step as f32 / 100.0;
            let expected = x.exp();
            assert_near(exp(x), expected, expected * 3e-7);
        }
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
        assert!(exp(f32::NAN).is_nan());
    }

    // Values of the error function from tables.
    #[test]
    fn error_function_is_that_of_the_tables() {
        let known = [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (4.0, 1.0),
        ];
        for (x, expected) in known {
            assert_near(erf(x), expected, 3e-7);
            assert_near(erf(-x), -expected, 3e-7);
        }
    }

    #[test]
    fn softmax_gives_shares_of_one() {
        let mut row = [1.0, 2.0, 3.0, -1e30];
        softmax(&mut row, 2.0);
        let total = 1f32 + (-2f32).exp() + (-4f32).exp();
        for (found, expected) in row.iter().zip([
            (-4f32).exp() / total,
            (-2f32).exp() / total,
            1.0 / total,
            0.0,
        ]) {
            assert_near(*found, expected, 1e-6);
        }
    }

    #[test]
    fn norms_do_what_they_say() {
        let mut row: Vec<f32> = (0..11).map(|value| value as f32).collect();
        layer_norm(&mut row, &[2.0; 11], &[1.0; 11], 0.0);
        assert_near(row.iter().sum::<f32>() / 11.0, 1.0, 1e-6);
        assert_near(row[10], 1.0 + 2.0 * 5.0 / 10f32.sqrt(), 1e-5);
        let mut row = [3.0, 4.0];
        rms_norm(&mut row, &[1.0, 2.0], 0.0);
        assert_near(row[1], 2.0 * 4.0 / 12.5f32.sqrt(), 1e-6);
        assert!(normalise(&mut row));
        assert_near(row[0] * row[0] + row[1] * row[1], 1.0, 1e-6);
        assert!(!normalise(&mut [0.0, 0.0]));
        assert!(!normalise(&mut [1.0, f32::NAN]));
    }

    #[test]
    fn activations_are_exact() {
        let mut row = [0.5, -3.0];
        gelu(&mut row, &[0.5, 0.0]);
        assert_near(row[0], 0.841_344_7, 1e-6);
        assert_near(row[1], -0.004_049_69, 1e-6);
        let mut row = [2.0, 2.0];
        gate(&mut row, &[1.0, -1.0]);
        assert_near(row[0], 2.0 / (1.0 + (-1f32).exp()), 1e-6);
        assert_near(row[1], -2.0 / (1.0 + 1f32.exp()), 1e-6);
    }

    #[test]
    fn positions_turn_pairs() {
        let rotations = Rotations::new(10_000.0, 4, 3);
        let mut head = [1.0, 0.0, 0.0, 1.0];
        rotations.turn(&mut head, 2);
        assert_near(head[0], 2f32.cos(), 1e-6);
        assert_near(head[2], 2f32.sin(), 1e-6);
        assert_near(head[1], -0.02f32.sin(), 1e-6);
        assert_near(head[3], 0.02f32.cos(), 1e-6);
    }
}
