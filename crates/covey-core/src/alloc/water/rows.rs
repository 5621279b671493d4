//! By link, what the flows attached there cross beside it.

use super::dense_rows::DenseRows;
use super::links::Links;
use super::path_rows::PathRows;

/// A row for each link, in one of two forms: it costs as much as the fabric has links, or as the bundles there.
///
/// What is called for each bundle is in line: with calls, strict classes take 1.7 % more instructions on every fifth
/// coflow of the Facebook trace, on the big switch.
#[derive(Debug)]
pub enum Rows {
    /// Tables of links.
    Dense(DenseRows),
    /// The paths of bundles.
    Paths(PathRows),
    /// Nobody asks: links are divided in proportion.
    None,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Paths(PathRows::default())
    }
}

impl Rows {
    /// No flows on so many links; tables of links if `is_dense`.
    pub fn start(&mut self, links: usize, is_dense: bool) {
        match (&self, is_dense) {
            (Rows::Dense(_), true) | (Rows::Paths(_), false) => {}
            (_, true) => *self = Rows::Dense(DenseRows::default()),
            (_, false) => *self = Rows::default(),
        }
        self.clear(links);
    }

    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        match self {
            Rows::Dense(rows) => rows.clear(links),
            Rows::Paths(rows) => rows.clear(links),
            Rows::None => {}
        }
    }

    /// Whether there are tables of links.
    pub fn is_dense(&self) -> bool {
        matches!(self, Rows::Dense(_))
    }

    /// A bundle has been attached to `link`: it is the last in its list.
    #[inline(always)]
    pub fn attach(&mut self, link: usize, path: &[u32], weight: f64) {
        match self {
            Rows::Dense(rows) => rows.add(link, path, weight as i32),
            Rows::Paths(rows) => rows.push(link, path, weight),
            Rows::None => {}
        }
    }

    /// A bundle has been detached from `link`, where the last one in the list has taken its place.
    #[inline(always)]
    pub fn detach(&mut self, (link, place): (usize, usize), path: &[u32], weight: f64) {
        match self {
            Rows::Dense(rows) => rows.add(link, path, -weight as i32),
            Rows::Paths(rows) => rows.swap_remove(link, place),
            Rows::None => {}
        }
    }

    /// A bundle has got flows that count for so much, or has lost some.
    #[inline(always)]
    pub fn weigh(&mut self, (link, place): (usize, usize), path: &[u32], by: f64) {
        match self {
            Rows::Dense(rows) => rows.add(link, path, by as i32),
            Rows::Paths(rows) => rows.add_weight(link, place, by),
            Rows::None => {}
        }
    }

    /// Whether flows attached to `link` cross a link whose level is below `level`.
    #[inline(always)]
    pub fn crosses_lower(&self, link: usize, level: f64, links: &Links) -> bool {
        let Links { level: levels, full, .. } = links;
        match self {
            Rows::Dense(rows) => rows.crosses_lower(link, level, levels, full),
            Rows::Paths(rows) => rows.crosses_lower(link, level, levels, full),
            Rows::None => true,
        }
    }
}
