//! Sets and maps of numbers that keep their memory, and loops over rows of numbers.

pub mod bits;
pub mod clone_in_place;
pub mod link_bits;
pub mod link_set;
pub mod marked_links;
pub mod simd;
pub mod sorted;
