//! Bundles: the flows of one class on one path. All of them have the same rate.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::ids::LinkId;

/// No link, no class, or no bundle.
pub const NONE: u32 = u32::MAX;

/// A bundle and one of the links on its path, in the list of that link.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// The bundle.
    pub bundle: u32,
    /// The link to which the bundle is attached.
    pub attached: u32,
}

/// What is kept of a bundle beside its path.
#[derive(Debug, Clone, Copy)]
struct Bundle {
    class: u32,
    /// Number of flows.
    flows: u32,
    /// What they count for.
    weight: f64,
    /// The link that limits the bundle: its rate is that link's water level.
    attached: u32,
    /// Where it stands in the list of that link.
    place: u32,
    /// Number of links on its path.
    hops: u32,
    /// Its key in the table of paths.
    key: u64,
}

/// Takes numbers that are hashes already as they are. So the memory that the table needs is the same in every run.
#[derive(Debug, Clone, Copy, Default)]
struct AsTheyAre(u64);

impl Hasher for AsTheyAre {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// All bundles that have flows, by number. Numbers are used again.
#[derive(Debug, Default)]
pub struct Bundles {
    bundles: Vec<Bundle>,
    /// Links of all paths, `stride` for each bundle.
    path: Vec<u32>,
    /// Where a bundle stands in the list of each link on its path.
    places: Vec<u32>,
    stride: usize,
    vacant: Vec<u32>,
    /// Bundles by a number made of class and path. Nothing depends on the order of the table.
    by_path: HashMap<u64, u32, BuildHasherDefault<AsTheyAre>>,
    /// Working memory: the path that is looked up.
    sought: Vec<u32>,
}

impl Bundles {
    /// Forgets all bundles.
    pub fn clear(&mut self) {
        self.bundles.clear();
        self.path.clear();
        self.places.clear();
        self.vacant.clear();
        self.by_path.clear();
        self.stride = self.stride.max(8);
    }

    /// One more than the greatest number of a bundle.
    pub fn bound(&self) -> usize {
        self.bundles.len()
    }

    /// The class of a bundle.
    pub fn class(&self, bundle: u32) -> usize {
        self.bundles[bundle as usize].class as usize
    }

    /// Number of flows of a bundle; 0 if the number is vacant.
    pub fn flows(&self, bundle: u32) -> u32 {
        self.bundles[bundle as usize].flows
    }

    /// What the flows of a bundle count for: 1 each, unless they were added with other weights.
    pub fn weight(&self, bundle: u32) -> f64 {
        self.bundles[bundle as usize].weight
    }

    /// The link to which a bundle is attached.
    pub fn attached(&self, bundle: u32) -> u32 {
        self.bundles[bundle as usize].attached
    }

    /// Links on the path of a bundle.
    pub fn path(&self, bundle: u32) -> &[u32] {
        let start = bundle as usize * self.stride;
        &self.path[start..start + self.bundles[bundle as usize].hops as usize]
    }

    /// Adds a flow of a class on a path, with a weight. Returns its bundle, and whether the bundle is new: then it
    /// has one flow and is attached nowhere.
    pub fn add(
        &mut self,
        class: u32,
        path: impl Iterator<Item = LinkId>,
        weight: f64,
    ) -> (u32, bool) {
        self.sought.clear();
        self.sought.extend(path.map(|link| link.0));
        let mut key = u64::from(class);
        for &link in &self.sought {
            key = (key ^ u64::from(link)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            key ^= key >> 29;
        }
        while let Some(&bundle) = self.by_path.get(&key) {
            if self.class(bundle) == class as usize && self.path(bundle) == self.sought {
                self.bundles[bundle as usize].flows += 1;
                self.bundles[bundle as usize].weight += weight;
                return (bundle, false);
            }
            // Two paths have the same number: the later one takes the next.
            key = key.wrapping_add(1);
        }
        let bundle = self.make(class, key, weight);
        self.by_path.insert(key, bundle);
        (bundle, true)
    }

    /// Makes room for bundles with numbers below `count` that [`Bundles::lay`] lays. There are no others.
    pub fn make_room(&mut self, count: usize) {
        self.clear();
        let (attached, place) = (NONE, NONE);
        let none = Bundle { class: 0, flows: 0, weight: 0.0, attached, place, hops: 0, key: 0 };
        self.bundles.resize(count, none);
        self.path.resize(count * self.stride, 0);
        self.places.resize(count * self.stride, 0);
    }

    /// Makes a bundle of one flow that has this number and path, and is attached nowhere.
    pub fn lay(&mut self, bundle: u32, path: impl Iterator<Item = u32>) {
        self.sought.clear();
        self.sought.extend(path);
        let hops = self.sought.len();
        if hops > self.stride {
            self.widen(hops.next_multiple_of(8));
        }
        let it = &mut self.bundles[bundle as usize];
        (it.flows, it.weight, it.hops) = (1, 1.0, hops as u32);
        let start = bundle as usize * self.stride;
        self.path[start..start + hops].copy_from_slice(&self.sought);
    }

    /// Takes a bundle away that was [laid](Bundles::lay) and is attached nowhere.
    pub fn take_away(&mut self, bundle: u32) {
        self.bundles[bundle as usize].flows = 0;
    }

    fn make(&mut self, class: u32, key: u64, weight: f64) -> u32 {
        let hops = self.sought.len();
        if hops > self.stride {
            self.widen(hops.next_multiple_of(8));
        }
        let (flows, attached, place) = (1, NONE, NONE);
        let new = Bundle { class, flows, weight, attached, place, hops: hops as u32, key };
        let bundle = match self.vacant.pop() {
            Some(bundle) => {
                self.bundles[bundle as usize] = new;
                bundle
            }
            None => {
                self.bundles.push(new);
                self.path.resize(self.path.len() + self.stride, 0);
                self.places.resize(self.path.len(), 0);
                self.bundles.len() as u32 - 1
            }
        };
        let start = bundle as usize * self.stride;
        self.path[start..start + hops].copy_from_slice(&self.sought);
        bundle
    }

    /// Makes room for longer paths.
    fn widen(&mut self, stride: usize) {
        for links in [&mut self.path, &mut self.places] {
            let before = std::mem::take(links);
            for path in before.chunks(self.stride) {
                links.extend_from_slice(path);
                links.resize(links.len() + stride - self.stride, 0);
            }
        }
        self.stride = stride;
    }

    /// Removes a flow, with its weight, of a bundle that has others.
    pub fn remove_one(&mut self, bundle: u32, weight: f64) {
        self.bundles[bundle as usize].flows -= 1;
        self.bundles[bundle as usize].weight -= weight;
    }

    /// Removes a bundle, which is attached nowhere. Its number is vacant.
    pub fn remove(&mut self, bundle: u32) {
        let Bundle { key, .. } = self.bundles[bundle as usize];
        self.bundles[bundle as usize].flows = 0;
        self.vacant.push(bundle);
        // A later path that took the next number must still be found.
        let mut hole = key;
        self.by_path.remove(&hole);
        let mut next = key.wrapping_add(1);
        while let Some(&later) = self.by_path.get(&next) {
            self.by_path.remove(&next);
            self.by_path.insert(hole, later);
            self.bundles[later as usize].key = hole;
            (hole, next) = (next, next.wrapping_add(1));
        }
    }

    /// Puts a bundle into the list of the link to which it is attached from now on.
    pub fn attach(&mut self, bundle: u32, link: u32, list: &mut Vec<u32>) {
        let it = &mut self.bundles[bundle as usize];
        (it.attached, it.place) = (link, list.len() as u32);
        list.push(bundle);
    }

    /// Takes a bundle out of the list of the link to which it is attached.
    pub fn detach(&mut self, bundle: u32, list: &mut Vec<u32>) {
        let place = self.bundles[bundle as usize].place as usize;
        list.swap_remove(place);
        if let Some(&other) = list.get(place) {
            self.bundles[other as usize].place = place as u32;
        }
        self.bundles[bundle as usize].attached = NONE;
    }

    /// Puts a bundle into the lists of all links on its path.
    pub fn cross(&mut self, bundle: u32, lists: &mut [Vec<Crossing>]) {
        let start = bundle as usize * self.stride;
        let Bundle { hops, attached, .. } = self.bundles[bundle as usize];
        for hop in start..start + hops as usize {
            let list = &mut lists[self.path[hop] as usize];
            self.places[hop] = list.len() as u32;
            list.push(Crossing { bundle, attached });
        }
    }

    /// Takes a bundle out of the lists of all links on its path.
    pub fn uncross(&mut self, bundle: u32, lists: &mut [Vec<Crossing>]) {
        let start = bundle as usize * self.stride;
        for hop in start..start + self.bundles[bundle as usize].hops as usize {
            let (link, place) = (self.path[hop], self.places[hop] as usize);
            let list = &mut lists[link as usize];
            list.swap_remove(place);
            if let Some(&Crossing { bundle: other, .. }) = list.get(place) {
                let other_start = other as usize * self.stride;
                let other_hop = self.path(other).iter().position(|&l| l == link);
                self.places[other_start + other_hop.expect("it crosses the link")] = place as u32;
            }
        }
    }

    /// Writes the link to which a bundle is attached into the lists of all links on its path.
    pub fn tell_crossed(&self, bundle: u32, lists: &mut [Vec<Crossing>]) {
        let start = bundle as usize * self.stride;
        let Bundle { hops, attached, .. } = self.bundles[bundle as usize];
        for hop in start..start + hops as usize {
            lists[self.path[hop] as usize][self.places[hop] as usize].attached = attached;
        }
    }
}
