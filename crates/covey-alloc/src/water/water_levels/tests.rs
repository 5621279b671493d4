//! The levels beside those of plain filling.

use super::*;
use covey_core::LinkId;
use covey_core::SplitMix;

/// Rates of flows on paths over links that carry 1: all rise evenly until a link is full, then
/// those of the others.
fn filled(paths: &[&[u32]], links: usize) -> Vec<f64> {
    let mut rates = vec![None; paths.len()];
    while rates.contains(&None) {
        let level = |link: u32| {
            let here = || (0..paths.len()).filter(|&flow| paths[flow].contains(&link));
            let used: f64 = here().filter_map(|flow| rates[flow]).sum();
            (1.0 - used) / here().filter(|&flow| rates[flow].is_none()).count() as f64
        };
        let is_open = |link: &u32| {
            (0..paths.len()).any(|flow| rates[flow].is_none() && paths[flow].contains(link))
        };
        let open = (0..links as u32).filter(is_open);
        let (level, full) =
            open.map(|link| (level(link), link)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        for flow in 0..paths.len() {
            if paths[flow].contains(&full) {
                rates[flow].get_or_insert(level);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// A flow of a bundle has ended.
fn end(levels: &mut WaterLevels, bundles: &mut Bundles, bundle: u32) {
    if bundles.flows(bundle) > 1 {
        levels.weigh(bundles, bundle, -1.0);
        bundles.remove_one(bundle, 1.0);
    } else {
        levels.leave(bundles, bundle);
        bundles.remove(bundle);
    }
}

/// Whether flows, by their bundles, have the rates of plain filling.
fn check(levels: &WaterLevels, bundles: &Bundles, flows: &[u32], links: u64) {
    let paths: Vec<_> = flows.iter().map(|&bundle| bundles.path(bundle)).collect();
    for (&bundle, rate) in flows.iter().zip(filled(&paths, links as usize)) {
        let kept = levels.levels()[bundles.attached(bundle) as usize];
        assert!((kept - rate).abs() < 1e-9, "{kept} {rate}");
    }
}

/// In each round, up to `changes` flows come or go. When there are many, most go.
fn check_rounds(rounds: usize, changes: u64, links: u64, is_dense: bool) {
    let mut random = SplitMix::new(changes);
    let mut below = move |n: u64| random.next_u64() % n;
    let mut bundles = Bundles::default();
    bundles.clear(false);
    let mut levels = WaterLevels::default();
    levels.clear((0..links).map(|_| 1.0).collect::<Vec<_>>().into_iter(), is_dense);
    let mut flows = Vec::new();
    for round in 0..rounds {
        if flows.len() as u64 > 4 * links {
            flows.drain(10..).for_each(|bundle| end(&mut levels, &mut bundles, bundle));
        }
        for _ in 0..=below(changes) {
            if below(3) == 0 && !flows.is_empty() {
                let flow = below(flows.len() as u64) as usize;
                end(&mut levels, &mut bundles, flows.swap_remove(flow));
                continue;
            }
            let mut path: Vec<u32> = (0..=below(14)).map(|_| below(links) as u32).collect();
            path.sort_unstable();
            path.dedup();
            let (bundle, is_new) = bundles.add(0, path.into_iter().map(LinkId), 1.0);
            if is_new {
                levels.join(&mut bundles, bundle);
            } else {
                levels.weigh(&bundles, bundle, 1.0);
            }
            flows.push(bundle);
        }
        levels.balance(&mut bundles);
        check(&levels, &bundles, &flows, links);
        if round % 16 == 0 {
            levels.fill(&mut bundles);
            check(&levels, &bundles, &flows, links);
        }
    }
}

#[test]
fn levels_are_those_of_plain_filling_as_flows_come_and_go() {
    for is_dense in [false, true] {
        check_rounds(600, 1, 40, is_dense);
        check_rounds(200, 4, 40, is_dense);
        check_rounds(60, 120, 40, is_dense);
    }
}

/// Then they are worked out from nothing, as there are more balances than bundles.
#[test]
fn levels_are_those_of_plain_filling_when_many_flows_come_at_once() {
    for is_dense in [false, true] {
        check_rounds(8, 1200, 200, is_dense);
    }
}
