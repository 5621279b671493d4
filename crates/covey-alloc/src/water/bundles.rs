//! Bundles: the flows of one class on one path. All of them have the same rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use hashbrown::HashTable;

use covey_core::LinkId;
use covey_core::OptionalIndex;

/// What is kept of a bundle beside its path and its limit.
#[derive(Debug, Clone, Copy)]
struct Bundle {
    class: u32,
    /// Where it stands in the list of the link that limits it.
    place: u32,
    /// Number of flows; 0 if the number is vacant.
    flows: u32,
}

/// All bundles that have flows, by number. Numbers are used again.
#[derive(Debug, Default)]
pub struct Bundles {
    bundles: Vec<Bundle>,
    /// By bundle, the link that limits it: its rate is that link's water level. Apart, as it is
    /// often asked for many bundles one after the other.
    attached: Vec<OptionalIndex>,
    /// `stride` numbers for each bundle: how many links it crosses, and which.
    paths: Vec<u32>,
    /// Where a bundle stands in the list of each link on its path, at the position of the link in
    /// `paths`.
    places: Vec<u32>,
    stride: usize,
    /// What the flows of each bundle count for, unless each counts for 1.
    weights: Option<Vec<f64>>,
    /// Numbers that are vacant. The lowest is taken first, so that flows that come together are
    /// together in memory.
    vacant: BinaryHeap<Reverse<u32>>,
    /// Bundles by class and path. Nothing depends on the order of the table.
    by_path: HashTable<u32>,
    /// Working memory: the path that is looked up.
    sought: Vec<u32>,
}

impl Bundles {
    /// Forgets all bundles. From now on each flow counts for 1, or has a weight of its own
    /// (`has_weights`).
    pub fn clear(&mut self, has_weights: bool) {
        self.bundles.clear();
        self.weights = has_weights.then(|| self.weights.take().unwrap_or_default());
        self.weights.iter_mut().for_each(Vec::clear);
        self.attached.clear();
        self.paths.clear();
        self.places.clear();
        self.vacant.clear();
        self.by_path.clear();
        self.stride = self.stride.max(4);
    }

    /// The class of a bundle.
    pub fn class(&self, bundle: u32) -> usize {
        self.bundles[bundle as usize].class as usize
    }

    /// Number of flows of a bundle; 0 if the number is vacant.
    pub fn flows(&self, bundle: u32) -> u32 {
        self.bundles[bundle as usize].flows
    }

    fn flows_mut(&mut self, bundle: u32) -> &mut u32 {
        &mut self.bundles[bundle as usize].flows
    }

    /// What the flows of a bundle count for: 1 each, unless they were added with other weights.
    pub fn weight(&self, bundle: u32) -> f64 {
        match &self.weights {
            None => self.flows(bundle).into(),
            Some(weights) => weights[bundle as usize],
        }
    }

    /// The link to which a bundle is attached.
    ///
    /// # Panics
    /// If it is attached nowhere.
    pub fn attached(&self, bundle: u32) -> u32 {
        self.attached[bundle as usize].get().expect("it is attached")
    }

    /// The link to which each bundle is attached; none if it is attached nowhere.
    pub fn all_attached(&self) -> &[OptionalIndex] {
        &self.attached
    }

    /// Links on the path of a bundle.
    pub fn path(&self, bundle: u32) -> &[u32] {
        let (hops, links) =
            self.paths[bundle as usize * self.stride..].split_first().expect("it has a path");
        &links[..*hops as usize]
    }

    /// Where the links on the path of a bundle stand in `paths`.
    fn hops(&self, bundle: u32) -> Range<usize> {
        let start = bundle as usize * self.stride;
        start + 1..start + 1 + self.paths[start] as usize
    }

    fn set_path(&mut self, bundle: u32) {
        let start = bundle as usize * self.stride;
        self.paths[start] = self.sought.len() as u32;
        let hops = self.hops(bundle);
        self.paths[hops].copy_from_slice(&self.sought);
    }

    /// Adds a flow of a class on a path, with a weight. Returns its bundle, and whether the bundle
    /// is new: then it has one flow and is attached nowhere.
    pub fn add(
        &mut self,
        class: u32,
        path: impl Iterator<Item = LinkId>,
        weight: f64,
    ) -> (u32, bool) {
        self.sought.clear();
        self.sought.extend(path.map(|link| link.0));
        let key = key(class, &self.sought);
        let is_it = |&it: &u32| self.class(it) == class as usize && self.path(it) == self.sought;
        if let Some(&bundle) = self.by_path.find(key, is_it) {
            *self.flows_mut(bundle) += 1;
            if let Some(weights) = &mut self.weights {
                weights[bundle as usize] += weight;
            }
            return (bundle, false);
        }
        let bundle = self.make(class, weight);
        let mut by_path = std::mem::take(&mut self.by_path);
        by_path.insert_unique(key, bundle, |&it| self.key(it));
        self.by_path = by_path;
        (bundle, true)
    }

    /// The number by which a bundle is looked up.
    fn key(&self, bundle: u32) -> u64 {
        key(self.bundles[bundle as usize].class, self.path(bundle))
    }

    /// Makes room for bundles with numbers below `count` that [`Bundles::lay`] lays. There are no
    /// others. Each counts for 1, or has a weight of its own.
    pub fn make_room(&mut self, count: usize, has_weights: bool) {
        self.clear(has_weights);
        if let Some(weights) = &mut self.weights {
            weights.resize(count, 0.0);
        }
        self.bundles.resize(count, Bundle { class: 0, place: 0, flows: 0 });
        self.attached.resize(count, OptionalIndex::NONE);
        self.paths.resize(count * self.stride, 0);
        self.places.resize(count * self.stride, 0);
    }

    /// Makes a bundle of one flow that has this number, path and weight, and is attached nowhere.
    pub fn lay(&mut self, bundle: u32, path: impl Iterator<Item = u32>, weight: f64) {
        self.sought.clear();
        self.sought.extend(path);
        self.widen();
        self.set_path(bundle);
        *self.flows_mut(bundle) = 1;
        if let Some(weights) = &mut self.weights {
            weights[bundle as usize] = weight;
        }
    }

    /// Whether bundles have weights of their own.
    pub fn have_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// Changes the weight of a bundle that has one of its own.
    pub fn set_weight(&mut self, bundle: u32, weight: f64) {
        if let Some(weights) = &mut self.weights {
            weights[bundle as usize] = weight;
        }
    }

    /// Takes a bundle away that was [laid](Bundles::lay) and is attached nowhere.
    pub fn take_away(&mut self, bundle: u32) {
        *self.flows_mut(bundle) = 0;
        self.set_weight(bundle, 0.0);
    }

    fn make(&mut self, class: u32, weight: f64) -> u32 {
        self.widen();
        let new = Bundle { class, place: 0, flows: 1 };
        let bundle = match self.vacant.pop() {
            Some(Reverse(bundle)) => {
                self.bundles[bundle as usize] = new;
                bundle
            }
            None => {
                self.bundles.push(new);
                self.attached.push(OptionalIndex::NONE);
                self.paths.resize(self.paths.len() + self.stride, 0);
                self.places.resize(self.paths.len(), 0);
                self.bundles.len() as u32 - 1
            }
        };
        self.set_path(bundle);
        if let Some(weights) = &mut self.weights {
            weights.resize(self.bundles.len(), 0.0);
            weights[bundle as usize] = weight;
        }
        bundle
    }

    /// Makes room for the path that is looked up, if it is too long.
    fn widen(&mut self) {
        let stride = (self.sought.len() + 1).next_multiple_of(4);
        if stride <= self.stride {
            return;
        }
        for numbers in [&mut self.paths, &mut self.places] {
            let before = std::mem::take(numbers);
            for of_one in before.chunks(self.stride) {
                numbers.extend_from_slice(of_one);
                numbers.resize(numbers.len() + stride - self.stride, 0);
            }
        }
        self.stride = stride;
    }

    /// Removes a flow, with its weight, of a bundle that has others.
    pub fn remove_one(&mut self, bundle: u32, weight: f64) {
        *self.flows_mut(bundle) -= 1;
        if let Some(weights) = &mut self.weights {
            weights[bundle as usize] -= weight;
        }
    }

    /// Removes a bundle, which is attached nowhere. Its number is vacant.
    pub fn remove(&mut self, bundle: u32) {
        *self.flows_mut(bundle) = 0;
        self.vacant.push(Reverse(bundle));
        let entry = self.by_path.find_entry(self.key(bundle), |&it| it == bundle);
        entry.expect("it is in the table").remove();
    }

    /// Puts a bundle into the list of the link to which it is attached from now on.
    pub fn attach(&mut self, bundle: u32, link: u32, list: &mut Vec<u32>) {
        self.attached[bundle as usize] = OptionalIndex::some(link);
        self.bundles[bundle as usize].place = list.len() as u32;
        push(list, bundle);
    }

    /// Where a bundle stands in the list of the link to which it is attached.
    pub fn place(&self, bundle: u32) -> usize {
        self.bundles[bundle as usize].place as usize
    }

    /// Takes a bundle out of the list of the link to which it is attached.
    pub fn detach(&mut self, bundle: u32, list: &mut Vec<u32>) {
        let place = self.bundles[bundle as usize].place as usize;
        list.swap_remove(place);
        if let Some(&other) = list.get(place) {
            self.bundles[other as usize].place = place as u32;
        }
        self.attached[bundle as usize] = OptionalIndex::NONE;
    }

    /// Takes a bundle from the link to which it is attached, whose list is emptied.
    pub fn release(&mut self, bundle: u32) {
        self.attached[bundle as usize] = OptionalIndex::NONE;
    }

    /// Puts a bundle into the lists of all links on its path.
    pub fn cross(&mut self, bundle: u32, lists: &mut [Vec<u32>]) {
        for hop in self.hops(bundle) {
            let list = &mut lists[self.paths[hop] as usize];
            self.places[hop] = list.len() as u32;
            push(list, bundle);
        }
    }

    /// Takes a bundle out of the lists of all links on its path.
    pub fn uncross(&mut self, bundle: u32, lists: &mut [Vec<u32>]) {
        for hop in self.hops(bundle) {
            let (link, place) = (self.paths[hop], self.places[hop] as usize);
            let list = &mut lists[link as usize];
            list.swap_remove(place);
            if let Some(&other) = list.get(place) {
                let other_hop = self.hops(other).find(|&hop| self.paths[hop] == link);
                self.places[other_hop.expect("it crosses the link")] = place as u32;
            }
        }
    }
}

/// Adds a bundle to the list of a link, which grows by a half: lists that double take 1.5 MB more
/// of four strict classes on `fat-tree:k=8` with the Facebook trace.
fn push(list: &mut Vec<u32>, bundle: u32) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 2 + 4);
    }
    list.push(bundle);
}

/// A number made of class and path. It is the same in every run, and so is the memory that the
/// table needs.
fn key(class: u32, path: &[u32]) -> u64 {
    path.iter().fold(u64::from(class), |key, &link| {
        let key = (key ^ u64::from(link)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        key ^ key >> 29
    })
}
