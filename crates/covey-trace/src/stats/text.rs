//! The statistics as a page of text.

use std::fmt::{self, Display, Formatter};

use super::{Bin, PortBytes, Quantiles, Stats};
use crate::{MB, OnClock};

impl Display for Stats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "ports     {}", self.ports)?;
        writeln!(
            f,
            "coflows   {}, {} of a single flow, {} with parents",
            self.coflows, self.single_flow_coflows, self.coflows_with_parents
        )?;
        writeln!(f, "flows     {}, {} from a port to itself", self.flows, self.same_port_flows)?;
        writeln!(f, "bytes     {} MB", number(self.bytes / MB))?;
        let [first_s, last_s] = [self.first_arrival_s, self.last_arrival_s].map(OnClock::as_secs);
        writeln!(f, "arrivals  {first_s:.3} s to {last_s:.3} s")?;

        write!(f, "\n{:13}", "")?;
        for name in ["min", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max", "mean"] {
            write!(f, " {name:>9}")?;
        }
        writeln!(f)?;
        row(f, "gap (s)", &self.gap_s, 1.0)?;
        row(f, "width (flows)", &self.width, 1.0)?;
        row(f, "length (MB)", &self.length_bytes, MB)?;
        row(f, "size (MB)", &self.size_bytes, MB)?;
        row(f, "skew", &self.skew, 1.0)?;

        bins(
            f,
            "short: longest flow < 5 MB; narrow: up to 50 flows (Aalo)",
            &self.by_length_and_width,
        )?;
        bins(f, "thin: up to 7 flows; small: up to 100 MB (Philae)", &self.by_width_and_size)?;

        writeln!(f)?;
        port(f, "egress", &self.busiest_egress, self.mean_port_bytes)?;
        port(f, "ingress", &self.busiest_ingress, self.mean_port_bytes)?;
        writeln!(f, "mean port              {} MB", number(self.mean_port_bytes / MB))?;
        write!(f, "1 MB = 1,048,576 bytes")
    }
}

/// One line of percentiles, divided by `unit`.
fn row(f: &mut Formatter<'_>, name: &str, q: &Option<Quantiles>, unit: f64) -> fmt::Result {
    let Some(q) = q else {
        return writeln!(f, "{name:13} {:>9}", "-");
    };
    write!(f, "{name:13}")?;
    for value in [q.min, q.p10, q.p25, q.p50, q.p75, q.p90, q.p95, q.p99, q.max, q.mean] {
        write!(f, " {:>9}", number(value / unit))?;
    }
    writeln!(f)
}

/// A heading with the meaning of the bins' names, and four lines of bins.
fn bins(f: &mut Formatter<'_>, meaning: &str, bins: &[Bin]) -> fmt::Result {
    writeln!(f, "\n{meaning}")?;
    for bin in bins {
        writeln!(
            f,
            "  {:12} {:>7} coflows {:>5.1} %  bytes {:>6.3} %",
            bin.name,
            bin.coflows,
            bin.coflow_share * 100.0,
            bin.byte_share * 100.0
        )?;
    }
    Ok(())
}

/// One line about the busiest port of a side.
fn port(f: &mut Formatter<'_>, side: &str, busiest: &PortBytes, mean: f64) -> fmt::Result {
    let host = busiest.host.as_ref().map_or(String::new(), |host| format!(" ({host})"));
    let ratio = if mean > 0.0 { busiest.bytes / mean } else { 1.0 };
    writeln!(
        f,
        "busiest {side:7} port   {} MB at port {}{host}, {ratio:.2} × the mean",
        number(busiest.bytes / MB),
        busiest.port
    )
}

/// A number with about four digits; whole ones and large ones without a fraction, huge ones with
/// an exponent.
fn number(x: f64) -> String {
    let text = match x {
        x if x >= 1e9 => return format!("{x:.3e}"),
        x if x.fract() == 0.0 || x >= 1000.0 => return format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.4}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
