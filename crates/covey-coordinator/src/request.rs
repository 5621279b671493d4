//! Requests of clients, and answers.

use covey_api::{
    AgentStatus, CoflowSpec, CoflowStatus, DrainStatus, FlowEnds, FlowRate, Page, Problem,
    UnnamedFlow, Update, Waiting,
};
use serde::Serialize;

use crate::record::{Key, Registrant};

/// Who asks. The default is somebody who owns nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Owns what it registers. Without one, nobody does.
    pub registrant: Option<Registrant>,
    /// Whether it may change the coflows of others.
    pub operates: bool,
}

impl Client {
    /// The program around the coordinator: it may do everything, and what it registers belongs to
    /// nobody.
    pub fn own() -> Client {
        Client { registrant: None, operates: true }
    }

    /// Whether it may change a coflow with this owner. Everybody may change one that belongs to
    /// nobody.
    pub fn may_change(&self, owner: Option<&Registrant>) -> bool {
        let token = self.registrant.as_ref().map(|it| &it.token);
        self.operates || owner.is_none_or(|owner| token == Some(&owner.token))
    }

    /// Whether a coflow of its tenant may follow one with this owner: both are in one DAG then.
    pub fn may_follow(&self, owner: Option<&Registrant>) -> bool {
        let tenant = self.registrant.as_ref().map(|it| &it.tenant);
        self.operates || owner.is_none_or(|owner| tenant == Some(&owner.tenant))
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Register a coflow.
    Register {
        /// The coflow.
        spec: CoflowSpec,
        /// Makes a second request with the same key harmless.
        key: Option<Key>,
    },
    /// Change a coflow.
    Update {
        /// Its number.
        id: u64,
        /// How.
        update: Update,
        /// The revision that the client knows; anything if `None`.
        revision: Option<u64>,
    },
    /// Deregister a coflow.
    Remove {
        /// Its number.
        id: u64,
    },
    /// Keep a coflow.
    Keep {
        /// Its number.
        id: u64,
        /// Seconds for which it is kept from now on; as before if `None`.
        lease_s: Option<f64>,
    },
    /// Report a coflow.
    Get {
        /// Its number.
        id: u64,
    },
    /// Tell that flows, which may not have appeared, belong to a community.
    Community {
        /// The community.
        community: u32,
        /// The ends of the flows.
        flows: Vec<FlowEnds>,
    },
    /// Tell what a port that is drained still has.
    Drain {
        /// The port.
        port: u32,
        /// Whether it is to get no new flows from now on, or again some.
        draining: Option<bool>,
    },
}

/// A page of a list: so many items from the first.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// Coflows with numbers from `from` on, present ones or all that are remembered.
    Coflows {
        /// The first number.
        from: u64,
        /// The most to list.
        limit: usize,
        /// Whether those that have gone are listed too.
        all: bool,
    },
    /// Rates in force, of the flows from this one on.
    Schedule {
        /// The first flow: coflow, and index in it.
        from: (u64, u32),
        /// The most to list.
        limit: usize,
    },
    /// Flows that no application has named, of the ids from `from` on.
    Flows {
        /// The first id.
        from: u64,
        /// The most to list.
        limit: usize,
        /// Whether to say why each is in its coflow. Each flow is then compared with all that began
        /// near it.
        why: bool,
    },
    /// Coflows without a rate, with numbers from `from` on.
    Waiting {
        /// The first number.
        from: u64,
        /// The most to list.
        limit: usize,
    },
    /// Ports from `from` on, with their agents.
    Agents {
        /// The first port.
        from: u32,
        /// The most to list.
        limit: usize,
    },
}

/// Makes a page, beside the coordinator, of what there was when it was asked for.
pub type MakePage = Box<dyn FnOnce() -> Reply + Send>;

/// What was asked for, or what is wrong.
pub type Answer = Result<Reply, Problem>;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// A coflow has been registered, now or by an earlier request with the same key.
    Registered(CoflowStatus),
    /// A coflow.
    Coflow(CoflowStatus),
    /// Several.
    Coflows(Page<CoflowStatus>),
    /// A coflow has been deregistered.
    Removed,
    /// What was told is known.
    Noted,
    /// Rates.
    Schedule(Page<FlowRate>),
    /// Flows that no application has named.
    Flows(Page<UnnamedFlow>),
    /// Coflows without a rate.
    Waiting(Page<Waiting>),
    /// Agents.
    Agents(Page<AgentStatus>),
    /// What a port that is drained still has.
    Drain(DrainStatus),
}
