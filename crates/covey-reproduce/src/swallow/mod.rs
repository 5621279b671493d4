//! Swallow (IPDPS 2018).

use crate::reproduction::Item;

/// What is reproduced, in the order of the paper.
pub const ITEMS: &[Item] = &[];
