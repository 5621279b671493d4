//! What one coflow still wants to send, and over which links.
//!
//! LinkSet are numbered locally: senders `0..S` (egress links in order of their first flow), receivers
//! `S..S + R` (ingress links likewise), then links inside the fabric. Flows are laid out by sender,
//! in order of registration within a sender; the place of a flow in that layout is its *position*.
//! A sender's row is *regular* when it has exactly one flow to each receiver in order, as in a
//! shuffle: then the bits of the row are also bits of receivers and 64 flows are looked at at once.

use crate::bits::bits;
use crate::fabric::Fabric;
use crate::ids::{LinkId, PortId};
use crate::link_set::LinkSet;

/// The unfinished flows of one coflow and the links they need.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    links: Vec<LinkId>,
    /// The same as a set.
    set: LinkSet,
    /// Those of them that active flows cross: bits of the words of `set`.
    active_links: Vec<u64>,
    senders: usize,
    receivers: usize,
    /// First position of each sender's row, and the end of the last.
    row_start: Vec<u32>,
    /// First word of each sender's row in `active`, and the end of the last.
    word_start: Vec<u32>,
    regular: Vec<bool>,
    /// Local sender and local receiver link of each position.
    sender: Vec<u32>,
    receiver: Vec<u32>,
    /// Local inner links of each position: `inner[inner_start[p]..inner_start[p + 1]]`.
    inner_start: Vec<u32>,
    inner: Vec<u32>,
    /// Unless this is a shuffle, positions by local link `l` from `senders` on, ascending:
    /// `crossing[crossing_start[l - senders]..crossing_start[l - senders + 1]]`.
    crossing_start: Vec<u32>,
    crossing: Vec<u32>,
    /// Whether the flow at a position has started and not ended; and the same as bits, each sender's
    /// row from a word of its own.
    is_active: Vec<bool>,
    active: Vec<u64>,
    /// Whether all rows are regular. Only then the same by receiver, a bit for each sender, each
    /// receiver's column from a word of its own.
    is_shuffle: bool,
    columns: Vec<u64>,
    /// Unfinished flows at each local link.
    count: Vec<u32>,
    unfinished: u32,
    /// Position of a flow by its index, and the reverse.
    position: Vec<u32>,
    index: Vec<u32>,
}

/// Buffers for building demands, kept so that building allocates nothing after warm-up.
#[derive(Debug, Default)]
pub struct Builder {
    /// Local number of a link, valid where `stamp` is the current one.
    local: Vec<u32>,
    stamp: Vec<u32>,
    current: u32,
    cursor: Vec<u32>,
    path: Vec<LinkId>,
}

impl Builder {
    fn start(&mut self, links: usize) {
        self.local.resize(links, 0);
        self.stamp.resize(links, 0);
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.stamp.fill(0);
            self.current = 1;
        }
    }

    fn local_of(&mut self, link: LinkId, links: &mut Vec<LinkId>) -> u32 {
        let i = link.index();
        if self.stamp[i] != self.current {
            self.stamp[i] = self.current;
            self.local[i] = links.len() as u32;
            links.push(link);
        }
        self.local[i]
    }
}

impl Demand {
    /// Lays the flows (source, destination) out; none of them is active yet. `numbers` gives the number of
    /// each flow among all flows of the run, by its index.
    pub(crate) fn rebuild(
        &mut self,
        fabric: &Fabric,
        numbers: impl Fn(u32) -> u64,
        flows: impl Iterator<Item = (PortId, PortId)> + Clone,
        builder: &mut Builder,
    ) {
        builder.start(fabric.links());
        self.links.clear();
        for (src, _) in flows.clone() {
            builder.local_of(fabric.egress(src), &mut self.links);
        }
        self.senders = self.links.len();
        for (_, dst) in flows.clone() {
            builder.local_of(fabric.ingress(dst), &mut self.links);
        }
        self.receivers = self.links.len() - self.senders;

        self.row_start.clear();
        self.row_start.resize(self.senders + 1, 0);
        let mut width = 0;
        for (src, _) in flows.clone() {
            self.row_start[builder.local_of(fabric.egress(src), &mut self.links) as usize + 1] += 1;
            width += 1;
        }
        for s in 0..self.senders {
            self.row_start[s + 1] += self.row_start[s];
        }
        for per_flow in [&mut self.sender, &mut self.receiver, &mut self.position, &mut self.index]
        {
            per_flow.clear();
            per_flow.resize(width, 0);
        }
        builder.cursor.clear();
        builder.cursor.extend_from_slice(&self.row_start[..self.senders]);
        for (index, (src, dst)) in flows.clone().enumerate() {
            let s = builder.local_of(fabric.egress(src), &mut self.links);
            let p = builder.cursor[s as usize] as usize;
            builder.cursor[s as usize] += 1;
            self.sender[p] = s;
            self.receiver[p] = builder.local_of(fabric.ingress(dst), &mut self.links);
            self.position[index] = p as u32;
            self.index[p] = index as u32;
        }
        self.lay_inner_paths(fabric, numbers, builder);
        self.set.rebuild(&self.links);
        self.active_links.clear();
        self.active_links.resize(self.set.words().len(), 0);

        self.word_start.clear();
        self.word_start.push(0);
        self.regular.clear();
        for s in 0..self.senders {
            let row = self.row_start[s] as usize..self.row_start[s + 1] as usize;
            self.word_start.push(self.word_start[s] + row.len().div_ceil(64) as u32);
            self.regular.push(
                row.len() == self.receivers
                    && self.receiver[row]
                        .iter()
                        .enumerate()
                        .all(|(k, &r)| r as usize == self.senders + k),
            );
        }
        self.is_active.clear();
        self.is_active.resize(width, false);
        self.active.clear();
        self.active.resize(self.word_start[self.senders] as usize, 0);
        self.is_shuffle = self.regular.iter().all(|regular| *regular) && self.is_bipartite();
        self.columns.clear();
        if self.is_shuffle {
            self.columns.resize(self.receivers * self.column_words(), 0);
        }
        self.list_crossing(builder);
        self.count.clear();
        self.count.resize(self.links.len(), 0);
        self.unfinished = 0;
    }

    /// Becomes the same as `other`, in the memory it has.
    pub(crate) fn copy(&mut self, other: &Demand) {
        // All by name, so that a new one cannot be forgotten.
        let Demand {
            links,
            set,
            active_links,
            senders,
            receivers,
            row_start,
            word_start,
            regular,
            sender,
            receiver,
            inner_start,
            inner,
            crossing_start,
            crossing,
            is_active,
            active,
            is_shuffle,
            columns,
            count,
            unfinished,
            position,
            index,
        } = other;
        self.links.clone_from(links);
        self.set.copy(set);
        self.active_links.clone_from(active_links);
        self.senders.clone_from(senders);
        self.receivers.clone_from(receivers);
        self.row_start.clone_from(row_start);
        self.word_start.clone_from(word_start);
        self.regular.clone_from(regular);
        self.sender.clone_from(sender);
        self.receiver.clone_from(receiver);
        self.inner_start.clone_from(inner_start);
        self.inner.clone_from(inner);
        self.crossing_start.clone_from(crossing_start);
        self.crossing.clone_from(crossing);
        self.is_active.clone_from(is_active);
        self.active.clone_from(active);
        self.is_shuffle.clone_from(is_shuffle);
        self.columns.clone_from(columns);
        self.count.clone_from(count);
        self.unfinished.clone_from(unfinished);
        self.position.clone_from(position);
        self.index.clone_from(index);
    }

    fn lay_inner_paths(
        &mut self,
        fabric: &Fabric,
        numbers: impl Fn(u32) -> u64,
        builder: &mut Builder,
    ) {
        self.inner_start.clear();
        self.inner_start.push(0);
        self.inner.clear();
        for p in 0..self.sender.len() {
            let port = |l: u32| fabric.port_of(self.links[l as usize]).expect("an end of a path");
            let (src, dst) = (port(self.sender[p]), port(self.receiver[p]));
            builder.path.clear();
            fabric.inner_path(src, dst, numbers(self.index[p]), &mut builder.path);
            for k in 0..builder.path.len() {
                let local = builder.local_of(builder.path[k], &mut self.links);
                self.inner.push(local);
            }
            self.inner_start.push(self.inner.len() as u32);
        }
    }

    /// Lists the flows at each receiver and inner link; in a shuffle these are told by the layout.
    fn list_crossing(&mut self, builder: &mut Builder) {
        self.crossing_start.clear();
        self.crossing.clear();
        if self.is_shuffle {
            return;
        }
        let width = self.width();
        let beyond = self.links.len() - self.senders;
        builder.cursor.clear();
        builder.cursor.resize(beyond + 1, 0);
        let not_senders = |p: usize| self.path(p).skip(1).map(|l| l - self.senders);
        for l in (0..width).flat_map(not_senders) {
            builder.cursor[l + 1] += 1;
        }
        for l in 0..beyond {
            builder.cursor[l + 1] += builder.cursor[l];
        }
        let total = builder.cursor[beyond] as usize;
        let (mut start, mut crossing) =
            (std::mem::take(&mut self.crossing_start), std::mem::take(&mut self.crossing));
        start.extend_from_slice(&builder.cursor);
        crossing.resize(total, 0);
        for p in 0..width {
            for l in self.path(p).skip(1).map(|l| l - self.senders) {
                crossing[builder.cursor[l] as usize] = p as u32;
                builder.cursor[l] += 1;
            }
        }
        (self.crossing_start, self.crossing) = (start, crossing);
    }

    /// Every local link's name in the fabric.
    pub fn links(&self) -> &[LinkId] {
        &self.links
    }

    /// Number of senders `S`; they are the local links `0..S`.
    pub fn senders(&self) -> usize {
        self.senders
    }

    /// Number of receivers `R`; they are the local links `S..S + R`.
    pub fn receivers(&self) -> usize {
        self.receivers
    }

    /// Number of flows laid out: active, finished, or yet to start.
    pub fn width(&self) -> usize {
        self.sender.len()
    }

    /// Number of active flows.
    pub fn unfinished(&self) -> u32 {
        self.unfinished
    }

    /// Active flows at each local link.
    pub fn count(&self) -> &[u32] {
        &self.count
    }

    /// Whether no flow crosses an inner link, so that every path is (sender, receiver).
    pub fn is_bipartite(&self) -> bool {
        self.inner.is_empty()
    }

    /// Positions of a local sender's flows.
    pub fn row(&self, sender: usize) -> std::ops::Range<usize> {
        self.row_start[sender] as usize..self.row_start[sender + 1] as usize
    }

    /// Whether a sender has exactly one flow to each receiver, in the receivers' order.
    pub fn is_regular(&self, sender: usize) -> bool {
        self.regular[sender]
    }

    /// Bits of a sender's row, lowest position first; set while a flow is active.
    pub fn row_bits(&self, sender: usize) -> &[u64] {
        &self.active[self.word_start[sender] as usize..self.word_start[sender + 1] as usize]
    }

    /// Whether every sender has exactly one flow to each receiver, in the receivers' order, and no flow
    /// crosses an inner link.
    pub fn is_shuffle(&self) -> bool {
        self.is_shuffle
    }

    /// In a shuffle, the links at the other ends of the active flows at a local link: bits of receivers,
    /// if it is a sender, or of senders, lowest first.
    pub fn peer_bits(&self, l: usize) -> &[u64] {
        match l.checked_sub(self.senders) {
            None => self.row_bits(l),
            Some(k) => &self.columns[k * self.column_words()..][..self.column_words()],
        }
    }

    fn column_words(&self) -> usize {
        self.senders.div_ceil(64)
    }

    /// The links as a set.
    pub fn set(&self) -> &LinkSet {
        &self.set
    }

    /// The links that active flows cross: bits of the words of [`Demand::set`].
    pub fn active_links(&self) -> &[u64] {
        &self.active_links
    }

    /// Active flows at a link that is among [`Demand::links`].
    pub fn unfinished_at(&self, link: LinkId) -> u32 {
        self.count[self.local(link.index())]
    }

    /// Local number of the fabric's link `link`, which is among [`Demand::links`].
    #[inline]
    pub fn local(&self, link: usize) -> usize {
        self.set.local(link)
    }

    /// Local sender and local receiver link of a position.
    pub fn ends(&self, position: usize) -> (usize, usize) {
        (self.sender[position] as usize, self.receiver[position] as usize)
    }

    /// The links at the two ends of a position, sender first.
    pub fn end_links(&self, position: usize) -> (LinkId, LinkId) {
        let (s, r) = self.ends(position);
        (self.links[s], self.links[r])
    }

    /// Local sender of a position.
    pub fn sender_of(&self, position: usize) -> usize {
        self.sender[position] as usize
    }

    /// Local receiver link of a position.
    pub fn receiver_of(&self, position: usize) -> usize {
        self.receiver[position] as usize
    }

    /// Local receiver links of all positions.
    pub fn receiver_links(&self) -> &[u32] {
        &self.receiver
    }

    /// Local links of a position's path.
    pub fn path(&self, position: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let ends = [self.sender[position], self.receiver[position]];
        ends.into_iter().map(|l| l as usize).chain(self.inner_path(position))
    }

    /// Local links inside the fabric of a position's path.
    pub fn inner_path(&self, position: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let inner = if self.inner.is_empty() {
            0..0
        } else {
            self.inner_start[position] as usize..self.inner_start[position + 1] as usize
        };
        self.inner[inner].iter().map(|&l| l as usize)
    }

    /// Position of a flow, by its number within the coflow.
    pub fn position(&self, index: u32) -> usize {
        self.position[index as usize] as usize
    }

    /// Number within the coflow of the flow at a position.
    pub fn index(&self, position: usize) -> u32 {
        self.index[position]
    }

    /// Whether the flow at a position has started and not ended.
    pub fn is_active(&self, position: usize) -> bool {
        self.is_active[position]
    }

    /// [`Demand::is_active`] of all positions.
    pub fn are_active(&self) -> &[bool] {
        &self.is_active
    }

    /// Positions of the active flows of a sender, ascending.
    pub fn active_in_row(&self, sender: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.row_start[sender] as usize;
        bits(self.row_bits(sender).iter().copied()).map(move |k| start + k)
    }

    /// Calls `visit` with the position of every active flow that crosses local link `l`, ascending.
    pub fn each_active_at(&self, l: usize, visit: impl FnMut(usize)) {
        if l < self.senders {
            self.active_in_row(l).for_each(visit);
        } else if self.is_shuffle {
            let column = l - self.senders;
            let position = |s: usize| self.row_start[s] as usize + column;
            bits(self.peer_bits(l).iter().copied()).map(position).for_each(visit);
        } else {
            let (from, to) =
                (self.crossing_start[l - self.senders], self.crossing_start[l - self.senders + 1]);
            let here = self.crossing[from as usize..to as usize].iter().map(|&p| p as usize);
            here.filter(|&p| self.is_active[p]).for_each(visit);
        }
    }

    /// Positions of all active flows, ascending.
    pub fn active(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.senders).filter(|&s| self.count[s] > 0).flat_map(|s| self.active_in_row(s))
    }

    /// Marks a flow as started. Nothing happens if it is active already.
    pub(crate) fn start(&mut self, position: usize) {
        if !self.is_active[position] {
            let (word, bit) = self.bit(position);
            self.is_active[position] = true;
            self.active[word] |= bit;
            self.flip_in_column(position);
            self.unfinished += 1;
            self.adjust(position, 1);
        }
    }

    /// Marks a flow as ended. Nothing happens unless it is active.
    pub(crate) fn finish(&mut self, position: usize) {
        if self.is_active[position] {
            let (word, bit) = self.bit(position);
            self.is_active[position] = false;
            self.active[word] &= !bit;
            self.flip_in_column(position);
            self.unfinished -= 1;
            self.adjust(position, u32::MAX);
        }
    }

    fn adjust(&mut self, position: usize, by: u32) {
        let inner = self.inner_start[position] as usize..self.inner_start[position + 1] as usize;
        let ends = [self.sender[position], self.receiver[position]];
        for &l in ends.iter().chain(&self.inner[inner]) {
            let count = &mut self.count[l as usize];
            *count = count.wrapping_add(by);
            let (link, bit) = (self.links[l as usize].index(), u64::from(*count > 0));
            let word = &mut self.active_links[self.set.word_of(link)];
            *word = *word & !(1 << (link % 64)) | bit << (link % 64);
        }
    }

    fn flip_in_column(&mut self, position: usize) {
        if self.is_shuffle {
            let (s, r) = self.ends(position);
            let word = (r - self.senders) * self.column_words() + s / 64;
            self.columns[word] ^= 1 << (s % 64);
        }
    }

    fn bit(&self, position: usize) -> (usize, u64) {
        let s = self.sender[position] as usize;
        let k = position - self.row_start[s] as usize;
        (self.word_start[s] as usize + k / 64, 1 << (k % 64))
    }
}
