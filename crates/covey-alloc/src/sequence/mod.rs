//! Sequencing: how the entries of a plan follow each other.
//!
//! [`pass`] serves one entry from what is free, and passes over entries for which nothing has
//! changed. The other files decide what is free for each entry: [`strict`] serves each entry from
//! what those before it leave, [`stepped`] does the same where a plan is kept, at the entries
//! that have a step only; [`weighted`] divides links among layers; [`per_port`] serves from the
//! shares of links that each port's node has set ([`link_shares`]); [`backfill`] offers what all
//! entries together have left.
//!
//! How the flows of one entry share is not decided here: `rules` do that.

pub mod backfill;
pub mod link_shares;
pub mod pass;
pub mod per_port;
pub mod served;
pub mod stepped;
pub mod strict;
pub mod weighted;
