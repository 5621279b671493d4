//! Sharing rules: how the flows of one entry share what is free for them.
//!
//! Each rule is one file with one type that implements [`SharingRule`](sharing::SharingRule). A
//! rule is a pure function of the entry's flows and of the capacity that is free for them. It knows
//! nothing of plans, passes and other coflows, and remembers nothing. The levels of whole coflows,
//! max-min fair or in proportion to what is left, are not worked out here: they are
//! [kept](crate::kept::kept_levels).
//!
//! A new rule is its file, one line in [`list`], its name in [`Rule`](covey_core::Rule), and its
//! definition in [`reference`](mod@crate::reference).

pub mod all_or_none;
pub mod equal;
pub mod fixed;
pub mod hold;
pub mod list;
pub mod madd;
pub mod matching;
pub mod max_min;
pub mod most_loaded_first;
#[cfg(test)]
mod own_rule;
#[cfg(test)]
mod own_rule_test;
pub mod proportional;
pub mod sharing;
