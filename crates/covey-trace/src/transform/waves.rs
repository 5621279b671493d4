//! Coflows with several waves (Aalo, SIGCOMM 2015, §7.3, Table 4).

use super::shared::{bad, senders};
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
    /// The seed that determines each coflow's number of waves.
    pub seed: u64,
}

/// Percentages of coflows with one, two, three and four waves, by the maximum number of waves.
const SHARES: [&[usize]; 4] = [&[100], &[90, 10], &[81, 9, 10], &[81, 9, 4, 6]];

/// `workload` with the published shares of coflows in several waves.
///
/// A coflow of n waves has its senders, in order of their first flows, divided into n groups that
/// are as equal as possible: the mappers of one wave. A wave begins when the previous one would
/// have ended if it were alone. The paper's text does not say when waves begin, so this is our
/// choice.
///
/// # Errors
/// [`TraceError::Argument`] for a number of waves without published shares, an invalid
/// rate, and if too few coflows have enough senders.
pub fn waves(workload: &Workload, how: Waves) -> Result<Workload, TraceError> {
    let shares = (how.max as usize).checked_sub(1).and_then(|k| SHARES.get(k));
    let shares = shares.ok_or_else(|| bad("max", "1, 2, 3 or 4 waves", how.max))?;
    if !(how.rate > 0.0 && how.rate.is_finite()) {
        return Err(bad("rate", "a speed above zero", how.rate));
    }
    let mut workload = workload.clone();
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
            divide(&mut workload.coflows[index], waves, how.rate);
        }
        order = rest;
    }
    Ok(workload)
}

/// Divides a coflow into `waves` waves.
fn divide(coflow: &mut Coflow, waves: usize, rate: f64) {
    let (ports, of_flow) = senders(coflow);
    let wave_of = |sender: usize| sender * waves / ports.len();
    let mut start_s = 0.0;
    for wave in 0..waves {
        let mut load = std::collections::BTreeMap::new();
        for (flow, &sender) in coflow.flows.iter_mut().zip(&of_flow) {
            if wave_of(sender) == wave {
                flow.start_s += start_s;
                *load.entry((false, flow.src)).or_insert(0.0) += flow.bytes;
                *load.entry((true, flow.dst)).or_insert(0.0) += flow.bytes;
            }
        }
        start_s += load.values().copied().fold(0.0, f64::max) / rate;
    }
}
