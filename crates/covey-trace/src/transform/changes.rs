//! A summary of a transformation's changes, in one line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::mantri::mapper_cv;
use super::shared::counted;
use crate::stats::Quantiles;
use crate::workload::{Coflow, Workload};

/// The differences between a workload and its original; the text form is one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    coflows: usize,
    flows: usize,
    bytes: f64,
    ports: u32,
    /// Number of jobs with names.
    jobs: usize,
    /// Coflows of each tenant that has some.
    tenants: BTreeMap<String, usize>,
    /// Each kind of difference, and the number of coflows that have it.
    differences: Vec<(&'static str, usize)>,
    /// Coefficients of variation of mappers, for coflows with different sizes.
    mapper_cv: Option<Quantiles>,
    /// Numbers of coflows with two, three and four or more waves, if starts differ.
    waves: Option<[usize; 3]>,
    /// Events, and further attempts of flows.
    events: usize,
    attempts: usize,
}

impl Changes {
    /// Compares a workload with `before`. Coflows are identified by their ids.
    pub fn between(before: &Workload, after: &Workload) -> Changes {
        let by_id: HashMap<&str, &Coflow> =
            before.coflows.iter().map(|coflow| (coflow.id.as_str(), coflow)).collect();
        let pairs: Vec<(&Coflow, &Coflow)> = (after.coflows.iter())
            .filter_map(|coflow| Some((*by_id.get(coflow.id.as_str())?, coflow)))
            .collect();
        let in_pairs = |differ: fn(&Coflow, &Coflow) -> bool| {
            pairs.iter().filter(|(before, after)| differ(before, after)).count()
        };
        fn flows<T: PartialEq>(a: &Coflow, b: &Coflow, of: fn(&crate::Flow) -> T) -> bool {
            !a.flows.iter().map(of).eq(b.flows.iter().map(of))
        }
        let arrives = |of: &Workload, coflow: &Coflow| of.origin.after(coflow.arrival_s);
        let has_moved = |(a, b): &&(&Coflow, &Coflow)| arrives(before, a) != arrives(after, b);
        let moved = pairs.iter().filter(has_moved).count();
        // If no coflow has kept its id, all coflows are new.
        let kept = usize::from(!pairs.is_empty());
        let differences = [
            ("left out", kept * (before.coflows.len() - pairs.len())),
            ("new", kept * (after.coflows.len() - pairs.len())),
            ("with other sizes", in_pairs(|a, b| flows(a, b, |f| f.bytes))),
            ("with other ports", in_pairs(|a, b| flows(a, b, |f| (f.src, f.dst)))),
            ("with other arrivals", moved),
            ("with other starts", in_pairs(|a, b| flows(a, b, |f| f.start_s))),
        ];
        let resized = differences[2].1 > 0;
        let restarted = differences[5].1 > 0;
        let cvs = || Quantiles::of(after.coflows.iter().filter_map(mapper_cv).collect());
        let with_waves = |min: usize, max: usize| {
            let waves = |c: &&Coflow| (min..=max).contains(&waves(c));
            after.coflows.iter().filter(waves).count()
        };
        let mut tenants = BTreeMap::new();
        for tenant in after.coflows.iter().filter_map(|coflow| coflow.tenant.clone()) {
            *tenants.entry(tenant).or_default() += 1;
        }
        Changes {
            coflows: after.coflows.len(),
            flows: after.num_flows(),
            bytes: after.bytes(),
            ports: after.ports,
            jobs: after.coflows.iter().filter_map(|c| c.job.as_ref()).collect::<HashSet<_>>().len(),
            tenants,
            differences: differences.into_iter().filter(|(_, count)| *count > 0).collect(),
            mapper_cv: if resized { cvs() } else { None },
            waves: restarted
                .then(|| [with_waves(2, 2), with_waves(3, 3), with_waves(4, usize::MAX)]),
            events: after.events.len(),
            attempts: after.coflows.iter().map(|coflow| coflow.attempts.len()).sum(),
        }
    }
}

/// The number of times at which flows of a coflow start.
fn waves(coflow: &Coflow) -> usize {
    let mut starts: Vec<f64> = coflow.flows.iter().map(|flow| flow.start_s).collect();
    starts.sort_unstable_by(f64::total_cmp);
    starts.dedup();
    starts.len()
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { coflows, flows, bytes, ports, .. } = self;
        let (coflows, flows) = (counted(*coflows, "coflow"), counted(*flows, "flow"));
        let ports = counted(*ports as usize, "port");
        write!(f, "{coflows}, {flows}, {bytes:.0} bytes on {ports}")?;
        if self.jobs > 0 {
            write!(f, ", {}", counted(self.jobs, "job"))?;
        }
        for (tenant, &count) in &self.tenants {
            write!(f, ", {} of {tenant}", counted(count, "coflow"))?;
        }
        for (k, (what, count)) in self.differences.iter().enumerate() {
            let joint = if k == 0 { "; " } else { ", " };
            write!(f, "{joint}{} {what}", counted(*count, "coflow"))?;
        }
        for (count, what) in [(self.events, "event"), (self.attempts, "further attempt")] {
            if count > 0 {
                write!(f, "; {}", counted(count, what))?;
            }
        }
        if let Some([two, three, four]) = self.waves {
            let two = counted(two, "coflow");
            write!(f, "; {two} with 2 waves, {three} with 3, {four} with 4 or more")?;
        }
        if let Some(cv) = &self.mapper_cv {
            write!(
                f,
                "; variation of mappers' bytes {:.2} at the median, {:.2} at the 90th percentile",
                cv.p50, cv.p90
            )?;
        }
        Ok(())
    }
}
