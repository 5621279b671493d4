//! Rates kept by the kernel's hierarchical token bucket, in two levels (CODA §5.2).

mod netlink;
mod tree;

use std::collections::BTreeMap;
use std::io;

use covey_proto::FlowKey;

use crate::agent::{Progress, Share};
use crate::enforcer::Enforcer;
use crate::local::Local;

pub use netlink::Ends;
pub use tree::Tree;

/// Shapes the flows of the applications on this host at its device. They say where their flows go, and
/// write nothing for those that wait.
pub struct Htb {
    local: Local,
    tree: Tree,
    /// Flows that are open.
    ends: BTreeMap<FlowKey, Ends>,
    shares: BTreeMap<FlowKey, Share>,
    /// Whether there is a coordinator. Without one, flows without a rate are sent with all else.
    joined: bool,
    /// Whether it has been said that the kernel does not do it.
    complained: bool,
}

impl Htb {
    /// Has `tree` shape the flows of `local`'s applications, which are to say where these go.
    pub fn new(local: Local, tree: Tree) -> Htb {
        let (ends, shares) = Default::default();
        Htb { local, tree, ends, shares, joined: false, complained: false }
    }

    /// Brings the tree up to date.
    fn shape(&mut self) {
        let gone = |key: &FlowKey| !self.ends.contains_key(key);
        // A flow that waits keeps its class: what its socket has been given goes no faster than before.
        let idle = |key: &FlowKey| !self.joined && !self.shares.contains_key(key);
        let out: Vec<FlowKey> = self.tree.flows().filter(|key| gone(key) || idle(key)).collect();
        out.into_iter().for_each(|key| self.tree.remove(key));
        let mut no_room = 0;
        for (&key, &ends) in &self.ends {
            let share = self.shares.get(&key).filter(|share| share.rate > 0.0);
            if let Some(&share) = share
                && !self.tree.set(key, ends, share)
            {
                no_room += 1;
            }
        }
        let done = self.tree.carry_out();
        if (no_room > 0 || done.is_err()) && !std::mem::replace(&mut self.complained, true) {
            let error = done.err().map(|error| error.to_string());
            tracing::warn!(no_room, error, "flows are not shaped as scheduled");
        }
    }
}

impl Enforcer for Htb {
    fn apply(&mut self, holds: (u64, u64), flows: &BTreeMap<FlowKey, Share>) -> io::Result<()> {
        self.shares.clone_from(flows);
        // Classes first: a flow is to find its own when it is told that it may send.
        self.shape();
        self.local.apply(holds, flows)
    }

    fn progress(&mut self) -> Progress {
        let moved = self.local.take_moved();
        if !moved.is_empty() {
            for (key, ends) in moved {
                match ends {
                    Some((from, to)) => self.ends.insert(key, Ends { from, to }),
                    None => self.ends.remove(&key),
                };
            }
            self.shape();
        }
        self.local.progress()
    }

    fn sees_uses(&self) -> bool {
        self.local.sees_uses()
    }

    fn settled(&mut self, keys: &[FlowKey]) {
        self.local.settled(keys);
    }

    fn joined(&mut self, joined: bool) {
        self.local.joined(joined);
        if std::mem::replace(&mut self.joined, joined) != joined {
            self.shape();
        }
    }
}
