//! Many lists in one array.

use crate::sets::clone_in_place::clone_in_place;

/// Lists of small numbers, one after the other in one array.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// First item of each list, and the end of the last.
    start: Vec<u32>,
    items: Vec<u32>,
}

clone_in_place!(Lists { start, items });

impl Lists {
    /// Removes all lists.
    pub fn clear(&mut self) {
        self.start.clear();
        self.items.clear();
    }

    /// Appends a list.
    pub fn push(&mut self, items: impl Iterator<Item = u32>) {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.items.extend(items);
        self.start.push(self.items.len() as u32);
    }

    /// Replaces the lists by `count` ones. `items` are pairs of a list and an item; the items of a
    /// list keep their order. `cursor` is working memory.
    pub fn rebuild(
        &mut self,
        count: usize,
        items: impl Iterator<Item = (usize, u32)> + Clone,
        cursor: &mut Vec<u32>,
    ) {
        self.start.clear();
        self.start.resize(count + 1, 0);
        items.clone().for_each(|(list, _)| self.start[list + 1] += 1);
        for list in 0..count {
            self.start[list + 1] += self.start[list];
        }
        self.items.clear();
        self.items.resize(self.start[count] as usize, 0);
        cursor.clone_from(&self.start);
        for (list, item) in items {
            self.items[cursor[list] as usize] = item;
            cursor[list] += 1;
        }
    }

    /// Whether no list has an item.
    #[inline]
    pub fn are_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of items of all lists.
    pub fn items(&self) -> usize {
        self.items.len()
    }

    /// The items of all lists.
    pub fn items_mut(&mut self) -> &mut [u32] {
        &mut self.items
    }

    /// The items of a list.
    #[inline]
    pub fn list(&self, list: usize) -> &[u32] {
        if self.items.is_empty() {
            return &[];
        }
        &self.items[self.start[list] as usize..self.start[list + 1] as usize]
    }
}
