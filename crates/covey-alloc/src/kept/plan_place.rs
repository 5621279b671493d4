//! Where an entry stands in a plan that is kept, and for which links it waits.

use super::pass_steps::{PassSteps, Wait};
use covey_core::{Group, Rank};

/// Where an entry stands in a plan that is kept.
#[derive(Debug, Default)]
pub struct PlanPlace {
    /// The place and the group; `None` if the entry stands nowhere.
    pub at: Option<(Rank, Group)>,
    /// Whether the entry has had no step at this place yet.
    pub is_new: bool,
    /// The links for which it waits, if it does.
    pub waits: Waits,
    /// With weighted layers, the links on which its layer has flows because of it.
    pub claims: Vec<u32>,
}

impl PlanPlace {
    /// The entry stands nowhere, and no layer and no steps know of it.
    pub fn forget(&mut self) {
        self.at = None;
        self.waits.forget();
        self.claims.clear();
    }
}

/// The links for which an entry waits.
#[derive(Debug, Default)]
pub struct Waits {
    is_waiting: bool,
    links: Vec<Wait>,
}

impl Waits {
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// The entry waits for the links that `find` writes down, if `find` says that it can. Returns
    /// that.
    pub fn begin(
        &mut self,
        rank: Rank,
        steps: &mut PassSteps,
        find: impl FnOnce(&PassSteps, &mut Vec<Wait>) -> bool,
    ) -> bool {
        self.links.clear();
        self.is_waiting = find(steps, &mut self.links);
        if self.is_waiting {
            steps.wait(rank, &self.links);
        }
        self.is_waiting
    }

    /// The entry waits no more.
    pub fn end(&mut self, rank: Rank, steps: &mut PassSteps) {
        if std::mem::take(&mut self.is_waiting) {
            steps.stop_waiting(rank, &self.links);
        }
    }

    /// The entry waits no more, and its steps have forgotten it.
    pub fn forget(&mut self) {
        self.is_waiting = false;
    }
}
