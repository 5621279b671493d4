//! DBSCAN (Ester, Kriegel, Sander and Xu, KDD 1996) over points in order of start, and Rough-DBSCAN
//! (Viswanath and Babu, Pattern Recognition Letters 2009) over leaders.
//!
//! A leader is a flow of a burst together with flows of that burst that start soon after each
//! other: a flow follows a leader if it is within the leader radius of the leader's followers. In
//! start, leaders are as far apart as their nearest followers would be if these had no gaps, so
//! little is lost. A leader spans at most one gap between bursts.
//!
//! A point is *core* if at least `min_points` points, itself included, are within the radius. Core
//! points within the radius of each other are in one group. A point that is not core joins the
//! nearest core point within the radius; without one it is a group of its own. With `min_points` =
//! 1 every point is core, and groups are the connected components.
//!
//! Pairs whose starts alone are too far apart are never compared: the metric bounds the distance
//! from below by the difference of starts.

use crate::attributes::Attribute;
use crate::disjoint_sets::DisjointSets;
use crate::metric::Metric;
use crate::observer::{Observer, Point};

/// The group of each point. `points` are in order of start, and `weights` says how many points each
/// of them stands for. Groups are numbered from 0, in order of their first points.
pub(crate) fn dbscan(
    points: &[Point],
    weights: &[u32],
    observer: &Observer,
    metric: &Metric,
    min_points: u32,
) -> Vec<u32> {
    let mut sets = DisjointSets::new(points.len());
    let is_core = core_points(points, weights, observer, metric, min_points);
    let mut nearest_core = vec![(f64::INFINITY, 0); points.len()];
    let radius_squared = metric.radius * metric.radius;
    for_candidates(points, observer, metric, |i, j| {
        let are_core = is_core[i] && is_core[j];
        if are_core && sets.find(i as u32) == sets.find(j as u32) {
            return; // nothing to learn from this pair
        }
        let squared = metric.squared(&observer.differences(&points[i], &points[j]));
        if squared > radius_squared {
            return;
        }
        match (is_core[i], is_core[j]) {
            (true, true) => sets.union(i as u32, j as u32),
            (false, true) => nearest_core[i] = min(nearest_core[i], (squared, j as u32)),
            (true, false) => nearest_core[j] = min(nearest_core[j], (squared, i as u32)),
            (false, false) => {}
        }
    });
    let roots: Vec<u32> = (0..points.len())
        .map(|i| match nearest_core[i] {
            (squared, core) if squared.is_finite() => sets.find(core),
            _ => sets.find(i as u32),
        })
        .collect();
    numbered(&roots)
}

/// The groups by leaders: each point follows the newest leader of its burst within the leader
/// radius, or becomes one. Leaders are grouped, and followers are where their leader is.
pub(crate) fn rough_dbscan(
    points: &[Point],
    observer: &Observer,
    metric: &Metric,
    min_points: u32,
) -> Vec<u32> {
    let mut leaders: Vec<Point> = Vec::new();
    let mut followers: Vec<u32> = Vec::new();
    let mut previous: Vec<Option<u32>> = Vec::new(); // the burst's leader before this one
    let bursts = points.iter().map(|point| point.burst() + 1).max().unwrap_or(0);
    let mut newest: Vec<Option<u32>> = vec![None; bursts];
    let leader_of: Vec<u32> = (points.iter())
        .map(|point| {
            let mut next = newest[point.burst()];
            while let Some(number) = next {
                let leader = &mut leaders[number as usize];
                if follows(observer, metric, point, leader) {
                    leader.last_start_s = leader.last_start_s.max(point.start_s);
                    followers[number as usize] += 1;
                    return number;
                }
                if is_over(observer, leader, point.start_s) {
                    break; // and older leaders too
                }
                next = previous[number as usize];
            }
            let leader = leaders.len() as u32;
            leaders.push(*point);
            followers.push(1);
            previous.push(newest[point.burst()].replace(leader));
            leader
        })
        .collect();
    let groups = dbscan(&leaders, &followers, observer, metric, min_points);
    leader_of.iter().map(|&leader| groups[leader as usize]).collect()
}

/// The longest time that a leader spans, in gaps between bursts.
const MAX_SPAN: f64 = 1.0;

/// Whether a flow follows a leader of its burst.
pub(crate) fn follows(observer: &Observer, metric: &Metric, flow: &Point, leader: &Point) -> bool {
    (leader.start_s..=leader.start_s + MAX_SPAN * observer.gap_s()).contains(&flow.start_s)
        && is_within(observer, metric, flow, leader, metric.leader_radius)
}

/// Whether a leader is too old for a flow that starts at a time to follow it.
pub(crate) fn is_over(observer: &Observer, leader: &Point, start_s: f64) -> bool {
    leader.start_s + MAX_SPAN * observer.gap_s() < start_s
}

/// Whether two points are at most `radius` apart.
pub(crate) fn is_within(
    observer: &Observer,
    metric: &Metric,
    x: &Point,
    y: &Point,
    radius: f64,
) -> bool {
    metric.squared(&observer.differences(x, y)) <= radius * radius
}

fn core_points(
    points: &[Point],
    weights: &[u32],
    observer: &Observer,
    metric: &Metric,
    min_points: u32,
) -> Vec<bool> {
    if min_points <= 1 {
        return vec![true; points.len()];
    }
    let mut near = weights.to_vec();
    for_candidates(points, observer, metric, |i, j| {
        if is_within(observer, metric, &points[i], &points[j], metric.radius) {
            near[i] += weights[j];
            near[j] += weights[i];
        }
    });
    near.iter().map(|&near| near >= min_points).collect()
}

/// Calls `pair` with the places of two points that may be within the radius: neither their starts
/// alone nor the sizes of their peer sets alone are too far apart.
fn for_candidates(
    points: &[Point],
    observer: &Observer,
    metric: &Metric,
    mut pair: impl FnMut(usize, usize),
) {
    let span_s = points.iter().map(|p| p.last_start_s - p.start_s).fold(0.0, f64::max);
    let window_s = metric.reach(Attribute::Start, metric.radius) * observer.gap_s();
    let peers = metric.reach(Attribute::Peers, metric.radius);
    for (i, x) in points.iter().enumerate() {
        for (j, y) in (0..i).rev().map(|j| (j, &points[j])) {
            if x.start_s - y.start_s > window_s + span_s {
                break;
            }
            if x.start_s - y.last_start_s <= window_s
                && observer.least_peer_difference(x.burst(), y.burst()) <= peers
            {
                pair(j, i);
            }
        }
    }
}

fn min(a: (f64, u32), b: (f64, u32)) -> (f64, u32) {
    if b < a { b } else { a }
}

/// Numbers from 0 in place of `names`, in order of their first occurrence. Names are below their
/// number.
fn numbered(names: &[u32]) -> Vec<u32> {
    let mut number_of = vec![u32::MAX; names.len()];
    let mut numbers = 0;
    let mut number = |name: &u32| {
        let number = &mut number_of[*name as usize];
        if *number == u32::MAX {
            *number = numbers;
            numbers += 1;
        }
        *number
    };
    names.iter().map(&mut number).collect()
}
