//! Timelines: who sends when at each port under every policy of a comparison, and why coflows took
//! as long as they did, in a size that a page can hold.

mod packed;
mod sendings;

use crate::Explained;
use crate::explained::{HEADINGS, link_name};
use crate::units::{decimals, fixed};
use covey_core::{Fabric, LinkId};
use covey_trace::Workload;
use covey_trace::results::Kind;
use packed::Packed;
use serde::Serialize;

pub use sendings::Sendings;

/// The most characters that all rows of all policies take, and those that explanations take.
const ROWS_SIZE: usize = 2_200_000;
const EXPLANATIONS_SIZE: usize = 1_200_000;

/// The timelines of the runs of a comparison. `Serialize` gives what the page's script reads.
#[derive(Debug, Clone, Serialize)]
pub struct Timelines {
    /// Seconds from the start of the trace to the last end.
    until_s: f64,
    /// Seconds that a number in the rows stands for.
    tick_s: f64,
    /// The names of the rows: links out of ports, and then links into ports.
    links: Vec<String>,
    /// The number of rows that are links out of ports.
    senders: usize,
    /// The numbers of the rows, the busiest first.
    busiest: Vec<usize>,
    /// By run and row: what is sent when, [packed](Packed).
    rows: Vec<Vec<String>>,
    /// The coflows that are explained, by index in the workload.
    explained: Vec<u32>,
    /// The kinds of parts of a completion time, in the order of their colours.
    kinds: [&'static str; Kind::ALL.len()],
    /// The headings of the tables of explanations.
    headings: [&'static str; 8],
    /// Their explanations under each policy.
    explanations: Vec<Vec<Told>>,
    /// What is left out, a sentence each.
    #[serde(skip)]
    notes: Vec<String>,
}

/// An explanation as the page shows it.
#[derive(Debug, Clone, Serialize)]
struct Told {
    text: String,
    rows: Vec<[String; 8]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<String>,
}

impl Timelines {
    /// Timelines of runs on a workload, with explanations of some coflows under each policy: those
    /// that come first stay if there is not room for all. `sendings` has what was recorded of each
    /// run, between the links out of and into ports.
    pub fn new(
        workload: &Workload,
        fabric: &Fabric,
        sendings: &[Sendings],
        explained: Vec<(u32, Vec<Explained>)>,
    ) -> Timelines {
        let Packed { tick_s, links, of, rows } = Packed::within(ROWS_SIZE, sendings, fabric);
        let mut busiest: Vec<usize> = (0..links.len()).collect();
        let bytes = |row: usize| sendings.iter().map(|run| run.bytes(links[row])).sum::<f64>();
        busiest.sort_by(|&a, &b| bytes(b).total_cmp(&bytes(a)).then(a.cmp(&b)));
        let is_sender = |link: &&LinkId| fabric.egress_links().contains(&link.index());
        let mut timelines = Timelines {
            until_s: sendings.iter().map(Sendings::until_s).fold(0.0, f64::max),
            tick_s,
            links: links.iter().map(|&link| link_name(workload, fabric, link)).collect(),
            senders: links.iter().filter(is_sender).count(),
            busiest,
            rows,
            explained: Vec::new(),
            kinds: Kind::ALL.map(Kind::name),
            headings: HEADINGS,
            explanations: Vec::new(),
            notes: Vec::new(),
        };
        let wanted = explained.len();
        let mut room = EXPLANATIONS_SIZE;
        for (coflow, explained) in explained {
            let told: Vec<Told> = explained.iter().map(Told::of).collect();
            let size = serde_json::to_string(&told).map_or(0, |text| text.len());
            let Some(rest) = room.checked_sub(size) else { break };
            room = rest;
            timelines.explained.push(coflow);
            timelines.explanations.push(told);
        }
        timelines.notes = timelines.notes_of(of, wanted, workload);
        timelines
    }

    /// What is left out: `of` links were in use, and `wanted` coflows were to be explained.
    fn notes_of(&self, of: usize, wanted: usize, workload: &Workload) -> Vec<String> {
        let ms = self.tick_s * 1e3;
        let links = match self.links.len() {
            all if all == of => String::new(),
            shown => format!("Only the {shown} busiest of {of} links are shown."),
        };
        let (told, all) = (self.explained.len(), workload.coflows.len());
        let explained = match (told, wanted) {
            (0, _) => "No coflow is explained.".to_owned(),
            _ if told == all => String::new(),
            _ => format!("{told} of {all} coflows are explained, the slowest under each policy."),
        };
        let times = format!(
            "Times are exact to {} ms; shorter pauses and changes of rate are left out.",
            fixed(ms, decimals([ms]).min(3))
        );
        [times, links, explained].into_iter().filter(|note| !note.is_empty()).collect()
    }

    /// What is left out, a sentence each.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Told {
    fn of(explained: &Explained) -> Told {
        let others = explained.others();
        Told { text: explained.sentence(), rows: explained.rows(), others }
    }
}
