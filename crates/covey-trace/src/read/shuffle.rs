//! A coflow as mappers that send to reducers: the racks of both, and the MB of each reducer.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use super::draft::Draft;
use super::fields::number;
use crate::MB;
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::workload::Flow;

/// The mappers and reducers of a coflow.
pub(super) struct Shuffle {
    /// The rack of each mapper.
    pub mappers: Vec<u32>,
    /// The rack and the MB of each reducer.
    pub reducers: Vec<(u32, f64)>,
}

impl Shuffle {
    /// Makes one mapper of those on a rack, and one reducer, which gets the MB of all, as CoflowSim
    /// does. Each keeps the place of the first.
    pub fn merge(&mut self, location: Location<'_>, draft: &mut Draft) {
        let named = self.mappers.len() + self.reducers.len();
        let mut racks = HashSet::new();
        self.mappers.retain(|rack| racks.insert(*rack));
        let mut places = HashMap::new();
        let mut merged: Vec<(u32, f64)> = Vec::with_capacity(self.reducers.len());
        for &(rack, mb) in &self.reducers {
            let place = *places.entry(rack).or_insert(merged.len());
            match merged.get_mut(place) {
                Some((_, sum)) => *sum += mb,
                None => merged.push((rack, mb)),
            }
        }
        self.reducers = merged;
        if self.mappers.len() + self.reducers.len() < named {
            draft.count_merged(location);
        }
    }

    /// The flows: mapper by mapper, and for each mapper reducer by reducer. The mappers share a
    /// reducer's MB equally.
    pub fn flows(
        &self,
        location: Location<'_>,
        draft: &mut Draft,
    ) -> Result<Vec<Flow>, TraceError> {
        draft.announce(location, self.mappers.len() as u64 * self.reducers.len() as u64)?;
        let mut flows = Vec::with_capacity(self.mappers.len() * self.reducers.len());
        let mappers = self.mappers.len() as f64;
        for &src in &self.mappers {
            let flow =
                |&(dst, mb): &(u32, f64)| Flow { src, dst, bytes: mb * MB / mappers, start_s: 0.0 };
            flows.extend(self.reducers.iter().map(flow));
        }
        Ok(flows)
    }
}

/// `RACK:MB` as a port and a number of MB.
pub(super) fn reducer(
    location: Location<'_>,
    field: impl Display,
    text: &str,
    ports: u32,
) -> Result<(u32, f64), TraceError> {
    let Some((rack, mb)) = text.split_once(':') else {
        return Err(location.bad(field, "RACK:MB", quote(text)));
    };
    let dst = port(location, &field, rack, ports)?;
    let mb = number(location, field, "MB", mb, MAX_BYTES / MB)?;
    Ok((dst, mb))
}

/// A rack as a port.
pub(super) fn port(
    location: Location<'_>,
    field: impl Display,
    text: &str,
    ports: u32,
) -> Result<u32, TraceError> {
    text.parse().ok().filter(|&port| port < ports).ok_or_else(|| {
        let expected = format_args!("a port from 0 to {}", ports - 1);
        location.bad(field, expected, quote(text))
    })
}
