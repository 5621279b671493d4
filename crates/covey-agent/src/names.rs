//! The names of flows: applications say coflow and index, a coordinator says ids.

use std::collections::BTreeMap;

use covey_proto::{Ended, FlowAnnouncement, FlowId, FlowName, Sent};

use crate::progress::Progress;

/// What flows are called.
///
/// The agent keeps its tables by the *present* name of each flow: its present coflow, and its index
/// there. It translates at both sides. A coordinator names a flow by its id, from when it announces
/// the id until it has nothing more to say of the flow. An application goes on naming a flow as it
/// opened it: if the flow has changed its coflow since, that is a *former* name.
#[derive(Debug, Default)]
pub struct FlowNames {
    keys: BTreeMap<FlowId, FlowName>,
    ids: BTreeMap<FlowName, FlowId>,
    /// The present name by each former one.
    present: BTreeMap<FlowName, FlowName>,
    /// The former names by the present one, oldest first.
    former: BTreeMap<FlowName, Vec<FlowName>>,
}

impl FlowNames {
    /// Learns the id of a flow, and one of its names. A flow of no coflow has no other name than
    /// its id. The names of a flow that has changed its coflow are announced one after the other,
    /// oldest first. Returns the former and the present name if the flow has changed its coflow
    /// since this agent last heard of it.
    pub fn announced(&mut self, flow: FlowAnnouncement) -> Option<(FlowName, FlowName)> {
        let name = self.present(flow.member.unwrap_or(FlowName::Id(flow.id)));
        let before = self.keys.insert(flow.id, name).filter(|before| *before != name);
        self.ids.insert(name, flow.id);
        let before = before?;
        self.ids.remove(&before);
        let mut former = self.former.remove(&before).unwrap_or_default();
        former.push(before);
        former.iter().for_each(|former| _ = self.present.insert(*former, name));
        self.former.insert(name, former);
        Some((before, name))
    }

    /// The present name of a flow that somebody names in any way.
    pub fn present(&self, name: FlowName) -> FlowName {
        let of_id = || name.id().and_then(|id| self.keys.get(&id));
        self.present.get(&name).or_else(of_id).copied().unwrap_or(name)
    }

    /// The name of a flow for the coordinator: its id, if that was announced.
    pub fn remote(&self, key: FlowName) -> FlowName {
        self.ids.get(&key).map_or(key, |id| FlowName::Id(*id))
    }

    /// All names by which applications may know a flow.
    pub fn local(&self, key: FlowName) -> impl Iterator<Item = FlowName> {
        self.former.get(&key).into_iter().flatten().copied().chain([key])
    }

    /// The flows that have former names.
    pub fn renamed(&self) -> impl Iterator<Item = FlowName> {
        self.former.keys().copied()
    }

    /// What applications report, with present names.
    pub fn presented(&self, progress: &Progress) -> Option<Progress> {
        if self.present.is_empty() {
            return None;
        }
        let Progress { ended, sent, written, opened, .. } = progress;
        let present = |key| self.present(key);
        Some(Progress {
            ended: ended.iter().map(|it| Ended { key: present(it.key), ..*it }).collect(),
            sent: sent.iter().map(|it| Sent { key: present(it.key), ..*it }).collect(),
            written: written.iter().map(|key| present(*key)).collect(),
            opened: opened.iter().map(|(key, open)| (present(*key), *open)).collect(),
            ..progress.clone()
        })
    }

    /// The coordinator names a flow no more, or has to announce it first.
    pub fn forget(&mut self, key: FlowName) {
        if let Some(id) = self.ids.remove(&key) {
            self.keys.remove(&id);
        }
    }

    /// Forgets the ids of all flows but these.
    pub fn retain(&mut self, mut keeps: impl FnMut(&FlowName) -> bool) {
        self.ids.retain(|key, _| keeps(key));
        self.keys.retain(|_, key| self.ids.contains_key(key));
    }

    /// The session is over, and with it what its coordinator has announced. Applications go on
    /// using former names.
    pub fn disconnected(&mut self) {
        self.keys.clear();
        self.ids.clear();
    }

    /// Nobody names a flow any more: its end is acknowledged.
    pub fn done(&mut self, key: FlowName) {
        self.forget(key);
        for former in self.former.remove(&key).unwrap_or_default() {
            self.present.remove(&former);
        }
    }

    /// Nobody names the flows of a coflow any more.
    pub fn over(&mut self, coflow: u64) {
        self.former.retain(|name, _| name.coflow() != Some(coflow));
        self.present.retain(|_, name| name.coflow() != Some(coflow));
    }
}
