//! A workload while it is read. Checks the rules that hold across lines, for every format.

use std::collections::HashMap;

use crate::Moment;
use crate::cluster::{ClusterEvent, Happening, Part};
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_EVENTS, MAX_FLOWS, MAX_NAME_BYTES, MAX_PARENTS};
use crate::workload::{Coflow, Workload};

/// Gets each line about what was guessed or changed in a trace.
pub(crate) type Notes<'a> = &'a mut dyn FnMut(&str);

/// The coflows read so far.
pub(crate) struct Draft {
    workload: Workload,
    /// The arrival of each coflow on the clock of the trace.
    arrivals: Vec<Moment>,
    /// The line of each coflow.
    lines: Vec<u64>,
    /// The index of each id.
    positions: HashMap<String, u32>,
    /// The parents named by each coflow that has any; they may come later in the file.
    parents: Vec<(u32, Vec<String>)>,
    /// The time of each event on the clock of the trace.
    event_times: Vec<Moment>,
    /// The events of flows, each by its index, with its line and the id of its coflow.
    events: Vec<(usize, u64, String)>,
    num_flows: u64,
    num_parents: usize,
    /// Number of coflows of which tasks were merged, and the line of the first.
    merged: (usize, u64),
}

impl Draft {
    /// An empty draft over `ports` ports.
    pub fn new(ports: u32) -> Self {
        Self {
            workload: Workload::new(ports, Vec::new()),
            arrivals: Vec::new(),
            lines: Vec::new(),
            positions: HashMap::new(),
            parents: Vec::new(),
            event_times: Vec::new(),
            events: Vec::new(),
            num_flows: 0,
            num_parents: 0,
            merged: (0, 0),
        }
    }

    /// Number of ports.
    pub fn ports(&self) -> u32 {
        self.workload.ports
    }

    /// Makes the largest port the last one, for a file that does not say how many ports there are.
    pub fn fit_ports(&mut self) {
        let flows = self.workload.coflows.iter().flat_map(|coflow| &coflow.flows);
        let largest = flows.map(|flow| flow.src.max(flow.dst)).max();
        self.workload.ports = largest.map_or(1, |port| port + 1);
    }

    /// Gives all ports other numbers.
    pub fn rename_ports(&mut self, port_of: impl Fn(u32) -> u32) {
        for flow in self.workload.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
            (flow.src, flow.dst) = (port_of(flow.src), port_of(flow.dst));
        }
        for event in &mut self.workload.events {
            match &mut event.what {
                Happening::Fail { part: Part::Host(port), .. }
                | Happening::Return { part: Part::Host(port) } => *port = port_of(*port),
                Happening::Move { src, dst, .. } => {
                    (*src, *dst) = (src.map(&port_of), dst.map(&port_of));
                }
                _ => {}
            }
        }
    }

    /// Says how many ports there are, and the names of their hosts.
    pub fn set_hosts(&mut self, ports: u32, hosts: Vec<String>) {
        (self.workload.ports, self.workload.hosts) = (ports, hosts);
    }

    /// Counts a coflow of which tasks on the same rack were merged.
    pub fn count_merged(&mut self, location: Location<'_>) {
        if self.merged.0 == 0 {
            self.merged.1 = location.line;
        }
        self.merged.0 += 1;
    }

    /// Number of coflows so far.
    pub fn len(&self) -> usize {
        self.workload.coflows.len()
    }

    /// Checks the limit for `flows` more flows, before the reader allocates memory for them.
    pub fn announce(&mut self, location: Location<'_>, flows: u64) -> Result<(), TraceError> {
        self.num_flows = self.num_flows.saturating_add(flows);
        if self.num_flows > u64::from(MAX_FLOWS) {
            let expected = format_args!("at most {MAX_FLOWS} in a trace");
            return Err(location.bad("flows", expected, self.num_flows));
        }
        Ok(())
    }

    /// Adds a coflow, its arrival, and the ids of its parents. At the end the latter replace
    /// `coflow.arrival_s` and `coflow.parents`.
    pub fn push(
        &mut self,
        location: Location<'_>,
        coflow: Coflow,
        arrival: Moment,
        parents: Vec<String>,
    ) -> Result<(), TraceError> {
        check_name(location, "id", &coflow.id)?;
        let position = self.workload.coflows.len() as u32;
        if let Some(first) = self.positions.insert(coflow.id.clone(), position) {
            let line = self.lines[first as usize];
            let expected = format_args!("an id not used before (line {line} has it)");
            return Err(location.bad("id", expected, quote(&coflow.id)));
        }
        if !parents.is_empty() {
            self.num_parents += parents.len();
            if self.num_parents > MAX_PARENTS {
                let expected = format_args!("at most {MAX_PARENTS} in a trace");
                return Err(location.bad("parents", expected, self.num_parents));
            }
            self.parents.push((position, parents));
        }
        self.lines.push(location.line);
        self.arrivals.push(arrival);
        self.workload.coflows.push(coflow);
        Ok(())
    }

    /// Number of events so far.
    pub fn num_events(&self) -> usize {
        self.workload.events.len()
    }

    /// Adds an event, its time, and the id of its coflow if it is of a flow. The coflow may come
    /// later.
    pub fn push_event(
        &mut self,
        location: Location<'_>,
        what: Happening,
        at: Moment,
        coflow: Option<String>,
    ) -> Result<(), TraceError> {
        let index = self.workload.events.len();
        if index == MAX_EVENTS {
            let expected = format_args!("at most {MAX_EVENTS} in a trace");
            return Err(location.bad("event", expected, "more"));
        }
        self.events.extend(coflow.map(|coflow| (index, location.line, coflow)));
        self.event_times.push(at);
        self.workload.events.push(ClusterEvent { at_s: 0.0, what });
        Ok(())
    }

    /// Returns the workload, after all coflows have been added; `name` names the file.
    pub fn finish(mut self, name: &str, notes: Notes<'_>) -> Result<Workload, TraceError> {
        let origin = self.arrivals.iter().min().copied().unwrap_or_default();
        self.workload.origin = origin;
        for (coflow, arrival) in self.workload.coflows.iter_mut().zip(&self.arrivals) {
            coflow.arrival_s = arrival.since(origin);
        }
        for (event, at) in self.workload.events.iter_mut().zip(&self.event_times) {
            event.at_s = at.since(origin);
        }
        if let (coflows @ 1.., line) = self.merged {
            notes(&format!(
                "{name}: coflows that name a rack twice: {coflows}, first on line {line}; as in CoflowSim, its mappers \
                 are one, and its reducers get the sum"
            ));
        }
        for (child, ids) in std::mem::take(&mut self.parents) {
            let line = self.lines[child as usize];
            let location = Location { name, line };
            let mut parents = Vec::with_capacity(ids.len());
            for id in &ids {
                let Some(&parent) = self.positions.get(id) else {
                    let expected = "the id of a coflow of this trace";
                    return Err(location.bad("parents", expected, quote(id)));
                };
                parents.push(parent);
            }
            let mut sorted = parents.clone();
            if let Some(twice) = first_duplicate(&mut sorted) {
                let id = &self.workload.coflows[twice as usize].id;
                let found = format_args!("{} twice", quote(id));
                return Err(location.bad("parents", "each id once", found));
            }
            self.workload.coflows[child as usize].parents = parents;
        }
        for (index, line, id) in std::mem::take(&mut self.events) {
            let location = Location { name, line };
            let Some(&coflow) = self.positions.get(&id) else {
                let expected = "the id of a coflow of this trace";
                return Err(location.bad("coflow", expected, quote(&id)));
            };
            let width = self.workload.coflows[coflow as usize].width();
            let flow = self.workload.events[index].what.flow_mut();
            if let Some(flow) = flow {
                if flow.flow as usize >= width {
                    let expected = format_args!("a flow from 0 to {}", width - 1);
                    return Err(location.bad("flow", expected, flow.flow));
                }
                flow.coflow = coflow;
            }
        }
        if let Some(position) = on_a_cycle(&self.workload.coflows) {
            let line = self.lines[position];
            let found =
                format!("{}, which waits for itself", quote(&self.workload.coflows[position].id));
            let expected = "predecessors without a cycle";
            return Err(Location { name, line }.bad("parents", expected, found));
        }
        Ok(self.workload)
    }
}

/// Checks that a name is neither empty nor too long.
pub(crate) fn check_name(
    location: Location<'_>,
    field: &str,
    name: &str,
) -> Result<(), TraceError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        let expected = format_args!("1 to {MAX_NAME_BYTES} bytes");
        return Err(location.bad(field, expected, quote(name)));
    }
    Ok(())
}

/// The smallest value that occurs twice. Sorts the values.
pub(crate) fn first_duplicate(values: &mut [u32]) -> Option<u32> {
    values.sort_unstable();
    values.windows(2).find(|w| w[0] == w[1]).map(|w| w[0])
}

/// A coflow that is its own predecessor, directly or through others.
fn on_a_cycle(coflows: &[Coflow]) -> Option<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let mut state = vec![State::New; coflows.len()];
    // A depth-first walk along parents: each coflow on the path and its next parent to visit.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..coflows.len() {
        if state[start] == State::New {
            state[start] = State::OnPath;
            path.push((start, 0));
        }
        while let Some((coflow, next)) = path.last_mut() {
            let Some(&parent) = coflows[*coflow].parents.get(*next) else {
                state[*coflow] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let parent = parent as usize;
            match state[parent] {
                State::OnPath => return Some(parent),
                State::New => {
                    state[parent] = State::OnPath;
                    path.push((parent, 0));
                }
                State::Done => {}
            }
        }
    }
    None
}
