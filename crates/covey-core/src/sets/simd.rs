//! Questions to many numbers at once, in forms that compile to vector instructions.

use crate::sets::bits::bits;
use crate::sets::marked_links::MarkedLinks;

/// The least of `first` and `all`. No comparison waits for the previous one.
pub fn minimum<T: PartialOrd + Copy>(first: T, all: &[T]) -> T {
    const LANES: usize = 16;
    let lower = |a: T, b: T| if a < b { a } else { b };
    let (chunks, rest) = all.as_chunks::<LANES>();
    let mut lanes = [first; LANES];
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = lower(*number, *lane);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(first, lower)
}

/// The least that `worth` makes of the `k`th numbers of all columns, over all `k` that they have;
/// infinity if they have none. NaN is never the least. Vectorises if `worth` has no branch.
pub fn min_by_lane<const N: usize>(columns: [&[f64]; N], worth: impl Fn([f64; N]) -> f64) -> f64 {
    const LANES: usize = 8;
    let lower = |a: f64, b: f64| if a < b { a } else { b };
    let rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    let chunks = columns.map(|column| column[..rows].as_chunks::<LANES>());
    let mut lanes = [f64::INFINITY; LANES];
    for c in 0..rows / LANES {
        let here = chunks.map(|(chunks, _)| &chunks[c]);
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane = lower(worth(here.map(|chunk| chunk[j])), *lane);
        }
    }
    let rest = (0..rows % LANES).map(|j| worth(chunks.map(|(_, rest)| rest[j])));
    lanes.into_iter().chain(rest).fold(f64::INFINITY, |least, worth| lower(worth, least))
}

/// Packs up to 64 booleans into a bit mask, lowest bit first. Vectorises if the booleans are
/// computed without a branch.
pub fn bitmask(are: impl Iterator<Item = bool>) -> u64 {
    are.zip(&BITS).fold(0, |word, (is, bit)| word | if is { *bit } else { 0 })
}

/// All words with one bit, in a table: the compiler does not vectorise a shift by a running number.
static BITS: [u64; 64] = {
    let mut bits = [1; 64];
    let mut k = 1;
    while k < bits.len() {
        bits[k] = bits[k - 1] << 1;
        k += 1;
    }
    bits
};

/// The positions `k` for which `is(a[k], b[k])`, ascending. Vectorises if `is` has no branch.
pub fn positions_where(
    a: &[f64],
    b: &[f64],
    is: impl Fn(f64, f64) -> bool,
) -> impl Iterator<Item = usize> {
    bits(
        a.chunks(64)
            .zip(b.chunks(64))
            .map(move |(a, b)| bitmask(a.iter().zip(b).map(|(a, b)| is(*a, *b)))),
    )
}

/// Adds to `positions` those at which `a` differs from `b`; all positions of `a` if `b` has another
/// length. Equal numbers do not differ, and neither do infinities of one sign.
pub fn differences(a: &[f64], b: &[f64], positions: &mut MarkedLinks) {
    let same_length = a.len() == b.len();
    for (k, some) in a.chunks(64).enumerate() {
        let all = u64::MAX >> (64 - some.len());
        let differ = match b.get(64 * k..64 * k + some.len()) {
            Some(b) if same_length => bitmask(some.iter().zip(b).map(|(a, b)| a != b)),
            _ => all,
        };
        positions.insert_run(64 * k, differ);
    }
}

#[cfg(test)]
mod tests {
    use super::{differences, min_by_lane, minimum, positions_where};
    use crate::sets::marked_links::MarkedLinks;

    #[test]
    fn the_least_is_found_wherever_it_is() {
        assert_eq!(minimum(2.0, &[]), 2.0);
        for n in 1..70 {
            for k in 0..n {
                let all: Vec<f64> = (0..n).map(|j| if j == k { -1.0 } else { j as f64 }).collect();
                assert_eq!(minimum(f64::INFINITY, &all), -1.0);
                assert_eq!(minimum(-2.0, &all), -2.0);
                assert_eq!(min_by_lane([&all, &all], |[a, b]| a + b), -2.0);
                let nan_but_there = |[a]: [f64; 1]| if a == -1.0 { a } else { f64::NAN };
                assert_eq!(min_by_lane([&all], nan_but_there), -1.0);
            }
        }
    }

    #[test]
    fn places_are_found_wherever_they_are() {
        for n in 0..200 {
            let all: Vec<f64> = (0..n).map(|k| f64::from(k * 7 % 5)).collect();
            let found: Vec<usize> = positions_where(&all, &all, |a, b| a + b > 4.0).collect();
            let sought: Vec<usize> = (0..all.len()).filter(|&k| all[k] + all[k] > 4.0).collect();
            assert_eq!(found, sought);
        }
    }

    #[test]
    fn differences_are_found_wherever_they_are() {
        let differences = |a: &[f64], b: &[f64]| {
            let mut places = MarkedLinks::default();
            places.start(a.len());
            differences(a, b, &mut places);
            places.iter().collect::<Vec<_>>()
        };
        for n in 0..130 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            for k in 0..n as usize {
                let mut b = a.clone();
                b[k] = -1.0;
                assert_eq!(differences(&a, &b), [k]);
            }
        }
        assert_eq!(differences(&[0.0, 1.0], &[0.0]), [0, 1]);
        assert_eq!(differences(&[f64::INFINITY], &[f64::INFINITY]), []);
    }
}
