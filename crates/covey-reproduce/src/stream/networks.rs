//! Table 1 and Figure 6: FatTrees of 8 to 48 pods, many-to-one coflows.

use covey_core::{Ecmp, EcmpMode, FatTree};
use covey_trace::TraceError;
use covey_trace::stats::SizeTable;

use super::contest::{Contest, MICE, OTHERS, Of, SPEEDS, WITHIN, extreme};
use super::workloads::{NOTE, many_to_one};
use crate::finding::{Finding, Setting};
use crate::item::{Evaluate, Item, Planner, Planning};
use crate::plots::curves;

/// Numbers of pods.
const PODS: [u32; 5] = [8, 16, 24, 32, 48];

pub(super) const TABLE_1: Item = Item {
    place: "Table 1",
    section: "IV-A",
    shows: "servers and switches of FatTrees",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|results, section| {
            for pods in PODS {
                let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
                let tree = FatTree::new(pods, ecmp).map_err(|error| error.to_string())?;
                // As many aggregation switches as edge switches, and half as many cores.
                let switches = tree.edge_switches() * 5 / 2;
                for (column, count) in [("servers", tree.hosts()), ("switches", switches)] {
                    let row = format!("k = {pods}");
                    let what = format!("{row}: {column}");
                    section.add(
                        Finding::new(what, Setting::FairComparison, &[], f64::from(count))
                            .unit("")
                            .published(results.published("Table 1", &row, column), 0.0)
                            .check(),
                    );
                }
            }
            Ok(())
        }))
    }),
};

/// What a port of the trace is in Figure 6: a word for it, how fabrics say it, and the numbers of
/// pods. With a host for each port, links inside the network are hardly ever full from 16 pods on:
/// more pods would change nothing.
const PLACES: [(&str, &str, &[u32]); 2] =
    [("hosts", "", &[8, 16, 24]), ("racks", ",place=rack", &PODS)];

fn figure_6(
    planner: &mut Planner,
    place: &'static str,
    speed: usize,
    of: Of,
) -> Result<Evaluate, TraceError> {
    let trace = many_to_one(planner)?;
    let sizes = PLACES.iter().flat_map(|(_, place, pods)| pods.iter().map(move |k| (k, place)));
    let contests: Vec<Contest> = sizes
        .map(|(pods, place)| {
            let (fabric, table) = (format!("fat-tree:k={pods}{place}"), SizeTable::ManyToOne);
            Contest::plan(planner, trace, table, &fabric, SPEEDS[speed].1)
        })
        .collect();
    Ok(Box::new(move |results, section| {
        section.note(NOTE);
        section.note(
            "How ports of the trace become hosts in the paper is not published. So each number is \
             given for both ways. With hosts, a port is a host: with 8 pods, port p is host p mod \
             128; from 16 pods on each port has a host of its own, so results hardly change, and \
             32 and 48 pods are left out. With racks, a port is a rack, and its flows are dealt to \
             the rack's hosts (place=rack). The published gains are the greatest of all sizes, over \
             Aalo the least. Mice are class I of Table 3.",
        );
        let row = if of == MICE { "mice" } else { "mean" };
        for (other, (name, _)) in OTHERS.iter().enumerate() {
            if let Some(finding) = extreme(&contests, results, other, of)? {
                let why = match *name {
                    "Baraat" => WHY_BARAAT,
                    "FS" if of == MICE => WHY_FS_MICE,
                    "FS" => WHY_FS,
                    _ => WHY_AALO,
                };
                let published = results.published(place, row, name);
                section.add(finding.published(published, WITHIN).why(why));
            }
        }
        let mut drawn: Vec<(String, Vec<[f64; 2]>)> = Vec::new();
        let mut left = &contests[..];
        for (ports, _, pods) in PLACES {
            let (here, behind) = left.split_at(pods.len());
            left = behind;
            for (pods, contest) in pods.iter().zip(here) {
                contest.add_ours(results, section, &format!("k = {pods}, {ports}"), &[of])?;
            }
            for (other, (name, _)) in OTHERS.iter().enumerate() {
                let mut points = Vec::new();
                for (pods, contest) in pods.iter().zip(here) {
                    let gain = contest.gain(results, other, of)?;
                    points.extend(gain.map(|gain| [f64::from(*pods), gain]));
                }
                drawn.push((format!("over {name}, {ports}"), points));
            }
        }
        if of != MICE {
            contests[0].add_ours(results, section, "k = 8, hosts", &[Of::P95])?;
        }
        section.figures.push(curves(
            "Stream's gain by size of the network",
            ["pods", "gain in mean time"],
            drawn,
            "Above 1 Stream is faster.",
        ));
        Ok(())
    }))
}

pub(super) const WHY_BARAAT: &str = "Our Baraat decides at each link by the bytes that the link \
    has carried, and calls a coflow heavy above 1160 MiB of them. A wide coflow is heavy at few \
    links, so it holds many. A link serves the head of its own queue, and idles while that coflow \
    waits at its other links. The item LM-Effect removes the second cause.";
pub(super) const WHY_FS: &str = "A few coflows of terabytes decide the mean. No order helps the \
    largest one: it ends with its last byte at one link. The paper's simulator and its mapping of \
    racks to hosts are not public.";
pub(super) const WHY_FS_MICE: &str = "Under fair sharing a mouse gets the part of one flow at \
    links that carry hundreds of flows of large coflows; strict queues serve it at once. How many \
    flows a link carries follows from what is called a flow: here each pair of a sender's rack and \
    a receiver's rack. The paper's meaning of mice and its mapping of racks to hosts are not \
    published.";
pub(super) const WHY_AALO: &str = "Ours is closer to Aalo, or ahead. A receiver's new priority \
    takes half a round trip of 100 µs to its senders, and relayed bytes one. How long it takes in \
    the paper's simulator is not published, nor are α and β.";

macro_rules! figure_6 {
    ($place:literal, $shows:literal, $speed:literal, $of:expr) => {
        Item {
            place: $place,
            section: "IV-B",
            shows: $shows,
            plan: Planning::Runs(|planner| figure_6(planner, $place, $speed, $of)),
        }
    };
}

pub(super) const FIGURE_6A: Item =
    figure_6!("Figure 6(a)", "gain of mice by size of the network, 1G", 0, MICE);
pub(super) const FIGURE_6B: Item =
    figure_6!("Figure 6(b)", "mean gain by size of the network, 1G", 0, Of::Mean);
pub(super) const FIGURE_6C: Item =
    figure_6!("Figure 6(c)", "gain of mice by size of the network, 10G", 1, MICE);
pub(super) const FIGURE_6D: Item =
    figure_6!("Figure 6(d)", "mean gain by size of the network, 10G", 1, Of::Mean);
