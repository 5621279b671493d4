//! Targets of flows at the links inside a fabric.

use covey_core::Demand;

/// For each inner link of a [`Demand`], the targets of the flows that cross it, one after the other.
#[derive(Debug, Default)]
pub(super) struct InnerTargets {
    /// First flow of each inner link, and the end of the last.
    start: Vec<u32>,
    targets: Vec<f64>,
    /// Positions of these flows.
    flows: Vec<u32>,
    /// Where each flow stands at the inner links of its path, in their order.
    places: Vec<u32>,
    /// First place of each flow.
    first: Vec<u32>,
    /// By flow, the link at which its target was set last, and its place there. A flow that moves is asked for twice at
    /// the link that it leaves.
    last: Vec<(u32, u32)>,
}

/// No link.
const NONE: u32 = u32::MAX;

impl InnerTargets {
    /// No flow has a target.
    pub fn clear(&mut self, demand: &Demand) {
        let ends = demand.senders() + demand.receivers();
        self.start.clear();
        self.start.resize(demand.links().len() - ends + 1, 0);
        self.first.clear();
        self.places.clear();
        self.last.clear();
        let mut crossings = 0;
        for position in 0..demand.width() {
            self.first.push(crossings);
            for l in demand.inner_path(position) {
                self.start[l - ends] += 1;
                crossings += 1;
            }
        }
        let mut end = 0;
        for start in &mut self.start {
            end += *start;
            *start = end;
        }
        self.targets.clear();
        self.targets.resize(crossings as usize, f64::INFINITY);
        self.flows.clear();
        self.flows.resize(crossings as usize, 0);
        self.places.resize(crossings as usize, 0);
        self.last.resize(demand.width(), (NONE, 0));
        for position in (0..demand.width()).rev() {
            for (hop, l) in demand.inner_path(position).enumerate() {
                let start = &mut self.start[l - ends];
                *start -= 1;
                self.flows[*start as usize] = position as u32;
                self.places[self.first[position] as usize + hop] = *start;
            }
        }
    }

    fn place(&self, demand: &Demand, position: usize, link: usize) -> usize {
        let (last, place) = self.last[position];
        if last as usize == link {
            return place as usize;
        }
        let hop = demand.inner_path(position).position(|l| l == link);
        let hop = hop.expect("the flow crosses the link");
        self.places[self.first[position] as usize + hop] as usize
    }

    /// A flow's target at a link on its path; infinite if it has none there.
    pub fn target(&self, demand: &Demand, position: usize, link: usize) -> f64 {
        self.targets[self.place(demand, position, link)]
    }

    /// Sets a flow's target at a link on its path.
    pub fn set_target(&mut self, demand: &Demand, position: usize, link: usize, target: f64) {
        let place = self.place(demand, position, link);
        self.last[position] = (link as u32, place as u32);
        self.targets[place] = target;
    }

    /// Targets at a link, and the positions of their flows.
    pub fn at(&self, demand: &Demand, link: usize) -> (&[f64], &[u32]) {
        let k = link - demand.senders() - demand.receivers();
        let here = self.start[k] as usize..self.start[k + 1] as usize;
        (&self.targets[here.clone()], &self.flows[here])
    }
}
