//! What a policy ranks flows by.

/// One of the values by which a policy ranks a flow
/// ([`Policy::ranked_by`](crate::Policy::ranked_by)). Only people read it: no decision follows from
/// it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// What it is, such as `queue` or `estimated bottleneck`.
    pub name: &'static str,
    /// The value, in `unit`; `None` if the name says it all, such as `overdue`.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: Unit,
}

/// The unit of a [`Criterion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number of things, or a place in a row.
    Number,
}

impl Criterion {
    /// A time, in seconds.
    pub fn seconds(name: &'static str, value: f64) -> Criterion {
        Criterion { name, value: Some(value), unit: Unit::Seconds }
    }

    /// A number of bytes.
    pub fn bytes(name: &'static str, value: f64) -> Criterion {
        Criterion { name, value: Some(value), unit: Unit::Bytes }
    }

    /// A number of things, or a place in a row.
    pub fn number(name: &'static str, value: impl Into<f64>) -> Criterion {
        Criterion { name, value: Some(value.into()), unit: Unit::Number }
    }

    /// A property that puts a flow before those that do not have it.
    pub fn property(name: &'static str) -> Criterion {
        Criterion { name, value: None, unit: Unit::Number }
    }
}
