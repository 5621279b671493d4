//! Weights by pair of links, in tables, for fabrics with few links.

use crate::simd::bitmask;

/// For each link, the number of flows that are attached to it, by the other links that they cross; and the
/// reverse. With the tables, a new water level costs one pass over a row, in vector instructions, instead of
/// one pass over all bundles.
///
/// Measured with `fair` on the public Facebook trace, `fat-tree:k=8` with a hash for each flow: see the
/// comment of [`MAX_DENSE_LINKS`].
#[derive(Debug, Default)]
pub struct DenseRows {
    links: usize,
    /// Flows attached at one link (row) that cross another (column).
    attached: Vec<f32>,
    /// The same, transposed.
    crossing: Vec<f32>,
}

/// The number of links up to which tables are kept.
pub const MAX_DENSE_LINKS: usize = 1536;

impl DenseRows {
    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        self.links = links;
        for table in [&mut self.attached, &mut self.crossing] {
            table.clear();
            table.resize(links * links, 0.0);
        }
    }

    /// So many flows on a path are attached to `link` from now on; fewer, if `by` is below zero.
    pub fn add(&mut self, link: usize, path: &[u32], by: f32) {
        for other in path.iter().map(|&other| other as usize).filter(|&other| other != link) {
            self.attached[link * self.links + other] += by;
            self.crossing[other * self.links + link] += by;
        }
    }

    fn row<'a>(&self, table: &'a [f32], link: usize) -> &'a [f32] {
        &table[link * self.links..(link + 1) * self.links]
    }

    /// Whether flows attached to `link` cross a link whose level is below `level`.
    pub fn crosses_lower(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        let row = self.row(&self.attached, link);
        any(row, levels, |weight, other| (weight > 0.0) & (other < level))
    }

    /// Whether flows that cross `link` are attached to a link whose level is above `level`.
    pub fn is_crossed_from_higher(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        let row = self.row(&self.crossing, link);
        any(row, levels, |weight, other| (weight > 0.0) & (other > level))
    }

    /// The flows attached to `link` get `by` more: adds that to what is used of all links. Calls `visit` for
    /// each 64 links, with their number, a bit for each where `used` is not from `low` to `high` then, and what
    /// is used of them.
    pub fn raise(
        &self,
        link: usize,
        by: f64,
        used: &mut [f64],
        (low, high): (&[f64], &[f64]),
        mut visit: impl FnMut(usize, u64, &[f64]),
    ) {
        let row = self.row(&self.attached, link);
        for (word, row) in row.chunks(64).enumerate() {
            let here = 64 * word..64 * word + row.len();
            let (low, high) = (&low[here.clone()], &high[here.clone()]);
            let some = &mut used[here];
            for (used, &weight) in some.iter_mut().zip(row) {
                *used += f64::from(weight) * by;
            }
            let outside = some.iter().zip(low.iter().zip(high));
            let outside = bitmask(outside.map(|(u, (low, high))| (u < low) | (u > high)));
            visit(word, outside, some);
        }
    }
}

/// Whether `is` holds for any pair. Vectorises if `is` has no branch.
fn any(row: &[f32], levels: &[f64], is: impl Fn(f32, f64) -> bool) -> bool {
    let chunks = row.chunks(64).zip(levels.chunks(64));
    chunks.into_iter().any(|(row, levels)| {
        row.iter().zip(levels).fold(false, |any, (&weight, &level)| any | is(weight, level))
    })
}
