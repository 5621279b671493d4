//! Links divided in proportion to weights.
//!
//! A link's level is its capacity over the weights of all flows that cross it. A flow gets its
//! weight times the lowest level on its path; what others cannot use is left idle. So a level
//! depends on nothing but the flows at its link.

use crate::exact_sum::ExactSum;

/// What is known of links that are divided in proportion.
#[derive(Debug, Default)]
pub struct Divided {
    /// By link, the weights of the flows that cross it.
    pub weights: Vec<ExactSum>,
    /// Working memory: links with other flows than before, and the levels that they had before.
    pub changed: Vec<(u32, f64)>,
}

impl Divided {
    /// No flows on so many links.
    pub fn new(links: usize) -> Divided {
        let mut weights = Vec::new();
        weights.resize_with(links, ExactSum::default);
        Divided { weights, changed: Vec::new() }
    }
}
