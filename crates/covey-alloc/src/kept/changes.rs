//! What has changed for one entry since its previous decision.

use covey_core::sets::marked_links::MarkedLinks;

/// How what an entry finds differs from its previous decision, and how what it leaves does. Links
/// have their local numbers.
#[derive(Debug, Default)]
pub struct Changes {
    /// Whether flows may have come or ended, or the entry has another group or rule.
    pub touched: bool,
    /// Links at which another amount is free than at the previous decision.
    pub dirty: MarkedLinks,
    /// Bytes per second that were free then, by link; valid at dirty links.
    previous_free: Vec<f64>,
    /// Links at which the entry leaves another amount than before.
    pub dirty_after: MarkedLinks,
}

impl Changes {
    /// Nothing has changed at so many links.
    pub fn start(&mut self, links: usize) {
        self.dirty.start_with_room(links);
        self.dirty_after.start_with_room(links);
        self.previous_free.resize(links.max(self.previous_free.len()), 0.0);
    }

    /// At link `l`, where an entry found `before`, it finds `now`.
    #[inline(always)]
    pub fn find(&mut self, l: usize, before: &mut f64, now: f64) {
        let before = std::mem::replace(before, now);
        if before != now {
            self.dirty.insert(l);
            self.previous_free[l] = before;
        }
    }

    /// Dirty links, each with what was free there.
    pub fn previous(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.dirty.iter().map(|l| (l, self.previous_free[l]))
    }
}
