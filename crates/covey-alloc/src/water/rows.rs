//! By link, what the flows attached there cross beside it.

use super::dense_rows::DenseRows;
use super::links::Links;
use super::path_rows::PathRows;

/// What a row costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// As much as there are links: a table of links.
    Dense,
    /// As much as there are bundles: their paths.
    #[default]
    Paths,
    /// Nothing, for nobody asks: links are divided in proportion.
    None,
}

/// A row for each link. The memory of another form is kept.
///
/// What is called for each bundle is in line: with calls, strict classes take 1.7 % more
/// instructions on every fifth coflow of the Facebook trace, on the big switch.
#[derive(Debug, Default)]
pub struct Rows {
    pub form: Form,
    pub dense: DenseRows,
    pub paths: PathRows,
}

impl Rows {
    /// No flows on so many links.
    pub fn start(&mut self, links: usize, form: Form) {
        self.form = form;
        self.clear(links);
    }

    /// No flows on so many links.
    pub fn clear(&mut self, links: usize) {
        match self.form {
            Form::Dense => self.dense.clear(links),
            Form::Paths => self.paths.clear(links),
            Form::None => {}
        }
    }

    /// A bundle has been attached to `link`: it is the last in its list.
    #[inline(always)]
    pub fn attach(&mut self, link: usize, path: &[u32], weight: f64) {
        match self.form {
            Form::Dense => self.dense.add(link, path, weight as i32),
            Form::Paths => self.paths.push(link, path, weight),
            Form::None => {}
        }
    }

    /// A bundle has been detached from `link`, where the last one in the list has taken its place.
    #[inline(always)]
    pub fn detach(&mut self, link: usize, place: usize, path: &[u32], weight: f64) {
        match self.form {
            Form::Dense => self.dense.add(link, path, -weight as i32),
            Form::Paths => self.paths.swap_remove(link, place),
            Form::None => {}
        }
    }

    /// A bundle has got flows that count for so much, or has lost some.
    #[inline(always)]
    pub fn weigh(&mut self, link: usize, place: usize, path: &[u32], by: f64) {
        match self.form {
            Form::Dense => self.dense.add(link, path, by as i32),
            Form::Paths => self.paths.add_weight(link, place, by),
            Form::None => {}
        }
    }

    /// Whether flows attached to `link` cross a link whose level is below `level`.
    #[inline(always)]
    pub fn crosses_lower(&self, link: usize, level: f64, links: &Links) -> bool {
        let Links { level: levels, full, .. } = links;
        match self.form {
            Form::Dense => self.dense.crosses_lower(link, level, levels, full),
            Form::Paths => self.paths.crosses_lower(link, level, levels, full),
            Form::None => true,
        }
    }
}
