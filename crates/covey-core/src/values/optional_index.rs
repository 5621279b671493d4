//! An index that may be missing, in four bytes.

/// A number below 2³² − 1, or none; as small as a `u32`. None comes after all numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionalIndex(u32);

impl OptionalIndex {
    /// No index.
    pub const NONE: OptionalIndex = OptionalIndex(u32::MAX);

    /// This index.
    ///
    /// # Panics
    /// In debug builds if it is 2³² − 1.
    pub fn some(index: u32) -> OptionalIndex {
        debug_assert!(index != u32::MAX, "too large an index");
        OptionalIndex(index)
    }

    /// The index, if there is one.
    pub fn get(self) -> Option<u32> {
        (self != OptionalIndex::NONE).then_some(self.0)
    }
}

impl Default for OptionalIndex {
    fn default() -> Self {
        OptionalIndex::NONE
    }
}

impl From<Option<u32>> for OptionalIndex {
    fn from(index: Option<u32>) -> Self {
        index.map_or(OptionalIndex::NONE, OptionalIndex::some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_comes_back_and_none_stays_none() {
        for index in [None, Some(0), Some(7), Some(u32::MAX - 1)] {
            assert_eq!(OptionalIndex::from(index).get(), index);
        }
        assert_eq!(OptionalIndex::default().get(), None);
        assert_eq!(size_of::<OptionalIndex>(), 4);
    }
}
