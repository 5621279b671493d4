//! Buffers for building demands.

use crate::values::ids::LinkId;

/// Buffers for building demands, kept so that building allocates nothing after warm-up.
#[derive(Debug, Default)]
pub struct Builder {
    /// Local number of a link, valid where `stamp` is the current one.
    local: Vec<u32>,
    stamp: Vec<u32>,
    current: u32,
    /// Where the next item of each list goes.
    pub(super) cursor: Vec<u32>,
    /// Links inside the fabric of one path.
    pub(super) path: Vec<LinkId>,
}

impl Builder {
    /// Forgets all local numbers. The fabric has this many links.
    pub(super) fn start(&mut self, links: usize) {
        self.local.resize(links, 0);
        self.stamp.resize(links, 0);
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.stamp.fill(0);
            self.current = 1;
        }
    }

    /// Local number of a link: its index in `links`, to which it is added if it is not there.
    #[inline]
    pub(super) fn local_of(&mut self, link: LinkId, links: &mut Vec<LinkId>) -> u32 {
        let i = link.index();
        if self.stamp[i] != self.current {
            self.stamp[i] = self.current;
            self.local[i] = links.len() as u32;
            links.push(link);
        }
        self.local[i]
    }
}
