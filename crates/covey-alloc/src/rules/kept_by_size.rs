//! What levels by size on paths keep from one decision to the next.

use covey_core::Demand;

/// What is known of the last decision beside its levels.
#[derive(Debug, Default)]
pub struct Kept {
    /// Rate of each flow, by position: zero where some link is full, and unless the flow is active.
    pub rates: Vec<f64>,
    /// Bits of the active flows of each sender, each row from a word of its own.
    pub active: Vec<u64>,
    /// Bytes per second of all flows at each local link.
    pub used: Vec<f64>,
    /// Number of decisions that went on from each other.
    pub in_a_row: u32,
}

impl Kept {
    pub fn clear(&mut self) {
        self.rates.clear();
    }

    /// Writes down which flows are active.
    pub fn write_active(&mut self, demand: &Demand) {
        self.active.clear();
        let rows = (0..demand.senders()).flat_map(|s| demand.row_bits(s));
        self.active.extend(rows);
    }
}
