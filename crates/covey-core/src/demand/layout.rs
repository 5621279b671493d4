//! The order in which the flows of one coflow are laid out.

use std::ops::Range;
use std::sync::OnceLock;

use super::builder::Builder;
use super::lists::Lists;
use super::local_links::LocalLinks;
use super::paths::Paths;
use crate::fabric::Fabric;
use crate::sets::clone_in_place::clone_in_place;
use crate::values::ids::PortId;

/// The order of the flows of one coflow: by sender, and in order of registration within a sender.
/// The number of a flow in that order is its *position*; the positions of a sender are its *row*.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// First position of each sender's row, and the end of the last.
    row_start: Vec<u32>,
    /// Whether each sender's row is regular.
    regular: Vec<bool>,
    /// Whether all rows are regular and all paths are bipartite.
    is_shuffle: bool,
    /// Position of a flow by its index, and the reverse.
    position: Vec<u32>,
    index: Vec<u32>,
    paths: Paths,
    /// Unless the coflow is a shuffle, the positions whose paths cross each local link that is no
    /// sender, ascending. Listed when somebody asks: strict classes, which do not, take 6 MB less
    /// for four fifths of the public Facebook trace on `fat-tree:k=8`.
    crossing: OnceLock<Lists>,
}

clone_in_place!(Layout { row_start, regular, is_shuffle, position, index, paths, crossing });

impl Layout {
    /// Lays the flows (source, destination) out and gives numbers to the links inside the fabric.
    /// The links at their ends have theirs. `numbers` gives the number of each flow among all flows
    /// of the run, by its index.
    pub fn rebuild(
        &mut self,
        fabric: &Fabric,
        numbers: impl Fn(u32) -> u64,
        flows: impl Iterator<Item = (PortId, PortId)> + Clone,
        links: &mut LocalLinks,
        builder: &mut Builder,
    ) {
        let senders = links.senders();
        self.row_start.clear();
        self.row_start.resize(senders + 1, 0);
        for (src, _) in flows.clone() {
            self.row_start[links.number(fabric.egress(src), builder) as usize + 1] += 1;
        }
        for s in 0..senders {
            self.row_start[s + 1] += self.row_start[s];
        }
        let width = self.row_start[senders] as usize;
        for numbers in [&mut self.position, &mut self.index] {
            numbers.clear();
            numbers.resize(width, 0);
        }
        self.paths.reset(width);
        builder.cursor.clone_from(&self.row_start);
        for (index, (src, dst)) in flows.enumerate() {
            let s = links.number(fabric.egress(src), builder);
            let p = builder.cursor[s as usize] as usize;
            builder.cursor[s as usize] += 1;
            self.paths.set_ends(p, s, links.number(fabric.ingress(dst), builder));
            self.position[index] = p as u32;
            self.index[p] = index as u32;
        }
        self.paths.route(fabric, |p| numbers(self.index[p]), links, builder);
        self.find_shape(links);
        self.crossing.take();
    }

    fn find_shape(&mut self, links: &LocalLinks) {
        self.regular.clear();
        for s in 0..links.senders() {
            let row = &self.paths.receivers()[self.row(s)];
            let mut ends = row.iter().enumerate();
            let in_order = ends.all(|(k, &r)| r as usize == links.senders() + k);
            self.regular.push(in_order && row.len() == links.receivers());
        }
        self.is_shuffle = self.regular.iter().all(|regular| *regular) && self.paths.are_bipartite();
    }

    /// The flows at each receiver and inner link; in a shuffle, rows and columns tell them.
    fn list_crossing(&self, links: &LocalLinks) -> Lists {
        let mut lists = Lists::default();
        if !self.is_shuffle {
            let (senders, all) = (links.senders(), links.all().len());
            let crossed = |p: usize| {
                let beyond_senders = self.paths.path(p).skip(1);
                beyond_senders.map(move |l| (l - senders, p as u32))
            };
            let crossings = (0..self.paths.count()).flat_map(crossed);
            lists.rebuild(all - senders, crossings, &mut Vec::new());
        }
        lists
    }

    /// Number of flows.
    #[inline]
    pub fn width(&self) -> usize {
        self.paths.count()
    }

    /// First position of a sender's row.
    #[inline]
    pub fn row_start(&self, sender: usize) -> usize {
        self.row_start[sender] as usize
    }

    /// Positions of a sender's flows.
    #[inline]
    pub fn row(&self, sender: usize) -> Range<usize> {
        self.row_start(sender)..self.row_start(sender + 1)
    }

    /// Whether a sender has exactly one flow to each receiver, in the receivers' order.
    #[inline]
    pub fn is_regular(&self, sender: usize) -> bool {
        self.regular[sender]
    }

    /// Whether all rows are regular and all paths are bipartite.
    #[inline]
    pub fn is_shuffle(&self) -> bool {
        self.is_shuffle
    }

    /// The links that each flow crosses.
    #[inline]
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Unless this is a shuffle, positions whose paths cross the link `beyond` the senders. `links`
    /// are the links of this coflow.
    #[inline]
    pub fn crossing(&self, links: &LocalLinks, beyond: usize) -> &[u32] {
        self.crossing.get_or_init(|| self.list_crossing(links)).list(beyond)
    }

    /// Position of a flow, by its index.
    #[inline]
    pub fn position(&self, index: u32) -> usize {
        self.position[index as usize] as usize
    }

    /// Index of the flow at a position.
    #[inline]
    pub fn index(&self, position: usize) -> u32 {
        self.index[position]
    }
}
