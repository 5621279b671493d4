//! The coordinator without its I/O: what happens comes in, what has to be done comes out.
//!
//! [`CoordinatorState`] consists of parts. Each part has its own file, fields and invariants. Other
//! files add the procedures that need several parts, each using only those before it in this list:
//!
//! | file | procedure |
//! |---|---|
//! | `coordinator` | the parts together |
//! | `following` | which flows can use a rate: hosts that come and go, reports of agents |
//! | `leasing` | which coflows are kept |
//! | `processors`, `progress` | what the policy learns of compression and of bytes sent |
//! | `publish`, `round` | a plan, and which agents have to be told what |
//! | `ends`, `attempts`, `taking` | ends of flows, also of those that nobody needs; flows that change their coflow |
//! | `sparing` | which of the flows that no application has named are left alone |
//! | `appearing` | flows that no application has named, and the policy's groups of them |
//! | `apply`, `pieces`, `snapshot` | records of the journal, read, also piece by piece, and written |
//! | `waiting`, `look` | why coflows have no rate; what all do |
//! | `draining` | ports that get no new flows |
//! | `flow_tokens` | how flows prove themselves to other hosts |
//! | `openings`, `turns` | flows that are opened wrongly; what agents decide between schedules |
//! | `queries`, `allowing`, `requests` | what clients read, may do and ask for |
//! | `sessions`, `messages` | what agents report and are sent |
//! | `lifecycle`, `restart` | what the shell calls in turn; a start with another policy |

// Parts.
mod agent;
mod agents;
mod announced;
mod assignments;
mod awaited_bytes;
mod coflows;
mod config;
mod dirty;
mod early_openings;
mod effects;
mod flow_ids;
mod flows;
mod held;
mod host_links;
mod journal_queue;
mod leases;
mod memory;
mod order;
mod reservations;
mod signer;
mod sizes;
mod unfinished;

// The whole, and what it does.
mod allowing;
mod appearing;
mod apply;
mod attempts;
mod coordinator;
mod draining;
mod ends;
mod flow_tokens;
mod following;
mod leasing;
mod lifecycle;
mod links;
mod look;
mod messages;
mod openings;
mod pieces;
mod processors;
mod progress;
mod publish;
mod queries;
mod requests;
mod restart;
mod round;
mod sessions;
mod snapshot;
mod sparing;
mod taking;
mod turns;
mod waiting;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use coordinator::CoordinatorState;
pub use effects::{Counts, Event, Lsn, Output, Population, RequestId, SessionId};
pub use flows::Unused;
pub use held::Held;
pub use look::{Look, Seen};
