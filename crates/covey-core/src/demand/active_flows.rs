//! Which flows of one coflow are active.

use super::layout::Layout;
use crate::sets::clone_in_place::clone_in_place;

/// Which flows of one coflow have started and not ended, in up to three forms that always agree: as
/// booleans by position, as bits by sender, and, in a shuffle, as bits by receiver.
#[derive(Debug, Default)]
pub(super) struct ActiveFlows {
    are_active: Vec<bool>,
    /// First word of each sender's row in `rows`, and the end of the last.
    word_start: Vec<u32>,
    /// A bit for each flow of a sender, each sender's row from a word of its own.
    rows: Vec<u64>,
    /// A bit for each sender of a receiver, each receiver's column from a word of its own. Empty
    /// unless the coflow is a shuffle.
    columns: Vec<u64>,
    /// Number of words of a column.
    column_words: usize,
}

clone_in_place!(ActiveFlows { are_active, word_start, rows, columns, column_words });

impl ActiveFlows {
    /// None is active.
    pub fn reset(&mut self, layout: &Layout, senders: usize, receivers: usize) {
        self.are_active.clear();
        self.are_active.resize(layout.width(), false);
        self.word_start.clear();
        self.word_start.push(0);
        let mut words = 0;
        for s in 0..senders {
            words += layout.row(s).len().div_ceil(64);
            self.word_start.push(words as u32);
        }
        self.rows.clear();
        self.rows.resize(words, 0);
        self.columns.clear();
        self.column_words = senders.div_ceil(64);
        if layout.is_shuffle() {
            self.columns.resize(receivers * self.column_words, 0);
        }
    }

    /// Whether each flow is active, by position.
    #[inline]
    pub fn all(&self) -> &[bool] {
        &self.are_active
    }

    /// Bits of a sender's row, lowest position first.
    #[inline]
    pub fn row(&self, sender: usize) -> &[u64] {
        &self.rows[self.word_start[sender] as usize..self.word_start[sender + 1] as usize]
    }

    /// In a shuffle, bits of a receiver's column, lowest sender first.
    #[inline]
    pub fn column(&self, receiver: usize) -> &[u64] {
        &self.columns[receiver * self.column_words..][..self.column_words]
    }

    /// Changes whether the flow at a position is active: the `k`-th one of this sender.
    pub fn flip(&mut self, position: usize, sender: usize, k: usize) {
        self.are_active[position] ^= true;
        self.rows[self.word_start[sender] as usize + k / 64] ^= 1 << (k % 64);
        // In a shuffle, the k-th flow of each sender goes to the k-th receiver.
        if !self.columns.is_empty() {
            self.columns[k * self.column_words + sender / 64] ^= 1 << (sender % 64);
        }
    }
}
