//! The use of each host's link over time, in a replay.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use covey_core::Fabric;
use covey_experiment::{Error, Experiment, Progress, Setup};
use covey_report::LinkUse;
use covey_sim::{Observer, Round};

use crate::Schedule;
use crate::replay::{Fetching, Placed};

/// Intervals of equal length in which uses are averaged.
const INTERVALS: usize = 120;

/// The use of the links of `hosts`, which has their names, in a replay that has settled on
/// `schedules`.
///
/// # Errors
/// Those of [`Experiment::run`].
pub(crate) fn link_use(
    placed: &[Placed<'_>],
    hosts: &[String],
    setup: &Setup,
    spec: &str,
    schedules: &[Schedule],
    progress: &dyn Progress,
) -> Result<Vec<LinkUse>, Error> {
    let mut fetching = Fetching::of(placed, hosts.len() as u32);
    fetching.start(placed, schedules);
    let by_host = fetching.workload.clone();
    let (network, workload) = setup.place(fetching.workload, |_| {})?;
    // The network may put hosts on other ports, or several on one.
    let mut port_of = vec![None; hosts.len()];
    for (named, on_port) in by_host.coflows.iter().zip(&workload.coflows) {
        for (named, on_port) in named.flows.iter().zip(&on_port.flows) {
            port_of[named.src as usize] = Some(on_port.src);
            port_of[named.dst as usize] = Some(on_port.dst);
        }
    }
    let ends_s = placed.iter().zip(schedules).map(|(it, own)| it.offset_s + own.end_s);
    let recorded = Recorded::new(network.fabric(), ends_s.fold(0.0, f64::max));
    let experiment = Experiment::on(network, &workload, "replay", setup)?;
    experiment.run(
        vec![setup.contender(spec)?.watched_by(Box::new(recorded.clone()))],
        false,
        1,
        progress,
    )?;
    let found = recorded.0.lock().unwrap_or_else(PoisonError::into_inner);
    let of_port = |host: &String, port: Option<u32>| LinkUse {
        host: host.clone(),
        interval_s: found.interval_s,
        sent: port.map_or_else(Vec::new, |port| found.share(port as usize)),
        received: port.map_or_else(Vec::new, |port| found.share(found.ports + port as usize)),
    };
    Ok(hosts.iter().zip(port_of).map(|(host, port)| of_port(host, port)).collect())
}

/// Adds up what each link of a host carries in each interval.
struct Carried {
    interval_s: f64,
    ports: usize,
    /// Bytes per second, of each port's way out and then of each port's way in.
    capacity: Vec<f64>,
    /// Bytes in each interval, link by link.
    bytes: Vec<[f64; INTERVALS]>,
    /// The rates since the last round, and its time.
    rates: Vec<f64>,
    since_s: f64,
    /// Working memory: the rates of a coflow.
    of_coflow: Vec<f64>,
}

impl Carried {
    fn share(&self, link: usize) -> Vec<f64> {
        let full = self.capacity[link] * self.interval_s;
        // Rounding may lift a full link above 1.
        self.bytes[link].iter().map(|bytes| (bytes / full).min(1.0)).collect()
    }

    fn carry_until(&mut self, now_s: f64) {
        let place = |time_s: f64| ((time_s / self.interval_s) as usize).min(INTERVALS - 1);
        for interval in place(self.since_s)..=place(now_s) {
            let start_s = self.since_s.max(interval as f64 * self.interval_s);
            let end_s = now_s.min((interval + 1) as f64 * self.interval_s);
            for (bytes, rate) in self.bytes.iter_mut().zip(&self.rates) {
                bytes[interval] += rate * (end_s - start_s).max(0.0);
            }
        }
        self.since_s = now_s;
    }
}

/// The record of a simulation, which outlives it.
#[derive(Clone)]
struct Recorded(Arc<Mutex<Carried>>);

impl Recorded {
    fn new(fabric: &Fabric, end_s: f64) -> Recorded {
        let ports = fabric.ports() as usize;
        Recorded(Arc::new(Mutex::new(Carried {
            interval_s: end_s.max(f64::MIN_POSITIVE) / INTERVALS as f64,
            ports,
            capacity: fabric.capacity()[..2 * ports].to_vec(),
            bytes: vec![[0.0; INTERVALS]; 2 * ports],
            rates: vec![0.0; 2 * ports],
            since_s: 0.0,
            of_coflow: Vec::new(),
        })))
    }
}

impl Observer for Recorded {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        let mut carried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let carried = &mut *carried;
        carried.carry_until(round.now.as_secs());
        carried.rates.fill(0.0);
        for &id in round.state.present() {
            round.allocator.rates().link_rates(round.state, id, &mut carried.of_coflow);
            let links = round.state.coflow(id).demand().links();
            for (rate, link) in carried.of_coflow.iter().zip(links) {
                // Inner links of the network are no host's.
                if let Some(sum) = carried.rates.get_mut(link.0 as usize) {
                    *sum += rate;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_into_the_intervals_in_which_they_hold() {
        let fabric = Fabric::big_switch(1, 10.0).expect("a network");
        let recorded = Recorded::new(&fabric, 120.0);
        let mut carried = recorded.0.lock().expect("one thread");
        carried.carry_until(1.5);
        carried.rates = vec![10.0, 5.0];
        carried.carry_until(3.25);
        carried.rates = vec![0.0, 0.0];
        carried.carry_until(120.0);
        assert_eq!(carried.share(0)[..5], [0.0, 0.5, 1.0, 0.25, 0.0]);
        assert_eq!(carried.share(1)[..5], [0.0, 0.25, 0.5, 0.125, 0.0]);
        assert_eq!(carried.share(0).len(), INTERVALS);
    }
}
