//! The local links that each flow of one coflow crosses.

use std::ops::Deref;

use super::builder::Builder;
use super::lists::Lists;
use super::local_links::LocalLinks;
use crate::fabric::Fabric;
use crate::sets::clone_in_place::clone_in_place;

/// The local links that each flow of one coflow crosses, by its position.
#[derive(Debug, Default)]
pub(super) struct Paths {
    sender: Vec<u32>,
    receiver: Vec<u32>,
    /// Whole paths, if some cross links inside the fabric: sender, receiver, then these links.
    whole: Lists,
}

/// The local links of a path: sender, receiver, then those inside the fabric.
#[derive(Debug, Clone, Copy)]
pub struct WholePath<'a> {
    ends: [u32; 2],
    /// Empty where `ends` are all links.
    whole: &'a [u32],
}

impl Deref for WholePath<'_> {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        if self.whole.is_empty() { &self.ends } else { self.whole }
    }
}

clone_in_place!(Paths { sender, receiver, whole });

impl Paths {
    /// Paths of this many flows, whose ends are to be set.
    pub fn reset(&mut self, flows: usize) {
        for ends in [&mut self.sender, &mut self.receiver] {
            ends.clear();
            ends.resize(flows, 0);
        }
        self.whole.clear();
    }

    /// Sets the local links at the ends of a path.
    pub fn set_ends(&mut self, position: usize, sender: u32, receiver: u32) {
        (self.sender[position], self.receiver[position]) = (sender, receiver);
    }

    /// Routes every path through the fabric. `numbers` gives the number of the flow at a position
    /// among all flows of the run.
    pub fn route(
        &mut self,
        fabric: &Fabric,
        numbers: impl Fn(usize) -> u64,
        links: &mut LocalLinks,
        builder: &mut Builder,
    ) {
        if fabric.inner_links().is_empty() {
            return;
        }
        let mut path = std::mem::take(&mut builder.path);
        for position in 0..self.sender.len() {
            let port = |l: u32| fabric.port_of(links.all()[l as usize]).expect("an end of a path");
            let ends = [self.sender[position], self.receiver[position]];
            path.clear();
            fabric.inner_path(port(ends[0]), port(ends[1]), numbers(position), &mut path);
            let inner = path.iter().map(|&link| links.number(link, builder));
            self.whole.push(ends.into_iter().chain(inner));
        }
        if self.whole.items() == 2 * self.sender.len() {
            self.whole.clear();
        }
        builder.path = path;
        let ends = (links.senders() + links.receivers()) as u32;
        let numbers = links.sort_inner();
        for l in self.whole.items_mut().iter_mut().filter(|l| **l >= ends) {
            *l = numbers[(*l - ends) as usize];
        }
    }

    /// Number of paths.
    #[inline]
    pub fn count(&self) -> usize {
        self.sender.len()
    }

    /// Whether every path is (sender, receiver).
    #[inline]
    pub fn are_bipartite(&self) -> bool {
        self.whole.are_empty()
    }

    /// Local senders of all positions.
    #[inline]
    pub fn senders(&self) -> &[u32] {
        &self.sender
    }

    /// Local receiver links of all positions.
    #[inline]
    pub fn receivers(&self) -> &[u32] {
        &self.receiver
    }

    /// Local links inside the fabric of a position's path.
    #[inline]
    pub fn inner(&self, position: usize) -> &[u32] {
        self.whole.list(position).get(2..).unwrap_or(&[])
    }

    /// [`Paths::path`] as numbers in a row.
    #[inline(always)]
    pub fn whole(&self, position: usize) -> WholePath<'_> {
        let (whole, mut ends) = (self.whole.list(position), [0; 2]);
        if whole.is_empty() {
            ends = [self.sender[position], self.receiver[position]];
        }
        WholePath { ends, whole }
    }

    /// Local links of a position's path: sender, receiver, then those inside the fabric.
    #[inline]
    pub fn path(&self, position: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let (ends, inner) = match self.whole.list(position) {
            [sender, receiver, inner @ ..] => ([*sender, *receiver], inner),
            _ => ([self.sender[position], self.receiver[position]], &[][..]),
        };
        ends.into_iter().chain(inner.iter().copied()).map(|l| l as usize)
    }
}
