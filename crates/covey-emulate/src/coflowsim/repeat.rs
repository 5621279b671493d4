//! Repeated additions and subtractions of the same numbers in one step, with every rounding.
//!
//! CoflowSim subtracts the bytes sent in a quantum from two counters and adds them to a third,
//! quantum by quantum, in double precision. The counters drift apart, and the drift affects
//! results. The emulation needs their exact values without hundreds of operations per flow.
//!
//! Between two powers of two all doubles are multiples of one unit. While a counter stays between
//! them, each number changes it by the same whole number of units each time. Only a number exactly
//! half way between two units may be rounded either way: the result is an even counter, and from an
//! even counter the rounding is always the same. So one pass settles ties, and a second pass shows
//! the change per pass. One exact multiplication replaces all further passes. Near a power of two
//! that the counter approaches, and near zero, the emulation makes single passes. If no number lies
//! half way, and the counter surely stays between the two powers, the order of operations does not
//! matter. Then each number is multiplied by its count ([`Units`]).

use super::scale::ZERO;

/// A flow after some quanta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drained {
    /// Bytes left.
    pub left: f64,
    /// The quantum in which it ended, counted from 1.
    pub ended: Option<u64>,
    /// The bytes that it sent in the last quantum.
    pub last: f64,
}

/// The unit of a counter between two powers of two. Each number changes the counter by a fixed
/// number of units, unless it lies half way between two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    /// The lower power of two.
    pub floor: f64,
    pub unit: f64,
    per_byte: f64,
}

impl Units {
    /// The units of a counter at `count`; `None` if it is almost zero.
    pub fn of(count: f64) -> Option<Units> {
        let floor = power_below(count);
        let unit = floor * f64::EPSILON;
        (floor > ZERO).then(|| Units { floor, unit, per_byte: 1.0 / unit })
    }

    /// Bytes in whole units; NaN if they lie half way between two.
    pub fn whole(&self, bytes: f64) -> f64 {
        let exact = bytes * self.per_byte;
        let whole = exact.round_ties_even();
        if (exact - whole).abs() == 0.5 { f64::NAN } else { whole }
    }

    /// `count` less `units`; `None` if the rest may leave the two powers of two, where rounding
    /// differs.
    pub fn less(&self, count: f64, units: f64) -> Option<f64> {
        let rest = count - units * self.unit;
        (rest >= self.floor + self.unit).then_some(rest)
    }

    /// `count` plus `units`; `None` as for [`Units::less`].
    pub fn more(&self, count: f64, units: f64) -> Option<f64> {
        let sum = count + units * self.unit;
        (sum <= 2.0 * self.floor).then_some(sum)
    }
}

/// The power of two below a number.
fn power_below(number: f64) -> f64 {
    f64::from_bits(number.to_bits() & (0x7ff << 52))
}

/// Drains a flow of `left` bytes that sends `step` bytes, or all bytes left, in each of `quanta`
/// quanta.
pub(super) fn drain(mut left: f64, step: f64, quanta: u64) -> Drained {
    let units = Units::of(left);
    let rest = units.and_then(|units| units.less(left, quanta as f64 * units.whole(step)));
    if let Some(left) = rest {
        return Drained { left, ended: None, last: step };
    }
    let mut done = 0;
    while done < quanta {
        let last = step.min(left);
        left -= last;
        done += 1;
        if left <= ZERO {
            return Drained { left, ended: Some(done), last };
        }
        let (more, then) = skip_passes(left, quanta - done, |x| x - step);
        done += more;
        left = then;
    }
    Drained { left, ended: None, last: step }
}

/// Subtracts all of `steps` from `left`, `quanta` times. Stops when `left` is no longer above zero;
/// then returns the quantum, counted from 1, and the step, counted from 0.
pub(super) fn count_down(left: &mut f64, steps: &[f64], quanta: u64) -> Option<(u64, usize)> {
    if steps.is_empty() {
        return None;
    }
    let mut done = 0;
    while done < quanta {
        done += 1;
        for (number, step) in steps.iter().enumerate() {
            *left -= step;
            if *left <= ZERO {
                return Some((done, number));
            }
        }
        let (more, then) =
            skip_passes(*left, quanta - done, |x| steps.iter().fold(x, |x, s| x - s));
        done += more;
        *left = then;
    }
    None
}

/// Applies `pass`, which adds or subtracts some numbers, `times` times to `count`.
pub(super) fn repeat(mut count: f64, times: u64, pass: impl Fn(f64) -> f64) -> f64 {
    let mut done = 0;
    while done < times {
        count = pass(count);
        done += 1;
        let (more, then) = skip_passes(count, times - done, &pass);
        done += more;
        count = then;
    }
    count
}

/// Skips passes from `x` on that surely stay between its powers of two, at most `max`. Returns
/// their number, and the result.
fn skip_passes(x: f64, max: u64, pass: impl Fn(f64) -> f64) -> (u64, f64) {
    let floor = power_below(x);
    if max < 2 {
        return (0, x);
    }
    // The first pass settles ties, the second shows the change that every further pass makes.
    let settled = pass(x);
    if settled == x {
        return (max, x);
    }
    let y = pass(settled);
    if floor <= ZERO || !(floor..=2.0 * floor).contains(&y) {
        return (0, x);
    }
    let change = y - settled;
    if change == 0.0 {
        return (max, y);
    }
    let room = if change < 0.0 { y - floor } else { 2.0 * floor - y };
    // One pass fewer than there is room for, because the division is rounded.
    let passes = ((room / change.abs()) as u64).saturating_sub(1).min(max - 2);
    (2 + passes, y + passes as f64 * change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::java_random::JavaRandom;

    fn slowly(mut left: f64, step: f64, quanta: u64) -> Drained {
        for quantum in 1..=quanta {
            let last = step.min(left);
            left -= last;
            if left <= ZERO {
                return Drained { left, ended: Some(quantum), last };
            }
        }
        Drained { left, ended: None, last: step }
    }

    /// A number of bytes with all its digits, or with few, so that there are ties.
    fn number(random: &mut JavaRandom, max: f64) -> f64 {
        let number = max * random.next_double().powi(3) + 1e-9;
        match random.next_int(3) {
            0 => number,
            1 => f64::from(number as f32),
            _ => f64::from_bits(number.to_bits() >> 44 << 44),
        }
    }

    #[test]
    fn drains_as_single_steps_do() {
        let mut random = JavaRandom::new(1);
        for _ in 0..20_000 {
            let left = number(&mut random, 1e9);
            let max = if random.next_int(9) == 0 { 1e-3 } else { 1e7 };
            let step = number(&mut random, max);
            let quanta = random.next_int(2000) as u64;
            let slow = slowly(left, step, quanta);
            assert_eq!(drain(left, step, quanta), slow, "{left:?} {step:?} {quanta}");
        }
    }

    #[test]
    fn counts_up_as_single_steps_do() {
        let mut random = JavaRandom::new(3);
        for _ in 0..5_000 {
            let start = if random.next_int(3) == 0 { 0.0 } else { number(&mut random, 1e9) };
            let steps = random.next_int(20) + 1;
            let steps: Vec<f64> = (0..steps).map(|_| number(&mut random, 1e6)).collect();
            let quanta = random.next_int(1000) as u64;
            let fast = repeat(start, quanta, |x| steps.iter().fold(x, |x, step| x + step));
            let mut slow = start;
            (0..quanta).for_each(|_| steps.iter().for_each(|step| slow += step));
            assert_eq!(fast.to_bits(), slow.to_bits(), "{start:?} {quanta}");
        }
    }

    #[test]
    fn ties_are_rounded_as_single_steps_do() {
        // The unit of numbers from 2^53 to 2^54 is 2: every odd step is a tie.
        for start in [2_f64.powi(53) + 9e6, 2_f64.powi(53) + 9e6 + 2.0] {
            for step in [1.0, 3.0, 5.0, 7.0] {
                assert_eq!(drain(start, step, 999), slowly(start, step, 999), "{start} {step}");
            }
        }
    }

    #[test]
    fn below_a_power_of_two_units_are_half_as_large() {
        let (floor, unit) = (2_f64.powi(30), 2_f64.powi(-22));
        for quanta in 1..9 {
            let left = floor + quanta as f64 * unit;
            let step = 1.3 * unit;
            assert_eq!(drain(left, step, quanta), slowly(left, step, quanta), "{quanta}");
        }
    }

    #[test]
    fn counts_down_as_single_steps_do() {
        let mut random = JavaRandom::new(2);
        for _ in 0..5_000 {
            let start = number(&mut random, 1e9);
            let max = if random.next_int(9) == 0 { 1e-3 } else { 1e6 };
            let steps = random.next_int(20) + 1;
            let steps: Vec<f64> = (0..steps).map(|_| number(&mut random, max)).collect();
            let quanta = random.next_int(1000) as u64;
            let (mut fast, mut slow) = (start, start);
            let ended = count_down(&mut fast, &steps, quanta);
            let expected = (1..=quanta).find(|_| {
                steps.iter().any(|step| {
                    slow -= step;
                    slow <= ZERO
                })
            });
            let ended = ended.map(|(quantum, _)| quantum);
            assert_eq!((ended, fast.to_bits()), (expected, slow.to_bits()), "{start:?} {quanta}");
        }
    }
}
