//! Weights by pair of links, in a table, for fabrics with few links.

use crate::bits::set_bit;
use crate::simd::bitmask;

/// The number of links up to which a table is kept.
pub const MAX_DENSE_LINKS: usize = 1536;

/// For each link, the number of flows that are attached to it, by the other links that they cross. With the
/// table, a new water level costs one pass over a row, in vector instructions, instead of one pass over all
/// bundles.
///
/// Much of a row is zero, so bits say where it is not: for 64 links at once, and for the question whether any link
/// is lower or higher. With them, `fair` on the public Facebook trace, `fat-tree:k=8` with a hash for each flow,
/// takes 3.8 instead of 4.3 s of CPU (three pairs of runs), and `aalo` 172 instead of 203 MB.
#[derive(Debug, Default)]
pub struct DenseRows {
    links: usize,
    /// Flows attached at one link (row) that cross another (column).
    weights: Vec<f32>,
    /// Words in a row of bits.
    words: usize,
    /// By link, the links that are crossed by flows attached to it.
    crossed: Vec<u64>,
    /// By link, the links to which flows that cross it are attached.
    attached: Vec<u64>,
}

impl DenseRows {
    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        self.links = links;
        self.words = links.div_ceil(64);
        self.weights.clear();
        self.weights.resize(links * links, 0.0);
        for rows in [&mut self.crossed, &mut self.attached] {
            rows.clear();
            rows.resize(links * self.words, 0);
        }
    }

    /// So many flows on a path are attached to `link` from now on; fewer, if `by` is below zero.
    pub fn add(&mut self, link: usize, path: &[u32], by: f32) {
        for other in path.iter().map(|&other| other as usize).filter(|&other| other != link) {
            let weight = &mut self.weights[link * self.links + other];
            *weight += by;
            if (*weight == 0.0) != (*weight == by) {
                let any = *weight != 0.0;
                set_bit(&mut self.crossed[link * self.words..], other, any);
                set_bit(&mut self.attached[other * self.words..], link, any);
            }
        }
    }

    fn row<'a>(&self, rows: &'a [u64], link: usize) -> &'a [u64] {
        &rows[link * self.words..(link + 1) * self.words]
    }

    /// Whether flows attached to `link` cross a link whose level is below `level`.
    pub fn crosses_lower(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        any(self.row(&self.crossed, link), levels, |other| other < level)
    }

    /// Whether flows that cross `link` are attached to a link whose level is above `level`.
    pub fn is_crossed_from_higher(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        any(self.row(&self.attached, link), levels, |other| other > level)
    }

    /// The flows attached to `link` get `by` more: adds that to what is used of all links. Calls `off` with the
    /// number of a word, the bits of those of its links whose level may be wrong then, and what is used of all links.
    ///
    /// These are the `full` links that the flows cross, and those of which more than the `ceiling` is used. What is
    /// used of full links need not be compared, and of the others only if it rises. On every fifth coflow of the
    /// Facebook trace, `fat-tree:k=8`, `fair` takes 5.7 % fewer instructions so, `fifo-lm` 3.9 and `aalo` 3.8 %, than
    /// with two bounds of each link and a comparison of both.
    pub fn raise(
        &self,
        link: usize,
        by: f64,
        used: &mut [f64],
        (full, ceiling): (&[u64], &[f64]),
        mut off: impl FnMut(usize, u64, &[f64]),
    ) {
        let row = &self.weights[link * self.links..(link + 1) * self.links];
        let crossed = self.row(&self.crossed, link);
        for (word, row) in row.chunks(64).enumerate().filter(|&(word, _)| crossed[word] != 0) {
            let here = 64 * word..64 * word + row.len();
            let (some, ceiling) = (&mut used[here.clone()], &ceiling[here]);
            for (used, &weight) in some.iter_mut().zip(row) {
                *used += f64::from(weight) * by;
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

/// Whether `is` holds for the level of any link of a row. Vectorises if `is` has no branch.
fn any(row: &[u64], levels: &[f64], is: impl Fn(f64) -> bool) -> bool {
    let with_bits = row.iter().zip(levels.chunks(64)).filter(|(links, _)| **links != 0);
    with_bits.into_iter().any(|(links, levels)| links & bitmask(levels.iter().map(|&l| is(l))) != 0)
}
