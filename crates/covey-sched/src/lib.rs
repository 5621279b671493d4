//! Coflow scheduling policies, one file each.
