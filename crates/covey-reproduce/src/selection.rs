//! Which tables and figures of a paper are asked for.

use covey_experiment::Error;

use crate::item::Item;

/// Which items of a paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// The table of this number.
    Table(String),
    /// The figure of this number, all its parts if no part is named.
    Figure(String),
}

impl Selection {
    /// Whether the item at a place is selected.
    pub(crate) fn has(&self, place: &str) -> bool {
        let (kind, number) = match self {
            Self::All => return true,
            Self::Table(number) => ("Table ", number),
            Self::Figure(number) => ("Figure ", number),
        };
        let plain = |text: &str| text.replace(['(', ')'], "").to_lowercase();
        place.strip_prefix(kind).is_some_and(|found| {
            let whole = found.split('(').next().unwrap_or(found);
            let number = plain(number);
            plain(found) == number || plain(whole) == number
        })
    }

    /// Checks that `all`, items of `paper`, have what is selected.
    ///
    /// # Errors
    /// When they do not; the message lists what there is.
    pub fn check(&self, paper: &str, all: &[Item]) -> Result<(), Error> {
        if all.iter().any(|item| self.has(item.place)) {
            return Ok(());
        }
        let (argument, kind, found) = match self {
            Self::Table(number) => ("table", "Table ", number.as_str()),
            Self::Figure(number) => ("figure", "Figure ", number.as_str()),
            Self::All => ("paper", "", ""),
        };
        let places = all.iter().filter_map(|item| item.place.strip_prefix(kind));
        let known = places.collect::<Vec<_>>().join(", ");
        Err(Error::argument(argument, format!("one of {known} for {paper}"), format!("'{found}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_all_parts_of_a_figure() {
        let figure = |number: &str| Selection::Figure(number.to_owned());
        assert!(figure("4").has("Figure 4(a)") && figure("4a").has("Figure 4(a)"));
        assert!(figure("4(A)").has("Figure 4(a)"));
        assert!(!figure("4b").has("Figure 4(a)") && !figure("4").has("Figure 14"));
        assert!(!figure("4").has("Table 4"));
        assert!(Selection::Table("vi".to_owned()).has("Table VI"));
    }
}
