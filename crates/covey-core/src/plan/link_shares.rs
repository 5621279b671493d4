//! Lists of the shares of all links, in few pieces of memory.

use crate::values::ids::{CoflowId, LinkId};

/// Shares of links that are reserved for coflows, link by link: from 0 to 1, and at most 1
/// together.
#[derive(Debug, Clone, Default)]
pub struct LinkShares {
    /// By link, the number of its first share, from 1; 0 if it has none.
    first: Vec<u32>,
    /// By number.
    shares: Vec<Listed>,
    /// The first number that is vacant.
    vacant: u32,
}

/// A share, and the number of the next one in its list.
#[derive(Debug, Clone, Copy)]
struct Listed {
    share: (CoflowId, f64),
    next: u32,
}

impl PartialEq for LinkShares {
    fn eq(&self, other: &Self) -> bool {
        let links = self.links().max(other.links()) as u32;
        (0..links).map(LinkId).all(|link| self.of(link).eq(other.of(link)))
    }
}

impl LinkShares {
    /// Removes all shares.
    pub fn clear(&mut self) {
        self.first.clear();
        self.shares.clear();
        self.vacant = 0;
    }

    /// Links from this one on have no shares.
    pub fn links(&self) -> usize {
        self.first.len()
    }

    /// The shares of a link.
    pub fn of(&self, link: LinkId) -> impl Iterator<Item = (CoflowId, f64)> + '_ {
        let at = |number: u32| self.shares.get((number as usize).wrapping_sub(1));
        let first = self.first.get(link.index()).and_then(|&first| at(first));
        std::iter::successors(first, move |listed| at(listed.next)).map(|listed| listed.share)
    }

    /// Adds a share of a link before the others.
    pub fn add(&mut self, link: LinkId, share: (CoflowId, f64)) {
        self.first.resize(self.first.len().max(link.index() + 1), 0);
        let first = &mut self.first[link.index()];
        let listed = Listed { share, next: *first };
        *first = match self.vacant {
            0 => {
                self.shares.push(listed);
                self.shares.len() as u32
            }
            vacant => {
                let place = &mut self.shares[vacant as usize - 1];
                self.vacant = std::mem::replace(place, listed).next;
                vacant
            }
        };
    }

    /// Replaces the shares of a link. Returns whether they were others.
    pub fn replace(&mut self, link: LinkId, shares: &[(CoflowId, f64)]) -> bool {
        if self.of(link).eq(shares.iter().copied()) {
            return false;
        }
        let mut next = self.first.get_mut(link.index()).map_or(0, std::mem::take);
        while next != 0 {
            let listed = &mut self.shares[next as usize - 1];
            let vacant = std::mem::replace(&mut self.vacant, next);
            next = std::mem::replace(&mut listed.next, vacant);
        }
        shares.iter().rev().for_each(|&share| self.add(link, share));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_what_they_were_replaced_by() {
        let mut all = LinkShares::default();
        let mut twin = vec![Vec::new(); 5];
        for k in 0..200_u32 {
            let link = LinkId(k * 7 % 5);
            let list: Vec<_> = (0..k * 11 % 4).map(|c| (CoflowId(c + k % 3), 0.25)).collect();
            assert_eq!(all.replace(link, &list), twin[link.index()] != list);
            twin[link.index()] = list;
            let is = |link: u32| all.of(LinkId(link)).eq(twin[link as usize].iter().copied());
            assert!((0..5).all(is));
        }
        // Vacant places are used again.
        assert!(all.shares.len() <= 15);
    }
}
