//! Aalo (SIGCOMM 2015).

use crate::reproduction::Item;

/// What is reproduced, in the order of the paper.
pub const ITEMS: &[Item] = &[];
