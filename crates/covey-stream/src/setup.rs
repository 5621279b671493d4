//! What receivers and senders are set to.

use crate::escape::EscapeRules;
use crate::ids::Proposal;
use crate::rules::Rules;

/// What receivers and senders are set to; all that take part in a coflow need the same.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The constants of its equations.
    pub rules: Rules,
    /// The escape from starvation, if there is one.
    pub escape: Option<EscapeRules>,
    /// A round trip, in seconds.
    pub rtt_s: f64,
    /// Whether senders relay.
    pub relays: bool,
    /// Whether sub-coflows that have completed tell their sizes to those that depend on them.
    pub tells_sizes: bool,
    /// What a parent proposes to the sub-coflows that it invokes.
    pub proposal: Proposal,
}

impl Default for Setup {
    /// The defaults of the policy `stream`.
    fn default() -> Setup {
        Setup {
            rules: Rules::default(),
            escape: Some(EscapeRules::default()),
            rtt_s: 100e-6,
            relays: true,
            tells_sizes: true,
            proposal: Proposal::Next,
        }
    }
}
