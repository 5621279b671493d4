//! With 10,000 live flows, the clusterer allocates next to nothing once it has warmed up.
//!
//! All its lists are kept and filled again, so they grow only with the numbers of live flows,
//! leaders, bursts and groups. One list is different: that of the leaders of a group belongs to the
//! group's number, and numbers are used again. It doubles when the group has more leaders than any
//! before it of this number. So each number allocates at most log2 of the largest group's leaders
//! times, ever more rarely, and never for each event.

#[path = "../../covey-sim/tests/counting/mod.rs"]
mod counting;

use std::collections::VecDeque;

use counting::allocations;
use covey_core::SplitMix;
use covey_identify::{Address, Clusterer, FlowNumber, Metric, Observed};

/// Live flows.
const LIVE: usize = 10_000;
/// Flows that are counted together.
const STRETCH: usize = 20_000;
/// Stretches after which allocations are rare.
const WARM_UP: u32 = 20;
/// Flows between two refreshes.
const REFRESH: usize = 20;
const HOSTS: u64 = 150;

/// The flows of shuffles, one after another, of applications that run side by side on all hosts.
struct Shuffles {
    random: SplitMix,
    now_s: f64,
    /// The application's port.
    port: u16,
    /// Sender and receiver of the flows of this shuffle that have not started.
    left: Vec<(u32, u32)>,
}

impl Shuffles {
    fn new() -> Shuffles {
        Shuffles { random: SplitMix::new(1), now_s: 0.0, port: 0, left: Vec::new() }
    }

    /// The next flows.
    fn take(&mut self, flows: usize) -> Vec<Observed> {
        (0..flows).map(|_| self.next_flow()).collect()
    }

    fn next_flow(&mut self) -> Observed {
        if self.left.is_empty() {
            let [senders, receivers] = [(); 2].map(|()| 1 + self.below(30));
            let [first, to] = [(); 2].map(|()| self.below(HOSTS));
            let host = |number: u64| (number % HOSTS) as u32;
            let pairs = (0..senders).flat_map(|s| (0..receivers).map(move |r| (s, r)));
            self.left = pairs.map(|(s, r)| (host(first + s), host(to + r))).collect();
            self.now_s += 2e-4 * self.below(1000) as f64;
            self.port = 40_000 + self.below(8) as u16;
        }
        let (src, dst) = self.left.pop().expect("a shuffle has flows");
        self.now_s += 1e-6 * self.below(200) as f64;
        Observed {
            start_s: self.now_s,
            src: Address::host(src),
            dst: Address::host(dst),
            sport: self.port,
            dport: 50_000 + self.below(1000) as u16,
            protocol: 6,
            community: None,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }
}

/// A clusterer with its live flows, oldest first.
struct Live {
    clusterer: Clusterer,
    flows: VecDeque<FlowNumber>,
}

impl Live {
    fn new() -> Live {
        let flows = VecDeque::with_capacity(LIVE + 1);
        Live { clusterer: Clusterer::new(Metric::default()), flows }
    }

    /// Starts flows. Each ends when [`LIVE`] others have started since. Returns the number
    /// of allocations.
    fn run(&mut self, flows: &[Observed]) -> usize {
        allocations(|| {
            for (place, flow) in flows.iter().enumerate() {
                self.flows.push_back(self.clusterer.start(flow));
                if self.flows.len() > LIVE
                    && let Some(oldest) = self.flows.pop_front()
                {
                    self.clusterer.end(oldest);
                }
                if place % REFRESH == 0 {
                    self.clusterer.refresh();
                }
            }
        })
    }
}

#[test]
fn live_flows_allocate_only_for_groups_larger_than_those_before() {
    let (mut shuffles, mut live) = (Shuffles::new(), Live::new());
    let mut run = || live.run(&shuffles.take(STRETCH));
    let first = run();
    assert!(first > 100, "{first}: nothing is counted");
    (1..WARM_UP).for_each(|_| _ = run());
    let later: Vec<usize> = (0..2 * WARM_UP).map(|_| run()).collect();
    assert_eq!(live.flows.len(), LIVE);
    // Fewer than one for 20,000 flows, which are 40,000 events.
    let (all, flows) = (later.iter().sum::<usize>(), STRETCH * later.len());
    assert!(all < flows / 20_000, "{all}: {later:?}");
    // Most stretches allocate nothing.
    assert!(2 * later.iter().filter(|&&it| it == 0).count() > later.len(), "{later:?}");
}
