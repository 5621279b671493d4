//! The rates in force, and how far flows have come by them: coflow by coflow, or all together where
//! the allocator shares links so.

use covey_core::alloc::{FlowFairShare, Measure};
use covey_core::{CoflowId, Ranking, Sender, Time};

use super::{Engine, Run};
use crate::error::SimError;
use crate::line;

/// Where the flows are whose progress is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Fluids,
    Crowd,
    Line,
}

impl Engine {
    /// Shares the links anew and takes the rates over.
    pub(super) fn share(&mut self, ranking: &Ranking, run: &Run<'_>) -> Result<(), SimError> {
        if self.held_in == Held::Line {
            self.advance_together();
        }
        self.advance_raised();
        self.allocator.allocate(&self.state, ranking).map_err(|source| SimError::Plan {
            policy: run.name.to_owned(),
            time_s: self.now.as_secs(),
            source,
        })?;
        let held_in = match (self.allocator.crowd(), self.allocator.line()) {
            (Some(_), _) => Held::Crowd,
            (_, Some(_)) => Held::Line,
            _ => Held::Fluids,
        };
        let crowd = self.allocator.crowd().filter(|_| self.held_in == Held::Crowd);
        let measured_anew = crowd.is_some_and(|crowd| crowd.measure() != self.crowd.measure());
        if held_in != self.held_in || measured_anew {
            self.change_representation(held_in);
        }
        if let Some(crowd) = self.allocator.crowd() {
            self.crowd.advance(self.now);
            self.crowd.install(crowd);
        }
        if let Some(line) = self.allocator.line_mut() {
            line::write_back(line.stopped().iter().copied(), &mut self.state);
            self.line.install(line, self.now);
        }
        for &id in self.allocator.changed() {
            self.processors.before_rates_change(id, &mut self.state, &self.fluids, self.now);
            let fluid = &mut self.fluids[id.index()];
            let (demand, progress) = self.state.progress_mut(id);
            fluid.install(demand, progress, self.allocator.grant(id), self.now);
            self.meters.install(id, demand, self.allocator.grant(id), self.now);
            self.moving.add(id);
        }
        self.report_stopped();
        self.state.end_moment();
        Ok(())
    }

    /// Forgets coflows of which nothing is sent any more, once what was is written down where the policy may look.
    fn report_stopped(&mut self) {
        if self.held_in != Held::Fluids {
            return;
        }
        for k in 0..self.moving.all().len() {
            let id = self.moving.all()[k];
            if self.state.is_present(id) && !self.fluids[id.index()].is_moving() {
                let sent = self.fluids[id.index()].sent(self.now);
                self.state.report(id, sent, self.now);
                self.watch.add(Sender::Coflow(id));
                let external = self.state.coflow(id).registration.lineage.external;
                self.watch.add(Sender::Dag(external));
                if self.shows_left {
                    self.advance(id);
                }
            }
        }
        let (state, fluids) = (&self.state, &self.fluids);
        self.moving.retain(|id| state.is_present(id) && fluids[id.index()].is_moving());
    }

    /// Writes down how much has been sent of each coflow, where that has changed.
    pub(super) fn report_sent(&mut self) {
        let mut k = 0;
        loop {
            let all = if self.is_together() { self.state.present() } else { self.moving.all() };
            let Some(&id) = all.get(k) else { return };
            let sent = self.sent(id);
            self.state.report(id, sent, self.now);
            k += 1;
        }
    }

    /// Where something has happened, brings coflows up to date whose provisional shares fall as their
    /// flows are raised, so that nobody finds less than is free.
    fn advance_raised(&mut self) {
        for k in 0..self.allocator.reshrunk().len() {
            self.state.note(self.allocator.reshrunk()[k]);
        }
        for k in 0..self.moving.all().len() {
            let id = self.moving.all()[k];
            if !self.fluids[id.index()].is_raised() {
                continue;
            }
            if self.is_eventful(id) {
                self.advance(id);
                self.allocator.reconsider(id);
            }
            self.allocator.pass(id, self.fluids[id.index()].take_passed());
        }
    }

    /// Follows flows coflow by coflow, or all together in one of two ways. Who is to stand in line, or
    /// stood in it, is up to date.
    fn change_representation(&mut self, held_in: Held) {
        if self.held_in != Held::Line {
            self.advance_all();
        }
        if held_in == Held::Crowd {
            self.gather();
        }
        for &id in self.state.present() {
            if held_in == Held::Fluids {
                let sent = self.state.coflow(id).sent();
                self.fluids[id.index()].resume(self.now, sent);
            } else {
                self.fluids[id.index()].halt();
            }
        }
        self.moving.clear();
        self.held_in = held_in;
    }

    /// Makes a crowd of all flows, of which the state tells what is left.
    pub(super) fn gather(&mut self) {
        let measure = self.allocator.crowd().map_or(Measure::Number, FlowFairShare::measure);
        self.crowd.clear(measure, self.state.fabric().ports() as usize, self.now);
        for &id in self.state.present() {
            for position in self.state.coflow(id).demand().active() {
                self.crowd.join(&self.state, id, position);
            }
        }
    }

    /// When the next flow ends if rates stay.
    pub(super) fn next_end(&self) -> Time {
        match self.held_in {
            Held::Crowd => self.crowd.next(),
            Held::Line => self.line.next(),
            Held::Fluids => {
                let next =
                    |&id: &CoflowId| self.fluids[id.index()].next().min(self.meters.next(id));
                self.moving.all().iter().map(next).fold(Time::NEVER, Time::min)
            }
        }
    }

    /// Whether flows are followed all together rather than coflow by coflow.
    pub(super) fn is_together(&self) -> bool {
        self.held_in != Held::Fluids
    }

    /// Brings flows that are followed all together up to date.
    pub(super) fn advance_together(&mut self) {
        match (self.held_in, self.allocator.line_mut()) {
            (Held::Crowd, _) => self.crowd.advance(self.now),
            (Held::Line, Some(line)) => self.line.advance(line, self.now),
            _ => {}
        }
    }

    pub(super) fn advance_all(&mut self) {
        self.processors.settle_all(&mut self.state, &self.fluids, self.now);
        if self.is_together() {
            self.advance_together();
            self.write_back();
            return;
        }
        for k in 0..self.state.present().len() {
            self.advance(self.state.present()[k]);
        }
    }

    /// Brings up to date what a policy that knows sizes may look at. Where nothing has happened, shares
    /// that change with time are left as they are.
    pub(super) fn advance_for_policy(&mut self) {
        if self.is_together() {
            return self.advance_all();
        }
        self.processors.settle_all(&mut self.state, &self.fluids, self.now);
        for k in 0..self.moving.all().len() {
            let id = self.moving.all()[k];
            if !self.fluids[id.index()].is_disturbed() || self.state.is_stirred(id) {
                self.advance(id);
            }
        }
    }

    /// Whether anything has happened at this moment among the coflows that this one can have met.
    fn is_eventful(&self, id: CoflowId) -> bool {
        let links = self.state.coflow(id).demand().links();
        links.first().is_some_and(|&link| self.state.is_eventful(link))
    }

    fn advance(&mut self, id: CoflowId) {
        let fluid = &mut self.fluids[id.index()];
        if fluid.is_disturbed() {
            self.allocator.touch(id);
        }
        let (demand, progress) = self.state.progress_mut(id);
        fluid.advance(demand, progress, self.now);
    }

    /// Writes what is left of flows that are followed all together into the state.
    pub(super) fn write_back(&mut self) {
        match (self.held_in, self.allocator.line()) {
            (Held::Crowd, _) => self.crowd.write_back(&mut self.state),
            (Held::Line, Some(line)) => line::write_back(line.running(), &mut self.state),
            _ => {}
        }
    }

    /// Bytes that a coflow has sent; in a crowd, as of when that was last written back.
    pub(super) fn sent(&self, id: CoflowId) -> f64 {
        if self.is_together() {
            self.state.coflow(id).sent()
        } else {
            self.fluids[id.index()].sent(self.now)
        }
    }
}
