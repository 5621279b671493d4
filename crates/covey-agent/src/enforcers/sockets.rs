//! The enforcers that need nothing but the applications' own sockets.

use covey_proto::Means;

use super::setup::{EnforcerInfo, Make};

pub const PACING: EnforcerInfo = EnforcerInfo {
    name: "pacing",
    about: "Applications: the kernel paces their sockets, flows that are to wait write nothing",
    make: Make::Sockets(Means::Pacing),
};

pub const MARKS: EnforcerInfo = EnforcerInfo {
    name: "marks",
    about: "Applications: packets are marked with the class of their flow (DSCP), nothing is paced",
    make: Make::Sockets(Means::Marks),
};

pub const BOTH: EnforcerInfo = EnforcerInfo {
    name: "both",
    about: "Applications: both",
    make: Make::Sockets(Means::PacingAndMarks),
};
