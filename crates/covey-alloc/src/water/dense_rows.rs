//! Numbers of flows by pair of links, in a table, for fabrics with few links.

use covey_core::sets::bits::{bits, set_bit};
use covey_core::sets::simd::bitmask;

/// The number of links up to which a table is kept.
pub const MAX_DENSE_LINKS: usize = 1536;

/// Up to so many links of a word are looked at one by one.
const FEW: u32 = 8;

/// For each link, the number of flows that are attached to it, by the other links that they cross.
/// With the table, a new water level costs one pass over a row, in vector instructions, instead of
/// one pass over all bundles.
///
/// Much of a row is zero. Bits mark the entries that are not, 64 links in a word: passes skip words
/// without a bit.
#[derive(Debug, Default)]
pub struct DenseRows {
    links: usize,
    /// Flows attached at one link (row) that cross another (column).
    flows: Numbers,
    /// Words in a row of bits.
    words: usize,
    /// By link, the links that are crossed by flows attached to it.
    crossed: Vec<u64>,
    /// By link, the links to which flows that cross it are attached.
    attached: Vec<u64>,
}

/// Numbers of flows, in as few bytes as is enough for all. The rows of a wide coflow fill much of a
/// cache.
#[derive(Debug)]
enum Numbers {
    Bytes(Vec<u8>),
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Bytes(Vec::new())
    }
}

impl Numbers {
    /// Makes these `count` zeros.
    fn clear(&mut self, count: usize) {
        let mut bytes = match std::mem::take(self) {
            Numbers::Bytes(numbers) => numbers,
            Numbers::Short(_) | Numbers::Long(_) => Vec::new(),
        };
        bytes.clear();
        bytes.resize(count, 0);
        *self = Numbers::Bytes(bytes);
    }

    /// Changes a number. Returns what it was and what it is.
    #[inline(always)]
    fn add(&mut self, place: usize, by: i32) -> (u32, u32) {
        let changed = match self {
            Numbers::Bytes(numbers) => change(&mut numbers[place], by),
            Numbers::Short(numbers) => change(&mut numbers[place], by),
            Numbers::Long(numbers) => change(&mut numbers[place], by),
        };
        changed.unwrap_or_else(|| self.add_wider(place, by))
    }

    /// The same, where the number that it is takes more bytes.
    #[cold]
    fn add_wider(&mut self, place: usize, by: i32) -> (u32, u32) {
        *self = match std::mem::take(self) {
            Numbers::Bytes(numbers) => Numbers::Short(widened(&numbers)),
            Numbers::Short(numbers) => Numbers::Long(widened(&numbers)),
            Numbers::Long(numbers) => Numbers::Long(numbers),
        };
        self.add(place, by)
    }
}

/// Changes a number. Returns what it was and what it is; `None` if that is too great.
#[inline(always)]
fn change<N: Copy + Into<u32> + TryFrom<u32>>(place: &mut N, by: i32) -> Option<(u32, u32)> {
    let was = (*place).into();
    let is = was.wrapping_add_signed(by);
    *place = N::try_from(is).ok()?;
    Some((was, is))
}

fn widened<N: Copy + Into<M>, M>(numbers: &[N]) -> Vec<M> {
    numbers.iter().map(|&number| number.into()).collect()
}

/// By which links are found that are off; see [`DenseRows::raise`].
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Full links, a bit each.
    pub full: &'a [u64],
    /// The most that may be used of each link.
    pub ceiling: &'a [f64],
}

impl DenseRows {
    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        self.links = links;
        self.words = links.div_ceil(64);
        self.flows.clear(links * links);
        for rows in [&mut self.crossed, &mut self.attached] {
            rows.clear();
            rows.resize(links * self.words, 0);
        }
    }

    /// Attaches `by` more flows on a path to `link`; detaches flows if `by` is below zero.
    pub fn add(&mut self, link: usize, path: &[u32], by: i32) {
        for other in path.iter().map(|&other| other as usize).filter(|&other| other != link) {
            let (was, is) = self.flows.add(link * self.links + other, by);
            if (was > 0) != (is > 0) {
                let any = is > 0;
                set_bit(&mut self.crossed[link * self.words..], other, any);
                set_bit(&mut self.attached[other * self.words..], link, any);
            }
        }
    }

    fn row<'a>(&self, rows: &'a [u64], link: usize) -> &'a [u64] {
        &rows[link * self.words..(link + 1) * self.words]
    }

    /// Whether flows attached to `link` cross a `full` link whose level is below `level`.
    pub fn crosses_lower(&self, link: usize, level: f64, levels: &[f64], full: &[u64]) -> bool {
        let crossed = self.row(&self.crossed, link).iter().zip(full);
        any(crossed.map(|(crossed, full)| crossed & full), levels, |other| other < level)
    }

    /// Whether flows that cross `link` are attached to a link whose level is above `level`.
    pub fn is_crossed_from_higher(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        any(self.row(&self.attached, link).iter().copied(), levels, |other| other > level)
    }

    /// The flows attached to `link` get `by` more: adds that to what is used of all links. Calls
    /// `off` with the number of a word, the bits of those of its links whose level may be wrong
    /// then, and what is used of all links.
    ///
    /// These are the `full` links that the flows cross, and those of which more than the `ceiling`
    /// is used. What is used of full links need not be compared, and of the others only if it
    /// rises.
    pub fn raise(
        &self,
        link: usize,
        by: f64,
        used: &mut [f64],
        bounds: Bounds<'_>,
        off: impl FnMut(usize, u64, &[f64]),
    ) {
        let row = link * self.links..(link + 1) * self.links;
        match &self.flows {
            Numbers::Bytes(flows) => self.raise_row(&flows[row], link, by, used, bounds, off),
            Numbers::Short(flows) => self.raise_row(&flows[row], link, by, used, bounds, off),
            Numbers::Long(flows) => self.raise_row(&flows[row], link, by, used, bounds, off),
        }
    }

    #[inline(always)]
    fn raise_row<N: Copy + Into<f64>>(
        &self,
        row: &[N],
        link: usize,
        by: f64,
        used: &mut [f64],
        bounds: Bounds<'_>,
        mut off: impl FnMut(usize, u64, &[f64]),
    ) {
        let Bounds { full, ceiling } = bounds;
        let crossed = self.row(&self.crossed, link);
        for (word, row) in row.chunks(64).enumerate().filter(|&(word, _)| crossed[word] != 0) {
            if crossed[word].count_ones() <= FEW {
                let mut are_off = crossed[word] & full[word];
                for k in bits([crossed[word]].into_iter()) {
                    let link = 64 * word + k;
                    used[link] += row[k].into() * by;
                    are_off |= u64::from(used[link] > ceiling[link]) << k;
                }
                if are_off != 0 {
                    off(word, are_off, used);
                }
                continue;
            }
            let here = 64 * word..64 * word + row.len();
            let (some, ceiling) = (&mut used[here.clone()], &ceiling[here]);
            for (used, &flows) in some.iter_mut().zip(row) {
                *used += flows.into() * by;
            }
            let mut are_off = crossed[word] & full[word];
            let over = |(used, ceiling): (&f64, &f64)| used > ceiling;
            if by > 0.0 && some.iter().zip(ceiling).fold(false, |any, it| any | over(it)) {
                are_off |= bitmask(some.iter().zip(ceiling).map(over));
            }
            if are_off != 0 {
                off(word, are_off, used);
            }
        }
    }
}

/// Whether `is` holds for the level of any link with a bit. Vectorises if `is` has no branch.
#[inline(always)]
fn any(links: impl Iterator<Item = u64>, levels: &[f64], is: impl Fn(f64) -> bool) -> bool {
    let mut words = links.zip(levels.chunks(64)).filter(|&(links, _)| links != 0);
    words.any(|(links, levels)| match links.count_ones() {
        ..=FEW => bits([links].into_iter()).any(|link| is(levels[link])),
        _ => links & bitmask(levels.iter().map(|&level| is(level))) != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each link is used for if the flows attached to link 0 get one more.
    fn used(rows: &DenseRows, links: usize) -> Vec<f64> {
        let mut used = vec![0.0; links];
        let (full, ceiling) = (vec![0; 1], vec![f64::INFINITY; links]);
        rows.raise(0, 1.0, &mut used, Bounds { full: &full, ceiling: &ceiling }, |_, _, _| {});
        used
    }

    #[test]
    fn numbers_of_flows_are_as_long_as_they_have_to_be() {
        let mut rows = DenseRows::default();
        for most in [255, 65_535] {
            rows.clear(3);
            rows.add(0, &[0, 1], most);
            rows.add(0, &[0, 2], 7);
            assert_eq!(used(&rows, 3), [0.0, most.into(), 7.0]);
            rows.add(0, &[0, 1], 1);
            rows.add(0, &[0, 2], 70_000);
            assert_eq!(used(&rows, 3), [0.0, f64::from(most) + 1.0, 70_007.0]);
            rows.add(0, &[0, 1], -most - 1);
            assert_eq!(used(&rows, 3), [0.0, 0.0, 70_007.0]);
            assert!(!rows.is_crossed_from_higher(1, 1.0, &[2.0; 3]));
            assert!(rows.is_crossed_from_higher(2, 1.0, &[2.0; 3]));
        }
    }
}
