//! The allocator: from a plan to rates.

use super::all_flows::mode::{AllFlows, serves_all_flows};
use super::all_flows::running_flows::RunningFlows;
use super::classes::class_shares::ClassShares;
use super::error::PlanError;
use super::flow_rate::FlowRate;
use super::kept::coflow_allocation::CoflowAllocation;
use super::kept::stepped_plan::SteppedPlan;
use super::rates::BulkRates;
use super::sequence::backfill::SpareSharing;
use super::sequence::pass::Pass;
use super::sequence::per_port::PerPort;
use super::sequence::strict;
use super::sequence::weighted::WeightedLayers;
use covey_core::CoflowId;
use covey_core::Knowledge;
use covey_core::state::State;
use covey_core::{Group, Layers, Plan, Rank, Ranking};

/// The number of entries above which a pass over a plan that is kept goes by steps. With fewer
/// entries, or with backfill, the pass goes through all of them, which costs less.
const MAX_WHOLE: usize = 512;

/// Turns plans into rates, and remembers them.
#[derive(Debug, Default)]
pub struct Allocator {
    /// Overrides [`MAX_WHOLE`].
    max_whole: Option<usize>,
    pass: Pass,
    stepped: SteppedPlan,
    weighted: WeightedLayers,
    per_port: PerPort,
    spare: SpareSharing,
    all_flows: AllFlows,
    /// Coflows whose compression rates have changed since the previous pass.
    compression_changed: Vec<CoflowId>,
    /// Coflows that had rates before and may have none now, since the previous pass.
    emptied: Vec<CoflowId>,
    /// Whether the plan is another one than on the previous pass.
    is_new_plan: bool,
    /// Whether the provisional part counts for no coflow.
    none_is_provisional: bool,
}

impl Allocator {
    /// An allocator whose pass over a plan that is kept goes by steps above so many entries.
    pub fn by_steps_above(entries: usize) -> Allocator {
        Allocator { max_whole: Some(entries), ..Allocator::default() }
    }

    /// Whether a pass is to go by steps. Once it does, it goes on to until the plan has half as
    /// many entries.
    fn goes_by_steps(&self, ranking: &Ranking) -> bool {
        let max = self.max_whole.unwrap_or(MAX_WHOLE);
        let enough = if self.stepped.goes_by_steps { max / 2 } else { max };
        let has_one_pass =
            ranking.backfill == covey_core::Backfill::None && ranking.layers != Layers::PerPort;
        ranking.is_kept && has_one_pass && ranking.entries.len() > enough
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.pass.sleepers.wake_all(&mut self.pass.coflows);
        self.pass.coflows.clear();
        self.stepped.clear();
        self.per_port.forget();
        self.all_flows.turn_off();
        self.compression_changed.clear();
        self.emptied.clear();
        self.is_new_plan = true;
        self.none_is_provisional = false;
    }

    /// Forgets everything but its memory and which flows run by matching: these go first on the
    /// next pass.
    pub fn start_over(&mut self) {
        let running = self.pass.coflows.running();
        self.clear();
        self.pass.coflows.resume(running);
    }

    /// Takes over the rates of flows that others have decided: `rates_of` writes those of a coflow,
    /// each flow once.
    pub fn take_over(
        &mut self,
        state: &State,
        mut rates_of: impl FnMut(CoflowId, &mut Vec<FlowRate>),
    ) {
        self.start_pass(state, true);
        self.all_flows.turn_off();
        let Pass { coflows, .. } = &mut self.pass;
        let mut rates = Vec::new();
        for &id in state.present() {
            rates_of(id, &mut rates);
            rates.retain(|flow| flow.rate > 0.0);
            let pass = coflows.pass;
            let main = &mut coflows[id].main;
            main.confirmed_in = pass;
            if main.take_over(id, state.coflow(id).demand(), &rates) {
                coflows.report(id);
            }
        }
        self.pass.end(state);
    }

    /// The rates of the last [`Allocator::allocate`].
    pub fn rates(&self) -> &dyn BulkRates {
        self.all_flows.rates().unwrap_or(&self.pass.coflows)
    }

    /// Whether the plan serves all flows as one group: no coflow has an allocation then.
    pub fn is_flow_level(&self) -> bool {
        self.all_flows.is_on()
    }

    /// What a coflow gets since the last [`Allocator::allocate`].
    pub fn allocation(&self, id: CoflowId) -> &CoflowAllocation {
        &self.pass.coflows[id]
    }

    /// The flows that run, if the plan serves all flows in order of priority.
    pub fn priority_flows(&self) -> Option<&RunningFlows> {
        self.all_flows.running()
    }

    /// All flows in classes, if that is what the plan serves.
    pub fn class_shares(&self) -> Option<&ClassShares> {
        self.all_flows.classes()
    }

    /// [`Allocator::priority_flows`], to bring what is left of its flows up to date.
    pub fn priority_flows_mut(&mut self) -> Option<&mut RunningFlows> {
        self.all_flows.running_mut()
    }

    /// Coflows whose flows may have other rates than before the last [`Allocator::allocate`].
    pub fn changed_coflows<'a>(&'a self, state: &'a State) -> &'a [CoflowId] {
        if self.is_flow_level() { state.present() } else { self.changed() }
    }

    /// Coflows whose allocation may differ from the one before the last [`Allocator::allocate`].
    pub fn changed(&self) -> &[CoflowId] {
        &self.pass.coflows.changed
    }

    /// Reads what has changed in a plan since it was last read.
    pub fn read_edits<K: Knowledge>(&mut self, plan: &mut Plan<K>) {
        match plan.edits() {
            None => self.is_new_plan = true,
            Some(edits) => {
                self.edit(edits);
                self.per_port.links_divided(plan.divided_links());
            }
        }
        plan.clear_edits();
    }

    /// Groups have come to ranks of a plan that is kept, or have gone from them.
    fn edit(&mut self, edits: &[(Rank, Group)]) {
        if self.stepped.goes_by_steps {
            self.stepped.edits.extend_from_slice(edits);
        } else if !self.all_flows.take_edits(edits) {
            self.is_new_plan |= !edits.is_empty();
        }
    }

    /// To be called after flows of a coflow have started or ended, or when its progress was
    /// brought up to date outside of [`Allocator::allocate`]: its rates have to be decided again.
    pub fn touch(&mut self, id: CoflowId) {
        let Pass { coflows, sleepers, .. } = &mut self.pass;
        sleepers.wake(coflows, id);
        if let Some(allocation) = coflows.get_mut(id) {
            allocation.touch();
            self.stepped.touch(id);
        }
    }

    /// To be called when what flows that are *raised* (their level is higher than the lowest) have
    /// sent in `seconds` over [`Progress::scale`](covey_core::state::Progress::scale) was taken
    /// from what is left of them, and nothing else: the rates stay.
    pub fn elapse(&mut self, id: CoflowId, seconds: f64) {
        self.pass.coflows[id].elapse(seconds);
    }

    /// To be called for a coflow with raised flows, whose progress is up to date, when something
    /// has happened among coflows that it meets: it needs less now of what others can use.
    pub fn reconsider(&mut self, id: CoflowId) {
        self.pass.coflows[id].reconsider();
    }

    /// To be called when the flow at `position` has started (`by = 1`) or ended (`by = -1`), beside
    /// [`Allocator::touch`].
    pub fn adjust(&mut self, state: &State, id: CoflowId, position: usize, by: f32) {
        if self.all_flows.is_on() {
            self.all_flows.adjust(state, id, position, by);
        }
    }

    /// To be called when compression begins to lessen what is left of a flow by `rate` bytes per
    /// second while it is sent, or ends to (`rate = 0`).
    pub fn set_compression_rate(&mut self, id: CoflowId, position: usize, rate: f64) {
        self.pass.coflows.grow(id.index() + 1);
        self.pass.coflows[id].set_compression_rate(position as u32, rate);
        self.compression_changed.push(id);
    }

    /// Coflows whose compression rates have changed since rates were last shared.
    pub fn compression_changed(&self) -> &[CoflowId] {
        &self.compression_changed
    }

    /// To be called when a coflow has ended, as long as `state` knows it: its id may be used again.
    /// Also to be called when nothing that was found out about a coflow that is present holds any
    /// more.
    pub fn forget(&mut self, state: &State, id: CoflowId) {
        let Pass { coflows, sleepers, .. } = &mut self.pass;
        self.per_port.forget();
        sleepers.wake(coflows, id);
        if self.stepped.goes_by_steps {
            self.stepped.leave_all(coflows, state, id);
        } else if !self.all_flows.forget(state, id) {
            self.is_new_plan = true;
        }
        if let Some(allocation) = coflows.get_mut(id) {
            allocation.clear();
        }
    }

    /// To be called before flows move into or out of a coflow. It counts as changed, even if it has
    /// no flow afterwards.
    pub fn before_flows_move(&mut self, state: &State, id: CoflowId) {
        self.forget(state, id);
        self.emptied.push(id);
    }

    /// To be called before flows are added to a coflow: the positions of the others change.
    pub fn before_positions_change(&mut self, state: &State, id: CoflowId) {
        if self.all_flows.is_on() {
            return self.clear();
        }
        self.forget(state, id);
    }

    /// Shares all links among the coflows present as the plan says. MADD goes by what
    /// [`Progress`](covey_core::state::Progress) says is left.
    ///
    /// # Errors
    /// When the plan is wrong; rates are then undefined.
    pub fn allocate(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let result = self.share(state, ranking);
        self.is_new_plan |= result.is_err();
        result
    }

    fn share(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let serves_all_flows = serves_all_flows(ranking);
        let keeps = !serves_all_flows && self.goes_by_steps(ranking);
        self.is_new_plan |= std::mem::replace(&mut self.stepped.goes_by_steps, keeps) != keeps;
        let is_new_plan = std::mem::take(&mut self.is_new_plan);
        self.start_pass(state, is_new_plan);
        if serves_all_flows {
            self.share_among_all_flows(state, ranking)
        } else {
            self.all_flows.turn_off();
            self.share_among_coflows(state, ranking)
        }
    }

    /// Begins a pass. Coflows whose compression rates have changed count as changed.
    fn start_pass(&mut self, state: &State, is_new_plan: bool) {
        self.pass.start(state, is_new_plan);
        while let Some(id) = self.emptied.pop().or_else(|| self.compression_changed.pop()) {
            if state.is_present(id) {
                self.pass.coflows.report(id);
            }
        }
    }

    fn share_among_all_flows(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        // No coflow has an allocation where all flows were served as one group before.
        let is_new_plan = self.pass.is_new_plan;
        self.pass.is_from_scratch = self.all_flows.turn_on(state, ranking, is_new_plan)?;
        self.pass.end(state);
        self.all_flows.share(state);
        Ok(())
    }

    fn share_among_coflows(&mut self, state: &State, ranking: &Ranking) -> Result<(), PlanError> {
        let Allocator { pass, stepped, .. } = self;
        let per_port = ranking.layers == Layers::PerPort;
        // Where ports divide their links, what is spare is shared already.
        let backfills = ranking.backfill != covey_core::Backfill::None && !per_port;
        pass.coflows.is_provisional = backfills;
        pass.may_sleep = !stepped.goes_by_steps && !backfills;
        if pass.is_from_scratch && !backfills && !self.none_is_provisional {
            pass.coflows.end_provisional(state);
        }
        self.none_is_provisional = !backfills && !per_port;
        if pass.is_new_plan && (stepped.goes_by_steps || per_port) {
            pass.sleepers.wake_all(&mut pass.coflows);
        }
        stepped.by_layer = ranking.layers == Layers::Weighted;
        if stepped.goes_by_steps {
            stepped.follow_plan(&mut pass.coflows, state, ranking, pass.is_from_scratch)?;
        }
        match ranking.layers {
            Layers::Strict => strict::serve_all(pass, stepped, state, ranking)?,
            Layers::Weighted => self.weighted.serve(pass, stepped, state, ranking)?,
            Layers::PerPort => self.per_port.serve(pass, &mut self.spare, state, ranking)?,
            // Served flow by flow.
            Layers::Classes => {}
        }
        if backfills {
            self.spare.share(pass, state, ranking, Some(ranking.backfill))?;
        }
        pass.end(state);
        Ok(())
    }
}
