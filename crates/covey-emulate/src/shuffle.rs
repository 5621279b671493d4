//! A coflow as a shuffle: mappers, reducers, and what each reducer receives.

use covey_trace::Coflow;

use crate::error::EmulationError;

/// A coflow as the emulated simulators can represent it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shuffle {
    /// The racks that send, each once, in order of their first flow.
    pub mappers: Vec<u32>,
    /// The racks that receive, each once, in order of their first flow, and the bytes that each
    /// receives from all mappers together.
    pub reducers: Vec<(u32, f64)>,
    /// For each flow of the coflow, the indices of its mapper and reducer in these lists.
    pub pairs: Vec<[u32; 2]>,
}

impl Shuffle {
    /// `coflow` as a shuffle. Flows between the same two racks are merged.
    ///
    /// # Errors
    /// The coflow has parents or flows that start later, a mapper that does not send to every
    /// reducer, or a reducer with flows of different sizes. `simulator` cannot represent these.
    pub fn of(coflow: &Coflow, simulator: &'static str) -> Result<Self, EmulationError> {
        let bad = |expected: &'static str, found: String| EmulationError::Shape {
            coflow: coflow.id.clone(),
            simulator,
            expected,
            found,
        };
        if !coflow.parents.is_empty() {
            let found = format!("{} parents", coflow.parents.len());
            return Err(bad("coflows without parents", found));
        }
        if !(coflow.restarts.is_empty() && coflow.attempts.is_empty()) {
            return Err(bad("flows that begin once", "restarts or further attempts".to_owned()));
        }
        let mut mappers = RackIndices::default();
        let mut reducers = RackIndices::default();
        let mut shuffle = Self { mappers: Vec::new(), reducers: Vec::new(), pairs: Vec::new() };
        let mut flow_bytes: Vec<f64> = Vec::new();
        for flow in &coflow.flows {
            if flow.start_s != 0.0 {
                let found = format!("one that starts {} s later", flow.start_s);
                return Err(bad("flows that start with their coflow", found));
            }
            let mapper = mappers.of(flow.src, || shuffle.mappers.push(flow.src));
            let reducer = reducers.of(flow.dst, || {
                shuffle.reducers.push((flow.dst, 0.0));
                flow_bytes.push(flow.bytes);
            });
            if flow_bytes[reducer as usize] != flow.bytes {
                let found = format!(
                    "{} and {} bytes to port {}",
                    flow_bytes[reducer as usize], flow.bytes, flow.dst
                );
                return Err(bad("flows of equal size to a receiver", found));
            }
            shuffle.reducers[reducer as usize].1 += flow.bytes;
            shuffle.pairs.push([mapper, reducer]);
        }
        let mut there = vec![false; shuffle.mappers.len() * shuffle.reducers.len()];
        for &[mapper, reducer] in &shuffle.pairs {
            there[mapper as usize * shuffle.reducers.len() + reducer as usize] = true;
        }
        if let Some(missing) = there.iter().position(|there| !there) {
            let mapper = shuffle.mappers[missing / shuffle.reducers.len()];
            let (reducer, _) = shuffle.reducers[missing % shuffle.reducers.len()];
            let found = format!("none from port {mapper} to port {reducer}");
            return Err(bad("a flow from every sender to every receiver", found));
        }
        Ok(shuffle)
    }
}

/// The indices of racks in a list, in order of appearance.
#[derive(Default)]
struct RackIndices {
    of_rack: Vec<Option<u32>>,
    len: u32,
}

impl RackIndices {
    /// The index of `rack`. Calls `add` for a new rack.
    fn of(&mut self, rack: u32, add: impl FnOnce()) -> u32 {
        let rack = rack as usize;
        if self.of_rack.len() <= rack {
            self.of_rack.resize(rack + 1, None);
        }
        *self.of_rack[rack].get_or_insert_with(|| {
            add();
            self.len += 1;
            self.len - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::Flow;

    fn coflow(flows: &[(u32, u32, f64)]) -> Coflow {
        let flow = |&(src, dst, bytes): &(u32, u32, f64)| Flow { src, dst, bytes, start_s: 0.0 };
        Coflow::new("7".to_owned(), 0.0, flows.iter().map(flow).collect())
    }

    fn refusal(coflow: &Coflow) -> String {
        Shuffle::of(coflow, "CoflowSim").err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn flows_between_the_same_racks_are_merged() {
        let flows = [(3, 1, 2.0), (3, 0, 5.0), (1, 1, 2.0), (1, 0, 5.0), (3, 1, 2.0)];
        let shuffle = Shuffle::of(&coflow(&flows), "CoflowSim").expect("a shuffle");
        assert_eq!(shuffle.mappers, [3, 1]);
        assert_eq!(shuffle.reducers, [(1, 6.0), (0, 10.0)]);
        assert_eq!(shuffle.pairs, [[0, 0], [0, 1], [1, 0], [1, 1], [0, 0]]);
    }

    #[test]
    fn other_coflows_than_shuffles_are_refused() {
        assert_eq!(
            refusal(&coflow(&[(0, 2, 1.0), (1, 2, 3.0)])),
            "coflow '7': CoflowSim expects flows of equal size to a receiver, \
             found 1 and 3 bytes to port 2"
        );
        assert_eq!(
            refusal(&coflow(&[(0, 2, 1.0), (1, 3, 1.0)])),
            "coflow '7': CoflowSim expects a flow from every sender to every receiver, \
             found none from port 0 to port 3"
        );
        let mut later = coflow(&[(0, 2, 1.0)]);
        later.flows[0].start_s = 1.5;
        assert_eq!(
            refusal(&later),
            "coflow '7': CoflowSim expects flows that start with their coflow, \
             found one that starts 1.5 s later"
        );
        let mut child = coflow(&[(0, 2, 1.0)]);
        child.parents.push(0);
        assert_eq!(
            refusal(&child),
            "coflow '7': CoflowSim expects coflows without parents, found 1 parents"
        );
    }
}
