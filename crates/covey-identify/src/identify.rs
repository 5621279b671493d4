//! The groups of recorded flows, all at once.

use crate::dbscan::{dbscan, rough_dbscan};
use crate::metric::Metric;
use crate::observer::{Observer, Point};
use covey_core::Observed;

/// How recorded flows are clustered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Every flow by itself: DBSCAN with this many flows within the radius of a core flow.
    Dbscan {
        /// At least 1; then groups are connected components.
        min_points: u32,
    },
    /// By leaders: Rough-DBSCAN, with this many flows within the radius of a core leader.
    Rough {
        /// At least 1; then groups are connected components.
        min_points: u32,
    },
}

impl Algorithm {
    /// Rough-DBSCAN with connected components as groups.
    pub const DEFAULT: Algorithm = Algorithm::Rough { min_points: 1 };
}

/// The group of each flow, in the order of `flows`, which need not be that of time. Groups are
/// numbered from 0 in order of their first starts. Flows that start together keep their order.
///
/// Services and the time scale are learned from all flows in a first pass, and points are made in a
/// second.
pub fn identify(flows: &[Observed], metric: &Metric, algorithm: Algorithm) -> Vec<u32> {
    let recorded = Recorded::new(flows);
    let groups = recorded.groups(metric, algorithm);
    recorded.in_given_order(&groups)
}

/// How far the starts of `flows` tell groups apart, from 0 to 1 ([`Observer::confidence`]).
pub fn confidence(flows: &[Observed]) -> f64 {
    previewed(flows).0.confidence()
}

/// An observer that has seen all flows in a first pass, and the place of each flow in order of
/// start.
fn previewed(flows: &[Observed]) -> (Observer, Vec<u32>) {
    let mut place: Vec<u32> = (0..flows.len() as u32).collect();
    let start = |&place: &u32| flows[place as usize].start_s;
    place.sort_by(|a, b| start(a).total_cmp(&start(b)));
    let mut observer = Observer::new();
    place.iter().for_each(|&place| observer.preview(&flows[place as usize]));
    observer.finish_preview();
    (observer, place)
}

/// Recorded flows as points, in order of start.
pub(crate) struct Recorded {
    pub observer: Observer,
    pub points: Vec<Point>,
    /// The place of each point's flow among the given flows.
    pub place: Vec<u32>,
}

impl Recorded {
    pub fn new(flows: &[Observed]) -> Recorded {
        let (mut observer, place) = previewed(flows);
        let in_order = place.iter().map(|&place| &flows[place as usize]);
        let points = in_order.map(|flow| observer.start(flow).0).collect();
        Recorded { observer, points, place }
    }

    /// The group of each point.
    pub fn groups(&self, metric: &Metric, algorithm: Algorithm) -> Vec<u32> {
        match algorithm {
            Algorithm::Dbscan { min_points } => {
                let weights = vec![1; self.points.len()];
                dbscan(&self.points, &weights, &self.observer, metric, min_points)
            }
            Algorithm::Rough { min_points } => {
                rough_dbscan(&self.points, &self.observer, metric, min_points)
            }
        }
    }

    /// What belongs to points, in the order of the given flows.
    pub fn in_given_order(&self, of_points: &[u32]) -> Vec<u32> {
        let mut given = vec![0; of_points.len()];
        for (&place, &value) in self.place.iter().zip(of_points) {
            given[place as usize] = value;
        }
        given
    }
}
