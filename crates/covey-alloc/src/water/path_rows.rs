//! The paths of flows by the link to which they are attached, for fabrics with many links.

use covey_core::sets::bits::has_bit;

/// Up to so many links are in a piece of a path: with a weight, a piece is 32 bytes.
const HOPS: usize = 5;

/// A part of the path of a bundle, without the link to which it is attached.
#[derive(Debug, Clone, Copy)]
struct Piece {
    weight: f64,
    hops: u32,
    links: [u32; HOPS],
}

/// For each link, the bundles attached to it in the order of the link's list: what their flows
/// count for, and the other links that they cross. A bundle has a piece, or several if some path is
/// long.
///
/// A new water level is told to all these links, so they stand in memory one after the other.
#[derive(Debug, Default)]
pub struct PathRows {
    /// Pieces of each bundle.
    pieces: usize,
    rows: Vec<Vec<Piece>>,
}

impl PathRows {
    /// No bundles on so many links.
    pub fn clear(&mut self, links: usize) {
        self.pieces = 1;
        self.rows.iter_mut().for_each(Vec::clear);
        self.rows.resize_with(links.max(self.rows.len()), Vec::new);
    }

    /// Appends a bundle to the row of `link`.
    pub fn push(&mut self, link: usize, path: &[u32], weight: f64) {
        let others = path.len() - 1;
        if others > self.pieces * HOPS {
            self.widen(others.div_ceil(HOPS));
        }
        let row = &mut self.rows[link];
        let start = row.len();
        let none = Piece { weight, hops: 0, links: [0; HOPS] };
        row.resize(start + self.pieces, none);
        for (k, &other) in path.iter().filter(|&&other| other as usize != link).enumerate() {
            let piece = &mut row[start + k / HOPS];
            piece.links[k % HOPS] = other;
            piece.hops += 1;
        }
    }

    /// Takes a bundle out, whose place the last one of the link takes.
    pub fn swap_remove(&mut self, link: usize, place: usize) {
        let row = &mut self.rows[link];
        let last = row.len() - self.pieces;
        row.copy_within(last.., place * self.pieces);
        row.truncate(last);
    }

    /// The flows of a bundle count for so much more from now on.
    pub fn add_weight(&mut self, link: usize, place: usize, by: f64) {
        for piece in &mut self.rows[link][place * self.pieces..][..self.pieces] {
            piece.weight += by;
        }
    }

    /// The flows of all bundles of a link count for such a part of what they did.
    pub fn scale(&mut self, link: usize, part: f64) {
        self.rows[link].iter_mut().for_each(|piece| piece.weight *= part);
    }

    /// What the flows of bundles count for, and other links that they cross: in order of the list,
    /// some bundles several times with other links each time.
    #[inline(always)]
    pub fn row(&self, link: usize) -> impl Iterator<Item = (f64, &[u32])> {
        self.rows[link].iter().map(|piece| (piece.weight, &piece.links[..piece.hops as usize]))
    }

    /// Whether bundles attached to `link` cross a `full` link whose level is below `level`. Most
    /// links are not full, and a bit says so without a look at their level.
    pub fn crosses_lower(&self, link: usize, level: f64, levels: &[f64], full: &[u64]) -> bool {
        let is_lower = |l: usize| has_bit(full, l) && levels[l] < level;
        self.row(link).any(|(_, path)| path.iter().any(|&l| is_lower(l as usize)))
    }

    /// Makes room for longer paths.
    fn widen(&mut self, pieces: usize) {
        for row in &mut self.rows {
            let before = std::mem::take(row);
            for of_one in before.chunks(self.pieces) {
                row.extend_from_slice(of_one);
                let none = Piece { hops: 0, ..of_one[0] };
                row.resize(row.len() + pieces - self.pieces, none);
            }
        }
        self.pieces = pieces;
    }
}
