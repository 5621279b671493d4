//! Disjoint sets with union by size and path halving.

pub(crate) struct DisjointSets {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl DisjointSets {
    /// `n` sets of one element each.
    pub fn new(n: usize) -> DisjointSets {
        DisjointSets { parent: (0..n as u32).collect(), size: vec![1; n] }
    }

    /// The element that stands for the set of `x`.
    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let above = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = above;
            x = above;
        }
        x
    }

    pub fn union(&mut self, x: u32, y: u32) {
        let (x, y) = (self.find(x), self.find(y));
        if x == y {
            return;
        }
        let less = self.size[x as usize] < self.size[y as usize];
        let (root, child) = if less { (y, x) } else { (x, y) };
        self.parent[child as usize] = root;
        self.size[root as usize] += self.size[child as usize];
    }
}
