//! What hosts compress: flows are held back meanwhile, where the plan says so.

use covey_core::Ranking;

use super::Engine;
use super::rates::Held;

impl Engine {
    /// Brings the processors to this moment.
    pub(super) fn advance_processors(&mut self) {
        self.processors.advance(&mut self.state, &mut self.allocator, &self.fluids, self.now);
        self.hold_and_let_go();
    }

    /// Has processors compress what the plan in force says; a new one if there is one.
    pub(super) fn compress(&mut self, ranking: Option<&Ranking>) {
        let (state, allocator) = (&mut self.state, &mut self.allocator);
        self.processors.plan(ranking, state, allocator, &self.fluids, self.now);
        self.hold_and_let_go();
        self.processors.assign(&mut self.state, &mut self.allocator, &self.fluids, self.now);
    }

    /// Takes flows that are to be compressed first out of what is shared, and puts back those that
    /// have been.
    pub(super) fn hold_and_let_go(&mut self) {
        let toggles = self.processors.take_toggles();
        if self.is_together() && !toggles.is_empty() {
            self.advance_together();
            if toggles.iter().any(|toggle| toggle.hold) {
                self.write_back();
            }
        }
        for toggle in &toggles {
            let (id, position) = (toggle.coflow, toggle.position);
            let coflow = self.state.coflow(id);
            // Two things that happen at one moment may ask for the same.
            if toggle.hold != coflow.demand().is_active(position) {
                continue;
            }
            let volume = coflow.left(position);
            let (demand, progress) = self.state.progress_mut(id);
            let fluid = &mut self.fluids[id.index()];
            self.allocator.touch(id);
            if toggle.hold {
                let left = fluid.hold(demand, progress, position, self.now);
                if self.held_in == Held::Crowd {
                    self.crowd.leave(&self.state, id, position);
                }
                self.state.hold(id, position, left);
                self.allocator.adjust(&self.state, id, position, -1.0);
            } else {
                fluid.let_go(demand, progress, position, volume, self.now);
                self.state.let_go(id, position);
                self.allocator.adjust(&self.state, id, position, 1.0);
                if self.held_in == Held::Crowd {
                    self.crowd.join(&self.state, id, position);
                }
            }
        }
        self.processors.keep(toggles);
    }
}
