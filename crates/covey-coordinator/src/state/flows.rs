//! The flows of a coflow.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::{Attempts, Time};
use covey_proto::{CodecName, FlowId, FlowKey, FlowName};

use super::flow_ids::IdRun;

/// A flow of a coflow that is present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Flow {
    /// Sending port.
    pub src: u32,
    /// Receiving port.
    pub dst: u32,
    /// Its size in bytes, if known.
    pub bytes: Option<f64>,
    /// Bytes of it that have been sent since it last started, as reported.
    pub sent: f64,
    /// Bytes on the wire for these.
    pub wire: f64,
    pub stage: Stage,
    /// Compressed bytes for each raw byte, if that is known of it.
    pub ratio: Option<f64>,
}

impl Flow {
    /// A flow of no bytes ends when it starts.
    pub fn of(spec: &covey_api::Flow) -> Flow {
        let stage = if spec.bytes == Some(0.0) { Stage::Ended } else { Stage::Active };
        let (bytes, ratio) = (spec.bytes, spec.ratio);
        Flow { src: spec.src, dst: spec.dst, bytes, sent: 0.0, wire: 0.0, stage, ratio }
    }
}

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Active,
    /// One of its hosts is away.
    Stalled,
    /// Its coflow waits for its parents.
    Held,
    /// It does not use its rate.
    Unused(Unused),
    /// Its last bytes are on their way, so that others may have its rate. Its end has not been
    /// reported.
    Written,
    Ended,
}

/// Why a flow does not use its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unused {
    /// It had a rate and sent nothing.
    Idle,
    /// No application has opened it.
    Unopened,
    /// The application that had it open is gone.
    Closed,
    /// Nobody keeps its coflow any more.
    Expired,
}

impl Unused {
    /// All of them, in order.
    pub const ALL: [Unused; 4] = [Unused::Idle, Unused::Unopened, Unused::Closed, Unused::Expired];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unused::Idle => "idle",
            Unused::Unopened => "unopened",
            Unused::Closed => "closed",
            Unused::Expired => "expired",
        }
    }
}

/// A flow that has a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Served {
    /// Its index in the coflow.
    pub flow: u32,
    /// Bytes per second.
    pub rate: f64,
    /// What it is compressed with.
    pub codec: Option<CodecName>,
}

/// A flow that leaves its coflow for another one.
pub(super) struct Taken {
    pub id: FlowId,
    pub from: FlowKey,
    pub flow: Flow,
    /// The id of what stays of it in the coflow that it leaves.
    pub rest: u64,
}

/// The flows of a coflow by index, and what they add up to. The counts always agree with the
/// stages.
#[derive(Debug, Clone)]
pub(super) struct Flows {
    list: Vec<Flow>,
    /// Their ids, by index.
    ids: Vec<IdRun>,
    /// By index, the former names of flows that have joined from other coflows, oldest first.
    former: BTreeMap<u32, Vec<FlowName>>,
    /// Whether they are a group of the policy's own making, and no application has named them.
    /// Their former names are the numbers that agents have given to them.
    is_own: bool,
    /// Flows that have ended.
    ended: usize,
    /// Flows that are stalled.
    stalled: usize,
    /// Flows that do not use their rates, by [`Unused`].
    unused: [usize; 4],
    /// Bytes on the wire of all flows, as reported; bytes that were lost included.
    attained: f64,
    /// The most bytes on the wire of a flow.
    longest: f64,
    /// Which of them are attempts of one transfer.
    pub attempts: Attempts,
    /// Flows that have ended because nobody needed them any more.
    cancelled: BTreeSet<u32>,
    /// When the first of the flows that are unused now became unused.
    unused_since: Time,
}

impl Flows {
    /// No flows yet.
    pub fn new(now: Time) -> Flows {
        Flows {
            list: Vec::new(),
            ids: Vec::new(),
            former: BTreeMap::new(),
            is_own: false,
            ended: 0,
            stalled: 0,
            unused: [0; 4],
            attained: 0.0,
            longest: 0.0,
            attempts: Attempts::default(),
            cancelled: BTreeSet::new(),
            unused_since: now,
        }
    }

    /// No flows yet of a group of the policy's own making.
    pub fn of_group(now: Time) -> Flows {
        Flows { is_own: true, ..Flows::new(now) }
    }

    /// Whether they are a group of the policy's own making.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Appends flows, whose ids are these.
    pub fn extend(&mut self, flows: impl IntoIterator<Item = Flow>, ids: Vec<IdRun>) {
        let before = self.list.len();
        self.list.extend(flows);
        let new = &self.list[before..];
        self.ended += new.iter().filter(|flow| flow.stage == Stage::Ended).count();
        self.ids.extend(ids);
    }

    pub fn get(&self, index: u32) -> Option<Flow> {
        self.list.get(index as usize).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        (0..).zip(&self.list)
    }

    /// Flows that have not ended, with their indices.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, &Flow)> {
        self.iter().filter(|(_, flow)| flow.stage != Stage::Ended)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The runs of their ids, by index.
    pub fn ids(&self) -> &[IdRun] {
        &self.ids
    }

    /// The same by the first id and the length of each.
    pub fn id_runs(&self) -> Vec<(u64, u32)> {
        self.ids.iter().map(|run| (run.first, run.count)).collect()
    }

    pub fn ids_mut(&mut self) -> &mut Vec<IdRun> {
        &mut self.ids
    }

    /// Flows that have joined from other coflows, by index, with their former names, oldest first.
    pub fn former(&self) -> &BTreeMap<u32, Vec<FlowName>> {
        &self.former
    }

    /// These are the former names of a flow.
    pub fn set_former(&mut self, index: u32, names: Vec<FlowName>) {
        self.former.insert(index, names);
    }

    /// The name that a flow had first, which may be its `present` one.
    pub fn first_name(&self, present: FlowKey) -> FlowName {
        let former = self.former.get(&present.flow).and_then(|names| names.first());
        former.copied().unwrap_or(present.into())
    }

    /// All names that a flow has had, oldest first, and last the `present` one.
    pub fn names(&self, present: FlowKey) -> impl Iterator<Item = FlowName> {
        self.former.get(&present.flow).into_iter().flatten().copied().chain([present.into()])
    }

    /// The id of a flow.
    pub fn id_of(&self, index: u32) -> FlowId {
        let run = self.ids.partition_point(|run| run.index <= index).saturating_sub(1);
        self.ids.get(run).map_or_else(FlowId::default, |run| run.id_of(index))
    }

    /// Bytes on the wire of all flows.
    pub fn attained(&self) -> f64 {
        self.attained
    }

    /// The most bytes on the wire of a flow.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// Flows that have ended.
    pub fn ended(&self) -> usize {
        self.ended
    }

    /// Flows that are stalled.
    pub fn stalled(&self) -> usize {
        self.stalled
    }

    /// Flows that do not use their rates, by [`Unused`].
    pub fn unused_by_reason(&self) -> [usize; 4] {
        self.unused
    }

    /// Flows that do not use their rates.
    pub fn unused(&self) -> usize {
        self.unused.iter().sum()
    }

    /// Why most of those do not, if there are any.
    pub fn why_unused(&self) -> Option<Unused> {
        let all = Unused::ALL.into_iter().zip(self.unused).filter(|(_, count)| *count > 0);
        all.max_by_key(|(_, count)| *count).map(|(why, _)| why)
    }

    /// When the first of the flows that are unused now became unused.
    pub fn unused_since(&self) -> Time {
        self.unused_since
    }

    /// Moves a flow to another stage. Returns the stage before.
    pub fn set_stage(&mut self, index: u32, stage: Stage, now: Time) -> Option<Stage> {
        if self.unused() == 0 {
            self.unused_since = now;
        }
        let flow = self.list.get_mut(index as usize)?;
        let was = std::mem::replace(&mut flow.stage, stage);
        for (stage, more) in [(was, false), (stage, true)] {
            let count = match stage {
                Stage::Ended => &mut self.ended,
                Stage::Stalled => &mut self.stalled,
                Stage::Unused(why) => &mut self.unused[why as usize],
                _ => continue,
            };
            *count = if more { *count + 1 } else { *count - 1 };
        }
        Some(was)
    }

    /// Takes over how much a flow has sent. Returns whether it is more than was known.
    pub fn report(&mut self, index: u32, bytes: f64, wire: f64) -> bool {
        let Some(flow) = self.list.get_mut(index as usize) else { return false };
        if flow.stage == Stage::Ended || (bytes <= flow.sent && wire <= flow.wire) {
            return false;
        }
        self.attained += (wire - flow.wire).max(0.0);
        flow.sent = flow.sent.max(bytes);
        flow.wire = flow.wire.max(wire);
        self.longest = self.longest.max(wire);
        true
    }

    /// Ends a flow with so many bytes. Returns its stage before, unless it had ended.
    pub fn end(&mut self, index: u32, bytes: f64, wire: f64, now: Time) -> Option<Stage> {
        self.get(index).filter(|flow| flow.stage != Stage::Ended)?;
        let was = self.set_stage(index, Stage::Ended, now)?;
        let flow = &mut self.list[index as usize];
        self.attained += (wire - flow.wire).max(0.0);
        flow.sent = flow.sent.max(bytes);
        flow.wire = flow.wire.max(wire);
        self.longest = self.longest.max(wire);
        Some(was)
    }

    /// A flow leaves for another coflow, with what it has sent. Here it counts as ended, without a
    /// byte. Returns the flow as it was, and its former names.
    pub fn leave(&mut self, index: u32, now: Time) -> Option<(Flow, Vec<FlowName>)> {
        let flow = self.get(index)?;
        self.attempts.remove(index);
        self.set_stage(index, Stage::Ended, now);
        let rest = &mut self.list[index as usize];
        (rest.sent, rest.wire) = (0.0, 0.0);
        self.attained = (self.attained - flow.wire).max(0.0);
        if flow.wire == self.longest {
            self.longest = self.list.iter().map(|flow| flow.wire).fold(0.0, f64::max);
        }
        Some((flow, self.former.remove(&index).unwrap_or_default()))
    }

    /// Puts a flow into a place that is empty, with what it has sent. These are its former names.
    pub fn put(&mut self, index: u32, flow: Flow, names: Vec<FlowName>, now: Time) {
        let Some(place) = self.list.get_mut(index as usize) else { return };
        *place = Flow { stage: Stage::Ended, ..flow };
        self.set_stage(index, flow.stage, now);
        self.attained += flow.wire;
        self.longest = self.longest.max(flow.wire);
        self.set_former(index, names);
    }

    /// The last flow has joined from another coflow, with what it has sent. These are its former
    /// names.
    pub fn note_joined(&mut self, names: Vec<FlowName>) {
        let Some(flow) = self.list.last() else { return };
        self.attained += flow.wire;
        self.longest = self.longest.max(flow.wire);
        self.set_former(self.list.len() as u32 - 1, names);
    }

    /// A flow starts again where it is. The bytes that it has sent stay in [`Flows::attained`].
    pub fn restart(&mut self, index: u32) {
        if let Some(flow) = self.list.get_mut(index as usize) {
            (flow.sent, flow.wire) = (0.0, 0.0);
        }
    }

    /// A flow has ended because nobody needed it any more.
    pub fn note_cancelled(&mut self, index: u32) {
        self.cancelled.insert(index);
    }

    /// Flows that have ended because nobody needed them any more.
    pub fn cancelled(&self) -> &BTreeSet<u32> {
        &self.cancelled
    }

    /// Whether an attempt of a flow's transfer has carried its bytes.
    pub fn is_carried(&self, index: u32) -> bool {
        let has_ended = |of: u32| self.get(of).is_some_and(|flow| flow.stage == Stage::Ended);
        let mut attempts = self.attempts.others(index).chain([index]);
        attempts.any(|of| has_ended(of) && !self.cancelled.contains(&of))
    }

    /// Their ports, each once.
    pub fn ports(&self) -> Vec<u32> {
        ports(&self.list)
    }

    /// Ports with unfinished flows that send.
    pub fn senders(&self) -> std::collections::BTreeSet<u32> {
        self.unfinished().map(|(_, flow)| flow.src).collect()
    }
}

/// The ports of flows, each once.
pub(super) fn ports<'a>(flows: impl IntoIterator<Item = &'a Flow>) -> Vec<u32> {
    let mut ports: Vec<u32> = flows.into_iter().flat_map(|flow| [flow.src, flow.dst]).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
