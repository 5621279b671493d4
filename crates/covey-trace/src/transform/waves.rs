//! Coflows with several waves (Aalo, SIGCOMM 2015, §7.3, Table 4; Stream, Table 2).

use std::str::FromStr;

use super::shared::{bad, only_static, senders};
use crate::error::TraceError;
use crate::random::Random;
use crate::workload::{Coflow, Workload};

/// The parameters of the waves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waves {
    /// Maximum number of waves of a coflow: 1, 2 and 4 as in Table 4 of Aalo, 3 as in Table 2 of
    /// Stream.
    pub max: u32,
    /// Speed of ports in bytes per second. The next wave begins at the time at which a wave alone
    /// would end at this speed.
    pub rate: f64,
    /// What the published percentages are of.
    pub of: WavesOf,
    /// The seed that determines each coflow's number of waves, or the wave of each flow.
    pub seed: u64,
}

/// What is dealt to waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WavesOf {
    /// A percentage of the coflows has a number of waves, as in Aalo.
    #[default]
    Coflows,
    /// Every coflow has as many waves as it can, each with a percentage of its flows, as in Stream.
    Flows,
}

impl FromStr for WavesOf {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<WavesOf, TraceError> {
        match text.to_ascii_lowercase().as_str() {
            "coflows" => Ok(WavesOf::Coflows),
            "flows" => Ok(WavesOf::Flows),
            _ => Err(bad("of", "flows or coflows", crate::error::quote(text))),
        }
    }
}

/// Percentages of coflows with one, two, three and four waves, by the maximum number of waves; or
/// of a coflow's flows in its first to fourth wave.
const SHARES: [&[usize]; 4] = [&[100], &[90, 10], &[81, 9, 10], &[81, 9, 4, 6]];

/// `workload` with the published shares of coflows, or of each coflow's flows, in several waves.
///
/// By flows, the seed puts the flows of each coflow in an order, in which they are dealt to the
/// waves by the percentages, rounded to whole flows. A coflow of few flows has fewer waves than
/// `max`: its empty waves are left out. By coflows, a coflow of n waves has its senders, in order
/// of their first flows, divided into n groups that are as equal as possible: the mappers of one
/// wave. A wave begins when the previous one would have ended if it were alone. The paper's text
/// does not say when waves begin, so this is our choice.
///
/// # Errors
/// [`TraceError::Argument`] for a number of waves without published shares, an invalid
/// rate, and if too few coflows have enough senders.
pub fn waves(workload: &Workload, how: Waves) -> Result<Workload, TraceError> {
    only_static(workload)?;
    let shares = (how.max as usize).checked_sub(1).and_then(|k| SHARES.get(k));
    let shares = shares.ok_or_else(|| bad("max", "1, 2, 3 or 4 waves", how.max))?;
    if !(how.rate > 0.0 && how.rate.is_finite()) {
        return Err(bad("rate", "a speed above zero", how.rate));
    }
    let mut workload = workload.clone();
    if how.of == WavesOf::Flows {
        let mut random = Random::new("covey waves of flows", how.seed);
        for coflow in &mut workload.coflows {
            let wave_of_flow = deal(coflow.flows.len(), shares, &mut random);
            divide(coflow, shares.len(), &wave_of_flow, how.rate);
        }
        return Ok(workload);
    }
    let count = workload.coflows.len();
    let mut random = Random::new("covey waves", how.seed);
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    let width: Vec<usize> = workload.coflows.iter().map(|c| senders(c).0.len()).collect();
    // The largest number of waves first, because the fewest coflows can have it.
    for (k, percent) in shares.iter().enumerate().skip(1).rev() {
        let (waves, wanted) = (k + 1, (count * percent + 50) / 100);
        let (chosen, rest): (Vec<usize>, Vec<usize>) = {
            let mut left = wanted;
            order.iter().partition(|&&index| {
                let chosen = left > 0 && width[index] >= waves;
                left -= usize::from(chosen);
                chosen
            })
        };
        if chosen.len() < wanted {
            let expected = format!(
                "{wanted} of {count} coflows with at least {waves} senders for {waves} waves"
            );
            return Err(bad("waves", expected, chosen.len()));
        }
        for index in chosen {
            let coflow = &mut workload.coflows[index];
            let (ports, of_flow) = senders(coflow);
            let wave_of = |sender: usize| sender * waves / ports.len();
            let wave_of_flow: Vec<usize> = of_flow.into_iter().map(wave_of).collect();
            divide(coflow, waves, &wave_of_flow, how.rate);
        }
        order = rest;
    }
    Ok(workload)
}

/// The wave of each of `flows` flows, in a random order, by percentages.
fn deal(flows: usize, percent: &[usize], random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..flows).collect();
    random.shuffle(&mut order);
    let mut wave_of_flow = vec![0; flows];
    let (mut dealt, mut sum) = (0, 0);
    for (wave, percent) in percent.iter().enumerate() {
        sum += percent;
        let until = (flows * sum + 50) / 100;
        order[dealt..until].iter().for_each(|&flow| wave_of_flow[flow] = wave);
        dealt = until;
    }
    wave_of_flow
}

/// Divides a coflow into `waves` waves. A wave begins when the previous one would end alone.
fn divide(coflow: &mut Coflow, waves: usize, wave_of_flow: &[usize], rate: f64) {
    let mut start_s = 0.0;
    for wave in 0..waves {
        let mut load = std::collections::BTreeMap::new();
        for (flow, &wave_of_flow) in coflow.flows.iter_mut().zip(wave_of_flow) {
            if wave_of_flow == wave {
                flow.start_s += start_s;
                *load.entry((false, flow.src)).or_insert(0.0) += flow.bytes;
                *load.entry((true, flow.dst)).or_insert(0.0) += flow.bytes;
            }
        }
        start_s += load.values().copied().fold(0.0, f64::max) / rate;
    }
}
