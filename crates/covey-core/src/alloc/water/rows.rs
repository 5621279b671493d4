//! By link, what the flows attached there cross beside it.

use super::bundles::Bundles;
use super::dense_rows::DenseRows;
use super::path_rows::PathRows;

/// A row for each link, in one of two forms: it costs as much as the fabric has links, or as the bundles there.
#[derive(Debug)]
pub enum Rows {
    Dense(DenseRows),
    Paths(PathRows),
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Paths(PathRows::default())
    }
}

impl Rows {
    /// No flows on so many links; tables of links if `is_dense`.
    pub fn start(&mut self, links: usize, is_dense: bool) {
        if is_dense != self.is_dense() {
            *self = match is_dense {
                true => Rows::Dense(DenseRows::default()),
                false => Rows::default(),
            };
        }
        self.clear(links);
    }

    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        match self {
            Rows::Dense(rows) => rows.clear(links),
            Rows::Paths(rows) => rows.clear(links),
        }
    }

    /// Whether there are tables of links.
    pub fn is_dense(&self) -> bool {
        matches!(self, Rows::Dense(_))
    }

    /// A bundle has been attached: it is the last in the list of its link.
    pub fn attach(&mut self, bundles: &Bundles, bundle: u32) {
        let (link, path, weight) =
            (bundles.attached(bundle) as usize, bundles.path(bundle), bundles.weight(bundle));
        match self {
            Rows::Dense(rows) => rows.add(link, path, weight as i32),
            Rows::Paths(rows) => rows.push(link, path, weight),
        }
    }

    /// A bundle is about to be detached: the last in the list of its link takes its place.
    pub fn detach(&mut self, bundles: &Bundles, bundle: u32) {
        let link = bundles.attached(bundle) as usize;
        match self {
            Rows::Dense(rows) => {
                rows.add(link, bundles.path(bundle), -bundles.weight(bundle) as i32);
            }
            Rows::Paths(rows) => rows.swap_remove(link, bundles.place(bundle)),
        }
    }

    /// Whether flows attached to `link` cross a link whose level is below `level`.
    pub fn crosses_lower(&self, link: usize, level: f64, levels: &[f64]) -> bool {
        match self {
            Rows::Dense(rows) => rows.crosses_lower(link, level, levels),
            Rows::Paths(rows) => rows.crosses_lower(link, level, levels),
        }
    }

    /// A bundle has got flows that count for so much, or has lost some.
    pub fn weigh(&mut self, bundles: &Bundles, bundle: u32, by: f64) {
        let link = bundles.attached(bundle) as usize;
        match self {
            Rows::Dense(rows) => rows.add(link, bundles.path(bundle), by as i32),
            Rows::Paths(rows) => rows.add_weight(link, bundles.place(bundle), by),
        }
    }
}
