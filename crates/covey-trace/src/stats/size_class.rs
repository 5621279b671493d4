//! Classes of coflows by size (Stream, Table 3).

use crate::MB;

/// The sizes that bound the classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeTable {
    /// Table 3 A, for many-to-one coflows: up to 100 MB, 1 GB, 10 GB, 100 GB, and more.
    ManyToOne,
    /// Table 3 B, for jobs of many-to-many coflows: up to 1 GB, 10 GB, 100 GB, 1 TB, and more.
    ManyToMany,
}

/// A class of coflows by size, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeClass {
    /// Mice.
    I,
    /// Ten times as large.
    II,
    /// A hundred times as large.
    III,
    /// A thousand times as large.
    IV,
    /// All that are larger.
    V,
}

impl SizeClass {
    /// All classes, the smallest first.
    pub const ALL: [SizeClass; 5] =
        [SizeClass::I, SizeClass::II, SizeClass::III, SizeClass::IV, SizeClass::V];

    /// The class of a coflow or job of `bytes`. A class includes its upper bound. The table's
    /// smallest class begins at 1 MB (A) or 6 MB (B), the smallest sizes in the public trace; here
    /// it begins at 0. An MB has 2^20 bytes, as in traces, and a GB 2^10 MB.
    pub fn of(bytes: f64, table: SizeTable) -> SizeClass {
        let bounds = SizeClass::ALL.into_iter().zip(table.bounds_bytes());
        let mut classes = bounds.filter(|(_, bound)| bytes <= *bound).map(|(class, _)| class);
        classes.next().unwrap_or(SizeClass::V)
    }

    /// The numeral of the class, `I` to `V`.
    pub fn name(self) -> &'static str {
        match self {
            SizeClass::I => "I",
            SizeClass::II => "II",
            SizeClass::III => "III",
            SizeClass::IV => "IV",
            SizeClass::V => "V",
        }
    }
}

impl SizeTable {
    /// The upper bounds of the first four classes, in bytes.
    pub fn bounds_bytes(self) -> [f64; 4] {
        let gb = 1024.0 * MB;
        match self {
            SizeTable::ManyToOne => [100.0 * MB, gb, 10.0 * gb, 100.0 * gb],
            SizeTable::ManyToMany => [gb, 10.0 * gb, 100.0 * gb, 1024.0 * gb],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_includes_its_upper_bound() {
        for table in [SizeTable::ManyToOne, SizeTable::ManyToMany] {
            for (k, bound) in table.bounds_bytes().into_iter().enumerate() {
                assert_eq!(SizeClass::of(bound, table), SizeClass::ALL[k]);
                assert_eq!(SizeClass::of(bound + 1.0, table), SizeClass::ALL[k + 1]);
            }
            assert_eq!(SizeClass::of(0.0, table), SizeClass::I);
            assert_eq!(SizeClass::of(1e18, table), SizeClass::V);
        }
        assert_eq!(SizeClass::of(100.0 * MB, SizeTable::ManyToMany), SizeClass::I);
        assert_eq!(SizeClass::of(101.0 * MB, SizeTable::ManyToOne).name(), "II");
    }
}
