//! The tables and figures of a paper that the user selects.

use covey_experiment::Error;

use crate::item::Item;

/// Selects items of a paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All items.
    All,
    /// The table with this number.
    Table(String),
    /// The figure with this number; all its parts if the number names none.
    Figure(String),
}

impl Selection {
    /// Whether the item with the name `place`, such as `Figure 4(a)`, is selected.
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

    /// Checks that at least one of the items `all` of `paper` is selected.
    ///
    /// # Errors
    /// If none is; the message lists the tables or figures of the paper.
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
        let expected = match known.is_empty() {
            true => format!("none, as {paper} has no {argument}s to reproduce"),
            false => format!("one of {known} for {paper}"),
        };
        Err(Error::argument(argument, expected, format!("'{found}'")))
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
