//! What a policy may see, by its level of knowledge.
//!
//! Reading what the level does not grant does not compile:
//!
//! ```compile_fail
//! use covey_core::{FlowId, NonClairvoyant, View};
//! fn peek(view: &View<'_, NonClairvoyant>, flow: FlowId) -> f64 {
//!     view.size(flow) // no method `size`: the policy is not told sizes
//! }
//! ```
//!
//! The same with knowledge of sizes compiles:
//!
//! ```
//! use covey_core::{Clairvoyant, FlowId, View};
//! fn peek(view: &View<'_, Clairvoyant>, flow: FlowId) -> f64 {
//!     view.size(flow)
//! }
//! ```
//!
//! A non-clairvoyant policy cannot reach bytes left either, nor turn its view into another:
//!
//! ```compile_fail
//! use covey_core::{CoflowId, NonClairvoyant, View};
//! fn peek(view: &View<'_, NonClairvoyant>, coflow: CoflowId) -> f64 {
//!     view.bottleneck_s(coflow)
//! }
//! ```
//!
//! ```compile_fail
//! use covey_core::{Clairvoyant, NonClairvoyant, View};
//! fn promote<'a>(view: View<'a, NonClairvoyant>) -> View<'a, Clairvoyant> {
//!     view.into()
//! }
//! ```
//!
//! A policy without labels sees neither sizes nor what applications say of coflows:
//!
//! ```compile_fail
//! use covey_core::{FlowId, Unlabelled, View};
//! fn peek(view: &View<'_, Unlabelled>, flow: FlowId) -> f64 {
//!     view.size(flow)
//! }
//! ```
//!
//! ```compile_fail
//! use covey_core::{CoflowId, Unlabelled, View};
//! fn peek(view: &View<'_, Unlabelled>, coflow: CoflowId) -> u64 {
//!     view.lineage(coflow).external // no method `lineage`: it names the job
//! }
//! ```
//!
//! What it sees is [`View::newcomers`], which shows no other policy anything:
//!
//! ```
//! use covey_core::{Unlabelled, View};
//! fn starts(view: &View<'_, Unlabelled>) -> Vec<f64> {
//!     view.newcomers().map(|(_, observed)| observed.start_s).collect()
//! }
//! ```

use std::marker::PhantomData;

use crate::compression::codec::{Codec, Compression};
use crate::fabric::Fabric;
use crate::policy::knowledge::{Clairvoyant, Knowledge, Named, Unlabelled};
use crate::state::Observed;
use crate::state::lineage::Lineage;
use crate::state::{CoflowState, State};
use crate::values::ids::{CoflowId, FlowId, LinkId, PortId, TenantId};
use crate::values::time::Time;

/// The state of the network at one time, as far as knowledge `K` grants it.
#[derive(Debug)]
pub struct View<'a, K> {
    state: &'a State,
    now: Time,
    /// What it shows of all coflows, if that is not everything.
    shown: Option<&'a Shown>,
    knowledge: PhantomData<K>,
}

/// The coflows that a [`View`] shows.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Those present, in the order of [`View::coflows`].
    pub present: Vec<CoflowId>,
    /// See [`View::changed`].
    pub changed: Vec<CoflowId>,
}

impl<K> Clone for View<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for View<'_, K> {}

/// A number of bytes, and when it was true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reported {
    /// Bytes.
    pub bytes: f64,
    /// When that was their number.
    pub as_of: Time,
}

/// A link that a coflow uses, and how many of its flows there have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortLoad {
    /// The link: a sender's egress, a receiver's ingress, or one between them.
    pub link: LinkId,
    /// Unfinished flows of the coflow there.
    pub unfinished: u32,
}

impl<'a, K: Knowledge> View<'a, K> {
    /// What a driver shows to a policy at `now`.
    pub fn new(state: &'a State, now: Time) -> View<'a, K> {
        View { state, now, shown: None, knowledge: PhantomData }
    }

    /// The same view of some of the coflows.
    pub(crate) fn showing<'b>(&self, shown: &'b Shown) -> View<'b, K>
    where
        'a: 'b,
    {
        View { shown: Some(shown), ..*self }
    }

    /// To whom a coflow belongs.
    pub(crate) fn tenant(&self, id: CoflowId) -> TenantId {
        self.coflow(id).registration.tenant
    }

    fn coflow(&self, id: CoflowId) -> &'a CoflowState {
        self.state.coflow(id)
    }

    /// The speed and the ratio of the hosts' compressor, if they were measured. A policy that
    /// compresses uses them in place of those that it was made with.
    pub fn measured_codec(&self) -> Option<Codec> {
        self.state.measured_codec()
    }

    /// Share of a port's processor, 0 to 1, that is available for compressing.
    pub fn processor(&self, port: PortId) -> f64 {
        self.state.processor(port)
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The fabric: links and their capacities.
    pub fn fabric(&self) -> &'a Fabric {
        self.state.fabric()
    }

    /// Coflows present, in order of arrival; ties in the order of the trace.
    pub fn coflows(&self) -> &'a [CoflowId] {
        self.shown.map_or(self.state.present(), |shown| &shown.present)
    }

    /// Whether a coflow has arrived and not ended.
    pub fn is_present(&self, id: CoflowId) -> bool {
        self.state.is_present(id)
    }

    /// Length for arrays indexed by [`CoflowId`].
    pub fn slots(&self) -> usize {
        self.state.slots()
    }

    /// Whether a flow with this id can be asked about: for drivers that take ids from elsewhere.
    pub fn has(&self, flow: FlowId) -> bool {
        flow.coflow.index() < self.slots()
            && (flow.index as usize) < self.coflow(flow.coflow).demand().width()
    }

    /// When the coflow arrived.
    pub fn arrival(&self, id: CoflowId) -> Time {
        self.coflow(id).registration.arrival
    }

    /// The key that breaks ties: arrival, then place in the trace.
    pub fn order(&self, id: CoflowId) -> (Time, u64) {
        self.state.order(id)
    }

    /// Whether, since the last plan, the policy was told of anything among the coflows that this
    /// one can have met: those with which it shares a link, those that these share one with, and so
    /// on. A policy whose order changes as bytes are sent ranks only dirty coflows again. Then a
    /// coflow's rank does not depend on traffic that it cannot meet.
    pub fn is_dirty(&self, id: CoflowId) -> bool {
        self.state.is_dirty(id)
    }

    /// Coflows whose flows, or what is left of them, may have changed since the last plan, in no
    /// particular order; some of them may have gone.
    pub fn changed(&self) -> &'a [CoflowId] {
        self.shown.map_or(self.state.changed(), |shown| &shown.changed)
    }

    /// Whether two coflows can have met, directly or through a chain of others.
    pub fn may_meet(&self, a: CoflowId, b: CoflowId) -> bool {
        self.state.may_meet(a, b)
    }

    /// Whether a coflow can have met those that use a link: [`View::may_meet`] for all of them at
    /// once.
    pub fn reaches(&self, id: CoflowId, link: LinkId) -> bool {
        self.state.reaches(id, link)
    }

    /// Bytes that a flow has sent. They are up to date of a flow that has ended, and of others
    /// at wake-ups if the policy [asked for that](crate::Wants::progress).
    pub fn sent(&self, flow: FlowId) -> f64 {
        let coflow = self.coflow(flow.coflow);
        coflow.sent_at(coflow.demand().position(flow.index))
    }

    /// Number of flows started so far.
    pub fn width(&self, id: CoflowId) -> usize {
        self.coflow(id).started() as usize
    }

    /// Number of flows that have started and not ended.
    pub fn unfinished(&self, id: CoflowId) -> usize {
        self.coflow(id).unfinished().unfinished() as usize
    }

    /// Number of ports from which the coflow sends, finished flows included.
    pub fn senders(&self, id: CoflowId) -> usize {
        self.coflow(id).demand().senders()
    }

    /// Number of ports at which the coflow receives, finished flows included.
    pub fn receivers(&self, id: CoflowId) -> usize {
        self.coflow(id).demand().receivers()
    }

    /// Links of the coflow with their unfinished flows, drained ones included: first the senders'
    /// in order of their first flow, then the receivers' likewise, then links between.
    pub fn loads(&self, id: CoflowId) -> impl Iterator<Item = PortLoad> + 'a {
        let demand = self.coflow(id).unfinished();
        demand
            .links()
            .iter()
            .zip(demand.count())
            .map(|(&link, &unfinished)| PortLoad { link, unfinished })
    }

    /// Unfinished flows of the coflow, sender by sender in order of the senders' first flows.
    pub fn flows(&self, id: CoflowId) -> impl Iterator<Item = FlowId> + 'a {
        let demand = self.coflow(id).unfinished();
        demand.active().map(move |p| FlowId { coflow: id, index: demand.index(p) })
    }

    /// Unfinished flows of the `sender`-th sender of the coflow, in order of registration.
    pub fn flows_of_sender(
        &self,
        id: CoflowId,
        sender: usize,
    ) -> impl Iterator<Item = FlowId> + 'a {
        let demand = self.coflow(id).unfinished();
        demand.active_in_row(sender).map(move |p| FlowId { coflow: id, index: demand.index(p) })
    }

    /// The number of a flow. It stays the flow's when the flow changes its coflow; no other flow
    /// bears it.
    pub fn flow_number(&self, flow: FlowId) -> u64 {
        self.coflow(flow.coflow).flow_number(flow.index)
    }

    /// The links (egress, ingress) at the two ends of a flow.
    pub fn ends(&self, flow: FlowId) -> (LinkId, LinkId) {
        let demand = self.coflow(flow.coflow).demand();
        let p = demand.position(flow.index);
        (demand.links()[demand.sender_of(p)], demand.links()[demand.receiver_of(p)])
    }

    /// Whether a flow has ended (or not started).
    pub fn is_active(&self, flow: FlowId) -> bool {
        let demand = self.coflow(flow.coflow).unfinished();
        demand.is_active(demand.position(flow.index))
    }

    /// Size in bytes of a flow that has ended; `None` while it has not.
    pub fn finished_size(&self, flow: FlowId) -> Option<f64> {
        let coflow = self.coflow(flow.coflow);
        let p = coflow.demand().position(flow.index);
        let ended = coflow.progress().left[p] == f64::INFINITY;
        ended.then(|| coflow.progress().size[p])
    }

    /// Number of flows of the coflow that have ended, and their bytes.
    pub fn finished(&self, id: CoflowId) -> (usize, f64) {
        let coflow = self.coflow(id);
        (coflow.finished() as usize, coflow.finished_bytes())
    }

    /// Bytes the coflow has sent in all, as last reported. Reports are as fresh as
    /// [`Wants`](crate::Wants) asked for; of a coflow that has ended they are complete. Bytes of
    /// flows that had to begin again count as often as they were sent.
    pub fn attained(&self, id: CoflowId) -> Reported {
        let (bytes, as_of) = self.coflow(id).attained();
        Reported { bytes, as_of }
    }
}

impl<'a, K: Named> View<'a, K> {
    /// Weight of the coflow in a weighted mean of completion times; 1 unless given.
    pub fn weight(&self, id: CoflowId) -> f64 {
        self.coflow(id).registration.weight
    }

    /// Time allowed from arrival to completion in seconds, if any.
    pub fn deadline_s(&self, id: CoflowId) -> Option<f64> {
        self.coflow(id).registration.deadline_s
    }

    /// Where the coflow stands among those it depends on.
    pub fn lineage(&self, id: CoflowId) -> Lineage {
        self.coflow(id).registration.lineage
    }

    /// Bytes that coflows of the same DAG which had ended when this one arrived had sent.
    pub fn inherited(&self, id: CoflowId) -> f64 {
        self.coflow(id).registration.inherited_bytes
    }

    /// The coflows that one depends on, by the second part of their [`View::order`]. They may have
    /// ended.
    pub fn parents(&self, id: CoflowId) -> &'a [u64] {
        self.coflow(id).parents()
    }
}

impl<'a> View<'a, Unlabelled> {
    /// Flows that have started and are in no group, in order of their starts, each with its number.
    /// They are not sent before the policy has put them into a group.
    pub fn newcomers(&self) -> impl ExactSizeIterator<Item = (u64, &'a Observed)> {
        self.state.newcomers().iter().map(|newcomer| (newcomer.number, &newcomer.observed))
    }
}

impl<'a> View<'a, Clairvoyant> {
    /// Size of a flow in bytes.
    pub fn size(&self, flow: FlowId) -> f64 {
        let coflow = self.coflow(flow.coflow);
        coflow.progress().size[coflow.demand().position(flow.index)]
    }

    /// Bytes left of a flow; 0 when it has ended. Of a flow that is compressed it is the volume:
    /// raw bytes and compressed ones.
    pub fn left(&self, flow: FlowId) -> f64 {
        let coflow = self.coflow(flow.coflow);
        let p = coflow.demand().position(flow.index);
        if coflow.unfinished().is_active(p) { coflow.left(p) } else { 0.0 }
    }

    /// Raw bytes among those left of a flow; all, unless it is compressed.
    #[inline] // `fvdf` asks for each flow: 1 % of its instructions on the big switch.
    pub fn raw_left(&self, flow: FlowId) -> f64 {
        let coflow = self.coflow(flow.coflow);
        let p = coflow.demand().position(flow.index);
        if coflow.unfinished().is_active(p) { coflow.raw_left(p) } else { 0.0 }
    }

    /// Compressed bytes for each raw byte of a flow: its own, or those that `compression` gives.
    pub fn ratio(&self, flow: FlowId, compression: &Compression) -> f64 {
        let coflow = self.coflow(flow.coflow);
        coflow.ratio(coflow.demand().position(flow.index), compression)
    }

    /// Bytes left of the coflow's started flows at each of its links, in the order of
    /// [`View::loads`].
    pub fn left_at(&self, id: CoflowId) -> impl Iterator<Item = (LinkId, f64)> + 'a {
        let coflow = self.coflow(id);
        let scale = coflow.progress().scale;
        let compressed = coflow.compressed();
        let held = if compressed.is_on() { compressed.held_at() } else { &[] };
        coflow.demand().links().iter().zip(&coflow.progress().link_left).enumerate().map(
            move |(l, (&link, &left))| (link, left * scale + held.get(l).copied().unwrap_or(0.0)),
        )
    }

    /// Bytes of all the coflow's flows, those that are yet to start included.
    pub fn total(&self, id: CoflowId) -> f64 {
        self.coflow(id).progress().size.iter().sum()
    }

    /// Bytes left of all the coflow's started flows.
    pub fn left_of(&self, id: CoflowId) -> f64 {
        self.left_at(id).take(self.senders(id)).map(|(_, left)| left).sum()
    }

    /// Effective bottleneck Γ in seconds: how long the rest of the coflow takes when it is alone,
    /// the largest over links of bytes left over capacity (Varys, SIGCOMM 2014, §5.1).
    pub fn bottleneck_s(&self, id: CoflowId) -> f64 {
        let capacity = self.fabric().capacity();
        self.left_at(id).map(|(link, left)| left / capacity[link.index()]).fold(0.0, f64::max)
    }
}
