//! A map in the order of its keys that is changed in place and keeps the memory it has used.
//!
//! Pairs are in blocks, so that a change moves no more than one block's pairs, and reading them in
//! order is reading arrays.

/// The most pairs of a block.
const BLOCK: usize = 64;

/// Pairs in the order of their keys, each key once.
#[derive(Debug, Clone)]
pub struct Sorted<K, V> {
    /// None is empty.
    blocks: Vec<Vec<(K, V)>>,
    /// Memory of blocks that are not used.
    pool: Vec<Vec<(K, V)>>,
    len: usize,
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Sorted { blocks: Vec::new(), pool: Vec::new(), len: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Sorted<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.blocks.iter().flatten().eq(other.blocks.iter().flatten())
    }
}

impl<K: Ord + Copy, V> Sorted<K, V> {
    /// Empties it.
    pub fn clear(&mut self) {
        for mut block in self.blocks.drain(..) {
            block.clear();
            self.pool.push(block);
        }
        self.len = 0;
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(K, V)> + Clone {
        self.blocks.iter().flatten()
    }

    /// The pair with the least key.
    pub fn first(&self) -> Option<&(K, V)> {
        self.blocks.first()?.first()
    }

    /// The pair with the greatest key.
    pub fn last(&self) -> Option<&(K, V)> {
        self.blocks.last()?.last()
    }

    /// The pairs with keys above `key`, in order.
    pub fn after(&self, key: K) -> impl Iterator<Item = &(K, V)> {
        let b = self.blocks.partition_point(|block| block.last().is_some_and(|last| last.0 <= key));
        let (first, others) = self.blocks[b..].split_at((b < self.blocks.len()) as usize);
        let first = first
            .iter()
            .flat_map(move |block| &block[block.partition_point(|pair| pair.0 <= key)..]);
        first.chain(others.iter().flatten())
    }

    /// The pairs with `key` and with keys above it, in order.
    pub fn from(&self, key: K) -> impl Iterator<Item = &(K, V)> {
        let at = self.blocks.partition_point(|block| block.last().is_some_and(|last| last.0 < key));
        let (first, others) = self.blocks[at..].split_at((at < self.blocks.len()) as usize);
        let first = first
            .iter()
            .flat_map(move |block| &block[block.partition_point(|pair| pair.0 < key)..]);
        first.chain(others.iter().flatten())
    }

    /// The pair with the greatest key below `key`.
    pub fn before(&self, key: &K) -> Option<&(K, V)> {
        let b = self.blocks.partition_point(|block| block[0].0 < *key).checked_sub(1)?;
        let block = &self.blocks[b];
        block[..block.partition_point(|pair| pair.0 < *key)].last()
    }

    /// What belongs to a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let (b, k) = self.find(key).ok()?;
        Some(&self.blocks[b][k].1)
    }

    /// What belongs to a key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (b, k) = self.find(key).ok()?;
        Some(&mut self.blocks[b][k].1)
    }

    /// Adds a pair whose key is above all others.
    pub fn push(&mut self, key: K, value: V) {
        debug_assert!(self.last().is_none_or(|last| last.0 < key), "above all others");
        let b = self.blocks.len().saturating_sub(1);
        let k = self.blocks.last().map_or(0, Vec::len);
        self.insert_at(b, k, (key, value));
    }

    /// Adds a pair. Returns what belonged to the key before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((b, k)) => Some(std::mem::replace(&mut self.blocks[b][k].1, value)),
            Err((b, k)) => {
                self.insert_at(b, k, (key, value));
                None
            }
        }
    }

    /// Takes a pair out. Returns what belonged to the key.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (b, k) = self.find(key).ok()?;
        let (_, value) = self.blocks[b].remove(k);
        self.len -= 1;
        if self.blocks[b].is_empty() {
            let block = self.blocks.remove(b);
            self.pool.push(block);
        } else {
            self.unite(b);
        }
        Some(value)
    }

    /// Where a key is; or else where it would be put.
    fn find(&self, key: &K) -> Result<(usize, usize), (usize, usize)> {
        let b = self.blocks.partition_point(|block| block[0].0 <= *key);
        let Some(b) = b.checked_sub(1) else { return Err((0, 0)) };
        match self.blocks[b].binary_search_by(|pair| pair.0.cmp(key)) {
            Ok(k) => Ok((b, k)),
            Err(k) => Err((b, k)),
        }
    }

    fn insert_at(&mut self, mut b: usize, mut k: usize, pair: (K, V)) {
        if self.blocks.get(b).is_none_or(|block| block.len() == BLOCK) {
            let mut new = self.pool.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK));
            if b + 1 >= self.blocks.len() && k == self.blocks.get(b).map_or(0, Vec::len) {
                // Pairs that come in order fill one block after another.
                b = self.blocks.len();
                k = 0;
                self.blocks.push(new);
            } else {
                new.extend(self.blocks[b].drain(BLOCK / 2..));
                self.blocks.insert(b + 1, new);
                if k > BLOCK / 2 {
                    b += 1;
                    k -= BLOCK / 2;
                }
            }
        }
        self.blocks[b].insert(k, pair);
        self.len += 1;
    }

    /// Makes one of two neighbouring blocks that are nearly empty.
    fn unite(&mut self, b: usize) {
        for b in [b.checked_sub(1), Some(b)].into_iter().flatten() {
            let both = self.blocks.get(b..b + 2).map_or(BLOCK, |two| two[0].len() + two[1].len());
            if both <= BLOCK / 2 {
                let mut second = self.blocks.remove(b + 1);
                self.blocks[b].append(&mut second);
                self.pool.push(second);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_as_a_map_of_the_standard_library() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for (keys, adds) in [(10, 3), (1000, 6), (1000, 2), (5000, 7)] {
            let (mut ours, mut model) = (Sorted::default(), BTreeMap::new());
            for step in 0..20_000 {
                let key = random(keys);
                if random(8) < adds {
                    assert_eq!(ours.insert(key, step), model.insert(key, step));
                } else {
                    assert_eq!(ours.remove(&key), model.remove(&key));
                }
                let pair = |(key, value): (&u64, &i32)| (*key, *value);
                let key = random(keys);
                assert_eq!(ours.get(&key), model.get(&key));
                let after = model.range(key + 1..).take(70).map(pair);
                assert!(ours.after(key).copied().take(70).eq(after));
                let from = model.range(key..).take(70).map(pair);
                assert!(ours.from(key).copied().take(70).eq(from));
                assert_eq!(ours.before(&key).copied(), model.range(..key).next_back().map(pair));
                assert_eq!(ours.len(), model.len());
                assert_eq!(ours.last().copied(), model.last_key_value().map(pair));
                assert!(ours.blocks.iter().all(|block| !block.is_empty() && block.len() <= BLOCK));
                if step % 997 == 0 {
                    assert!(ours.iter().copied().eq(model.iter().map(pair)));
                }
                if step == 15_000 {
                    ours.clear();
                    model.clear();
                    assert!(ours.is_empty() && ours.first().is_none());
                }
            }
        }
    }
}
