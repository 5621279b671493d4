//! What is near a flow: other groups, and the nearest flow of a group.

use super::{Clusterer, Flow, FlowNumber, GroupNumber, NONE};
use crate::attributes::{Attribute, Differences};
use crate::observer::Point;

impl Clusterer {
    /// Fills `near` with the groups, other than its own, that are nearer than `diameter` to a flow,
    /// nearest first, with their distances. The distance of a flow to a group is the least to one
    /// of the group's leaders. As of the last refresh.
    pub fn near(&self, flow: FlowNumber, diameter: f64, near: &mut Vec<(GroupNumber, f64)>) {
        near.clear();
        let Flow { point, leader, .. } = &self.flows[flow.0 as usize];
        let own = self.group_of[*leader as usize];
        for number in self.around(point, diameter) {
            if self.group_of[number as usize] == own {
                continue;
            }
            let leader = &self.leaders[number as usize];
            let distance = self.metric.distance(&self.observer.differences(point, &leader.point));
            if distance >= diameter {
                continue;
            }
            let group = GroupNumber(self.group_of[number as usize]);
            match near.iter_mut().find(|(known, _)| *known == group) {
                Some((_, least)) => *least = least.min(distance),
                None => near.push((group, distance)),
            }
        }
        near.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }

    /// The live flow that is nearest to a flow among those of some groups, as far as `diameter`,
    /// with their differences. Of flows that follow one leader a few are looked at. As of the last
    /// refresh.
    pub fn nearest(
        &self,
        flow: FlowNumber,
        diameter: f64,
        is_of: impl Fn(GroupNumber) -> bool,
    ) -> Option<(FlowNumber, Differences)> {
        let Flow { point, leader, previous, next, .. } = &self.flows[flow.0 as usize];
        let leaders = self.around(point, diameter).filter(|&number| {
            number != *leader && is_of(GroupNumber(self.group_of[number as usize]))
        });
        let of_leaders = leaders.map(|number| self.leaders[number as usize].first_flow);
        let of_own = [*previous, *next].into_iter();
        let of_own = of_own.filter(|_| is_of(GroupNumber(self.group_of[*leader as usize])));
        of_own
            .chain(of_leaders)
            .filter(|&other| other != NONE)
            .map(|other| {
                let differences =
                    self.observer.differences(point, &self.flows[other as usize].point);
                (FlowNumber(other), differences, self.metric.distance(&differences))
            })
            .min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)))
            .map(|(other, differences, _)| (other, differences))
    }

    /// The leaders that may be nearer than `diameter` to a point, by their times.
    fn around(&self, point: &Point, diameter: f64) -> impl Iterator<Item = u32> + '_ {
        let window_s = self.metric.reach(Attribute::Start, diameter) * self.gap_s;
        let from_s = point.start_s - window_s - self.span_s;
        let not_before_s = point.start_s - window_s;
        let places = self.order.between(from_s, point.start_s + window_s);
        places.filter_map(move |place| self.order.at(place, not_before_s))
    }
}

#[cfg(test)]
mod tests {
    use covey_core::{Address, Observed};

    use super::*;
    use crate::metric::Metric;

    #[test]
    fn the_nearest_flow_of_a_group_is_found_and_why() {
        let mut clusterer = Clusterer::new(Metric::start_alone());
        let start = |clusterer: &mut Clusterer, start_s: f64| {
            let (src, dst) = (Address::host(1), Address::host(2));
            let (sport, dport, protocol) = (40_000, 9_000, 6);
            let community = None;
            clusterer.start(&Observed { start_s, src, dst, sport, dport, protocol, community })
        };
        // Bursts a second apart, so that the time scale is known.
        for burst in 0..200 {
            for k in 0..4 {
                start(&mut clusterer, f64::from(burst) + 1e-3 * f64::from(k));
            }
        }
        let flow = start(&mut clusterer, 200.0);
        let [near, far] = [200.002, 201.0].map(|start_s| start(&mut clusterer, start_s));
        clusterer.refresh();
        let own = clusterer.group(flow);
        assert_eq!((clusterer.group(near), clusterer.group(far) == own), (own, false));
        let radius = clusterer.metric().radius;
        let (found, differences) =
            clusterer.nearest(flow, radius, |group| Some(group) == own).expect("one flow is near");
        assert_eq!(found, near);
        let metric = clusterer.metric();
        let sum: f64 = metric.parts(&differences).iter().sum();
        assert!((sum.sqrt() - metric.distance(&differences)).abs() < 1e-12);
        assert!(metric.distance(&differences) <= radius);
        // Nothing else of its group is there, and nothing is near the last one.
        assert!(
            clusterer.nearest(far, radius, |group| Some(group) == clusterer.group(far)).is_none()
        );
        clusterer.end(near);
        clusterer.refresh();
        assert!(clusterer.nearest(flow, radius, |group| Some(group) == own).is_none());
    }
}
