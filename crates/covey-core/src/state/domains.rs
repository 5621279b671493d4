//! Which coflows can have met.
//!
//! A *domain* is a set of links that coflows have joined to each other: two links are in one domain
//! if some coflow uses both, or by a chain of such coflows. It lasts until the last coflow in it
//! has gone. Events in one domain change nothing for coflows in another. So policies that rank by
//! what is left look again only at coflows of domains in which something has happened. Then a
//! coflow's rank does not depend on traffic that it cannot meet, not even through the times at
//! which the policy looks at it.

use crate::sets::marked_links::MarkedLinks;
use crate::values::ids::LinkId;

/// The domains of a fabric's links.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    /// Number of each link's domain.
    of: Vec<u32>,
    /// The links of each domain.
    links: Vec<Vec<u32>>,
    /// How many coflows each domain has.
    coflows: Vec<u32>,
    /// Domains of which the policy was told something since the last plan.
    dirty: MarkedLinks,
    /// Domains in which anything has happened since rates were last shared.
    has_event: MarkedLinks,
}

impl Domains {
    /// Each of so many links is a domain of its own.
    pub fn clear(&mut self, links: usize) {
        self.of.clear();
        self.of.extend(0..links as u32);
        self.links.resize_with(links, Vec::new);
        for (link, alone) in self.links.iter_mut().enumerate() {
            alone.clear();
            alone.push(link as u32);
        }
        self.coflows.clear();
        self.coflows.resize(links, 0);
        for mark in [&mut self.dirty, &mut self.has_event] {
            mark.start(links);
        }
    }

    /// The domain of a link.
    pub fn of(&self, link: LinkId) -> u32 {
        self.of[link.index()]
    }

    /// A coflow with these links has come.
    pub fn enter(&mut self, links: &[LinkId]) {
        self.join(links);
        if let Some(&first) = links.first() {
            self.coflows[self.of[first.index()] as usize] += 1;
        }
    }

    /// Joins links, as a coflow uses all of them. Their domain is dirty.
    pub fn join(&mut self, links: &[LinkId]) {
        let Some((&first, others)) = links.split_first() else { return };
        for &other in others {
            let (a, b) = (self.of[first.index()], self.of[other.index()]);
            if a != b {
                self.unite(a as usize, b as usize);
            }
        }
        self.mark_dirty(first);
    }

    /// The smaller domain becomes part of the larger, so that a link changes its domain rarely.
    fn unite(&mut self, a: usize, b: usize) {
        let (into, from) = if self.links[a].len() >= self.links[b].len() { (a, b) } else { (b, a) };
        let mut moving = std::mem::take(&mut self.links[from]);
        moving.iter().for_each(|&link| self.of[link as usize] = into as u32);
        self.links[into].append(&mut moving);
        self.coflows[into] += std::mem::take(&mut self.coflows[from]);
        for mark in [&mut self.dirty, &mut self.has_event] {
            if mark.contains(from) {
                mark.set(from, false);
                mark.insert(into);
            }
        }
        self.links[from] = moving;
    }

    /// A coflow with this link has gone. With the last one its domain falls apart.
    pub fn leave(&mut self, link: LinkId) {
        let domain = self.of[link.index()] as usize;
        self.coflows[domain] -= 1;
        self.mark_dirty(link);
        if self.coflows[domain] > 0 {
            return;
        }
        self.dirty.set(domain, false);
        self.has_event.set(domain, false);
        // Its number is that of one of its links.
        let mut links = std::mem::take(&mut self.links[domain]);
        for &link in links.iter().filter(|&&link| link as usize != domain) {
            self.of[link as usize] = link;
            self.links[link as usize].push(link);
        }
        links.clear();
        links.push(domain as u32);
        self.links[domain] = links;
    }

    /// The policy is told of something that has happened to a coflow with this link.
    pub fn mark_dirty(&mut self, link: LinkId) {
        self.dirty.insert(self.of[link.index()] as usize);
        self.note_event(link);
    }

    /// Something has happened to a coflow with this link.
    pub fn note_event(&mut self, link: LinkId) {
        self.has_event.insert(self.of[link.index()] as usize);
    }

    /// Something has happened that may concern every domain.
    pub fn note_event_everywhere(&mut self) {
        self.has_event.fill();
    }

    /// Whether anything has happened in the domain of a link since [`Domains::end_round`].
    pub fn has_events(&self, link: LinkId) -> bool {
        self.has_event.contains(self.of[link.index()] as usize)
    }

    /// Rates have been shared.
    pub fn end_round(&mut self) {
        self.has_event.clear();
    }

    /// Whether the policy was told of anything in the domain of a link since
    /// [`Domains::clear_dirty`].
    pub fn is_dirty(&self, link: LinkId) -> bool {
        self.dirty.contains(self.of[link.index()] as usize)
    }

    /// A plan has been made.
    pub fn clear_dirty(&mut self) {
        self.dirty.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links<const N: usize>(numbers: [u32; N]) -> [LinkId; N] {
        numbers.map(LinkId)
    }

    #[test]
    fn a_chain_of_coflows_joins_links_until_the_last_has_gone() {
        let mut domains = Domains::default();
        domains.clear(6);
        let [a, b, c] = [links([0, 1]), links([2, 3]), links([1, 2])];
        domains.enter(&a);
        domains.enter(&b);
        assert_ne!(domains.of(a[0]), domains.of(b[0]));
        domains.enter(&c);
        assert_eq!(domains.of(a[0]), domains.of(b[1]));
        assert_ne!(domains.of(a[0]), domains.of(LinkId(4)));
        domains.leave(c[0]);
        domains.leave(a[0]);
        assert_eq!(domains.of(a[0]), domains.of(b[1]), "somebody is still there");
        domains.leave(b[0]);
        let alone: Vec<u32> = (0..6).map(|link| domains.of(LinkId(link))).collect();
        assert_eq!(alone, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_event_makes_one_domain_dirty() {
        let mut domains = Domains::default();
        domains.clear(4);
        let [a, b] = [links([0, 1]), links([2, 3])];
        domains.enter(&a);
        domains.enter(&b);
        domains.clear_dirty();
        domains.mark_dirty(a[1]);
        assert!(domains.is_dirty(a[0]));
        assert!(!domains.is_dirty(b[0]));
        domains.clear_dirty();
        assert!(!domains.is_dirty(a[0]));
        // A link that joins a dirty domain is in a dirty domain.
        domains.mark_dirty(b[0]);
        domains.enter(&links([1, 2]));
        assert!(domains.is_dirty(a[0]));
    }
}
