//! Which coflows come first.

use std::cmp::Ordering;

use clap::ValueEnum;
use covey_api::CoflowStatus;

use super::facts::Facts;

/// What coflows are sorted by; ties by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Those that need somebody first: stalled, then unused, then waiting, then served; each the
    /// oldest first
    Trouble,
    /// Highest rate first
    Rate,
    /// Most bytes sent first
    Bytes,
    /// Oldest first
    Age,
    /// By number
    Number,
}

impl Order {
    /// The order after this one.
    pub fn next(self) -> Order {
        match self {
            Order::Trouble => Order::Rate,
            Order::Rate => Order::Bytes,
            Order::Bytes => Order::Age,
            Order::Age => Order::Number,
            Order::Number => Order::Trouble,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Order::Trouble => "trouble",
            Order::Rate => "rate",
            Order::Bytes => "bytes",
            Order::Age => "age",
            Order::Number => "number",
        }
    }

    /// The coflows in this order.
    pub fn sorted(self, facts: &Facts) -> Vec<&CoflowStatus> {
        let mut coflows: Vec<&CoflowStatus> = facts.coflows.items.iter().collect();
        let age = |a: &CoflowStatus, b: &CoflowStatus| a.arrival_s.total_cmp(&b.arrival_s);
        coflows.sort_by(|a, b| {
            let order = match self {
                Order::Trouble => {
                    let of = |it: &CoflowStatus| facts.standing(it);
                    of(a).cmp(&of(b)).then_with(|| age(a, b))
                }
                Order::Rate => b.rate.total_cmp(&a.rate),
                Order::Bytes => b.bytes_sent.total_cmp(&a.bytes_sent),
                Order::Age => age(a, b),
                Order::Number => Ordering::Equal,
            };
            order.then(a.id.cmp(&b.id))
        });
        coflows
    }
}
