//! The names of flows: applications say coflow and index, a coordinator says ids.

use std::collections::BTreeMap;

use covey_proto::{FlowAnnouncement, FlowId, FlowKey};

/// The flows whose ids the coordinator has announced, from then on until it has nothing more to say of
/// them. The agent keeps its tables by the names that applications use, and translates at the
/// connection to the coordinator.
#[derive(Debug, Default)]
pub struct FlowNames {
    keys: BTreeMap<FlowId, FlowKey>,
    ids: BTreeMap<FlowKey, FlowId>,
}

impl FlowNames {
    /// Learns the id of a flow. A flow of no coflow has no other name than its id.
    pub fn announced(&mut self, flow: FlowAnnouncement) {
        let key = flow.member.unwrap_or(FlowKey::of_id(flow.id));
        if let Some(before) = self.keys.insert(flow.id, key) {
            self.ids.remove(&before);
        }
        self.ids.insert(key, flow.id);
    }

    /// The name that applications use for a flow that the coordinator has named.
    pub fn local(&self, name: FlowKey) -> FlowKey {
        name.id().and_then(|id| self.keys.get(&id)).copied().unwrap_or(name)
    }

    /// The name of a flow for the coordinator: its id, if that was announced.
    pub fn remote(&self, key: FlowKey) -> FlowKey {
        self.ids.get(&key).map_or(key, |id| FlowKey::of_id(*id))
    }

    /// The coordinator names a flow no more, or has to announce it first.
    pub fn forget(&mut self, key: FlowKey) {
        if let Some(id) = self.ids.remove(&key) {
            self.keys.remove(&id);
        }
    }

    /// Forgets all flows but these.
    pub fn retain(&mut self, mut keeps: impl FnMut(&FlowKey) -> bool) {
        self.ids.retain(|key, _| keeps(key));
        self.keys.retain(|_, key| self.ids.contains_key(key));
    }
}
