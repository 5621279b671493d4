//! The messages between agent and coordinator.

use std::net::{IpAddr, SocketAddr};

use crate::codec::CodecName;
use crate::flow::{FlowId, FlowName};
use crate::opening::{CoflowTurn, FlowOpening, OpeningAnswer, Passing};
use crate::proof::{FlowAnswer, FlowAsk, FlowKeys};

/// The most bytes in a frame after its length, to an agent: a schedule of some 600,000 flows.
pub const MAX_TO_AGENT: usize = 16 << 20;

/// The most bytes in a frame after its length, from an agent.
pub const MAX_FROM_AGENT: usize = 1 << 20;

/// How a flow is served: a line of the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Service {
    /// Layer in the plan, 0 first: the class, where a host has priorities rather than rates.
    pub layer: u32,
    /// Bytes per second on the wire.
    pub rate: f64,
    /// How what the flow sends from now on is to be compressed, if it is.
    pub codec: Option<CodecName>,
}

impl Service {
    /// A flow that waits.
    pub const NONE: Service = Service { layer: 0, rate: 0.0, codec: None };

    /// An idle flow, which is in no schedule: enough to notice when the flow sends again.
    pub const PROBE: Service = Service { layer: u32::MAX, rate: 16.0 * 1024.0, codec: None };
}

/// A flow that is served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Which flow.
    pub key: FlowName,
    /// How: with a rate above zero in a schedule; applications are also told of flows that wait.
    pub service: Service,
}

/// The id of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowAnnouncement {
    /// The id.
    pub id: FlowId,
    /// The coflow that the flow belongs to, and its index there; `None` if it belongs to none.
    pub member: Option<FlowName>,
}

/// What an agent is to carry out: the flows it serves. Others wait.
///
/// `epoch` grows each time the coordinator starts, `version` with each schedule of an epoch. An
/// agent drops what is not newer than what it holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schedule {
    /// Number of the coordinator's start.
    pub epoch: u64,
    /// Number of the schedule for this agent within the epoch, from 1.
    pub version: u64,
    /// The version this differs from as `set` and `removed` say; 0 when `set` is all there is.
    pub base: u64,
    /// Flows that are served from now on, or otherwise than before.
    pub set: Vec<Entry>,
    /// Flows that are served no more; empty in a full schedule.
    pub removed: Vec<FlowName>,
}

/// A flow has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// Which flow.
    pub key: FlowName,
    /// Bytes it had.
    pub bytes: f64,
    /// Bytes that were sent for these: fewer where they were compressed.
    pub wire: f64,
}

/// What a flow has sent so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// Which flow.
    pub key: FlowName,
    /// Bytes of it that have been sent. What is left of it is its *volume*: what the network would
    /// have to carry if nothing more were compressed.
    pub bytes: f64,
    /// Bytes that were sent for these: fewer where they were compressed.
    pub wire: f64,
}

/// After how many more bytes an agent reports a coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportThreshold {
    /// Number of the coflow.
    pub coflow: u64,
    /// Bytes that it sends at the agent from one report to the next; infinite: no such reports.
    pub bytes: f64,
}

/// An agent's first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// [`VERSION`](crate::VERSION) of the agent.
    pub version: u16,
    /// The port of the fabric that the agent's host is.
    pub port: u32,
    /// The epoch and version of the schedule it holds; zeros when none.
    pub holds: (u64, u64),
    /// Its credential where there is no mutual TLS; at most 255 bytes.
    pub token: Vec<u8>,
}

/// The coordinator's answer to a [`Hello`] it accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welcome {
    /// [`VERSION`](crate::VERSION) of the coordinator.
    pub version: u16,
    /// Its epoch.
    pub epoch: u64,
    /// How often the agent is to report what flows have sent, in seconds; 0 when only as
    /// [`ReportThreshold`]s say.
    pub report_every_s: f64,
    /// How often the agent is to say something, in seconds, or be taken for lost.
    pub heartbeat_s: f64,
    /// What flows may be compressed with, if they may.
    pub codec: Option<CodecName>,
    /// After how many seconds without a byte a flow that has a rate is idle; infinite where nobody
    /// wants to know, as in versions before [`USES`](crate::USES).
    pub idle_after_s: f64,
    /// Whether the agent is to report flows that no application has named; never in versions before
    /// [`APPEARANCES`](crate::APPEARANCES).
    pub groups: bool,
}

/// How a flow is used on its sending host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is open, and uses its rate.
    Moves,
    /// It is open, but had a rate and sent nothing.
    Idle,
    /// The application that had it open is gone.
    Closed,
}

/// How flows are used on their sending host, as far as it differs from the report before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uses {
    /// Whether this replaces all reports before.
    pub all: bool,
    /// Flows.
    pub flows: Vec<(FlowName, Use)>,
    /// Coflows of which no flow is open on the host, but those that [`Uses::flows`] names at any
    /// time.
    pub unopened: Vec<u64>,
}

/// A flow that its agent sees, and that no application has named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appearance {
    /// The number that the agent has given to it: unique among the flows of this agent that are
    /// open.
    pub number: u64,
    /// The IANA number of its protocol.
    pub protocol: u8,
    /// The sender's end.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
    /// For how many seconds it has been there.
    pub age_s: f64,
}

/// Flows that an agent sees, and that no application has named.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Appeared {
    /// The first and the last number of a range, if `flows` has all flows whose numbers are in the
    /// range. Flows reported before that are in the range and not in `flows` are gone.
    pub all_in: Option<(u64, u64)>,
    /// The flows.
    pub flows: Vec<Appearance>,
}

/// How fast a compressor is on a host, and how small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compressor {
    /// The compressor.
    pub codec: CodecName,
    /// `R`: raw bytes per second that a whole processor compresses; above zero.
    pub speed: f64,
    /// `ξ`: compressed bytes for each raw byte.
    pub ratio: f64,
}

/// What a host has for compressing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Processor {
    /// The share of a processor that is idle, from 0 to 1.
    pub share: f64,
    /// The host's compressors; empty if the session has named them already.
    pub compressors: Vec<Compressor>,
}

/// What the links of a host carry, of all traffic, as a mean over about a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Links {
    /// Bytes per second that leave the host.
    pub sent: f64,
    /// Bytes per second that come to it.
    pub received: f64,
}

/// Why the coordinator ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It speaks another version.
    Version,
    /// The credential is wrong or missing.
    Credential,
    /// The fabric has no such port.
    Port,
    /// The message makes no sense at this point.
    Order,
    /// Another agent has joined for the same port.
    Replaced,
    /// There are as many agents as there may be.
    Full,
}

/// From an agent to the coordinator.
#[derive(Debug, Clone, PartialEq)]
pub enum FromAgent {
    /// The first message.
    Hello(Hello),
    /// The schedule of this epoch and version is carried out.
    Applied {
        /// Epoch.
        epoch: u64,
        /// Version.
        version: u64,
    },
    /// Flows have ended. Said again after each new join until it is [`ToAgent::Acknowledged`].
    Ended(Vec<Ended>),
    /// What flows have sent.
    Sent(Vec<Sent>),
    /// A schedule is missing: the next one must be full.
    Resync,
    /// There is nothing else to say.
    Alive,
    /// The last bytes of these flows, which were in the schedule, are on their way: they need
    /// nothing more. The agent serves none of them again before a schedule has removed it.
    Written(Vec<FlowName>),
    /// The processor and the compressors of the host. Sent after each new join, and when they have
    /// changed.
    Processor(Processor),
    /// How flows are used.
    Uses(Uses),
    /// Applications on the host have flows of these coflows open.
    Keeps(Vec<u64>),
    /// The addresses of the host. Said after each join, before [`FromAgent::Appeared`].
    Addresses(Vec<IpAddr>),
    /// Flows that no application has named. From now on they are named by their numbers.
    Appeared(Appeared),
    /// Tokens of flows are asked for. Each is answered by [`ToAgent::Tokens`].
    Asks(Vec<FlowAsk>),
    /// What the agent has found in the headers of flows since its last `Checked`.
    Checked {
        /// Flows refused.
        refused: u64,
        /// Flows taken without a proof, which [`FlowTokens::Allow`](crate::FlowTokens::Allow)
        /// permits.
        unproven: u64,
    },
    /// Applications have opened flows. Each is answered by [`ToAgent::Openings`]. Flows are named
    /// as applications do.
    Opened(Vec<FlowOpening>),
    /// Flows that have ended or need nothing more have passed their rates on to others, with the
    /// same receiver. The message comes before those about the ends of these flows, and again after
    /// each new join.
    Passed(Vec<Passing>),
    /// What the links of the host carry. Said every second, if the coordinator schedules
    /// compression.
    Links(Links),
}

/// From the coordinator to an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum ToAgent {
    /// The agent has joined.
    Welcome(Welcome),
    /// What to carry out from now on.
    Schedule(Schedule),
    /// The ends of these flows are in the journal: the agent need not report them again.
    Acknowledged(Vec<FlowName>),
    /// When to report what coflows have sent.
    Thresholds(Vec<ReportThreshold>),
    /// The session is over.
    Refused(Refusal),
    /// There is nothing else to say.
    Alive,
    /// These coflows are over: the agent needs to send nothing more about them.
    Over(Vec<u64>),
    /// The ids of flows. A flow's id comes before the first schedule of a session that lists the
    /// flow, and again before one that lists the flow after a schedule without it.
    Flows(Vec<FlowAnnouncement>),
    /// These flows, which the agent has reported to have appeared, are scheduled from now on: they
    /// wait unless a schedule lists them. Until then, and while the coordinator is away, nobody
    /// holds them.
    Taken(Vec<u64>),
    /// These flows are not scheduled any more. The agent lets them go as if it had not reported
    /// them.
    Released(Vec<u64>),
    /// How flows prove themselves. Said after each [`Welcome`], and when the keys change.
    Keys(FlowKeys),
    /// What the agent has asked of flows.
    Tokens(Vec<FlowAnswer>),
    /// Whether flows are opened as they are registered.
    Openings(Vec<OpeningAnswer>),
    /// The turns of coflows of which the agent has reported open flows. Not sent if the policy does
    /// not go by queues.
    Turns(Vec<CoflowTurn>),
    /// How many bytes of one coflow an application on the host may send before a schedule mentions
    /// the coflow's flows. The flows that it has open share them. Said after each [`Welcome`].
    StartSmall(u64),
}
