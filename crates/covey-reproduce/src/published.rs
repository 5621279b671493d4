//! The values that the papers published, each with its table, figure or section.
//!
//! Numbers are as printed. For figures, only the values that the text names are listed. What the
//! text says about a figure in words is a [`Claim`].

use serde::Deserialize;

/// A paper and its published values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The system that the paper describes, in lower case.
    pub name: String,
    /// The paper's title.
    pub title: String,
    /// Where and when the paper appeared.
    pub venue: String,
    /// The numbers.
    pub tables: Vec<Table>,
    /// Statements in words.
    pub claims: Vec<Claim>,
}

/// Numbers of one table or figure, in rows and columns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The table or figure, such as `Table 3` or `Figure 4(a)`.
    pub place: String,
    /// The section that discusses it.
    pub section: String,
    /// How the authors found the numbers, such as `simulation` or `testbed`.
    pub setting: String,
    /// What the numbers show.
    pub shows: String,
    /// The unit of the numbers; empty for none, or if columns have different units.
    pub unit: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The name of the row.
    pub name: String,
    /// A value for each column; `None` if the paper does not give it.
    pub values: Vec<Option<f64>>,
}

/// A statement of a paper in words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section.
    pub place: String,
    /// The statement, in our words.
    pub says: String,
}

#[derive(Deserialize)]
struct Published {
    papers: Vec<Paper>,
}

/// All papers.
///
/// # Panics
/// If `published.json`, which is compiled into this crate, does not parse. Tests rule this out.
pub fn papers() -> Vec<Paper> {
    let published: Published =
        serde_json::from_str(include_str!("published.json")).expect("the papers of this crate");
    published.papers
}

impl Paper {
    /// The numbers of the table or figure `place`, such as `Table 2`.
    pub fn at<'a>(&'a self, place: &'a str) -> impl Iterator<Item = &'a Table> {
        self.tables.iter().filter(move |table| table.place == place)
    }

    /// The value at `place` in a row and a column; `None` if the paper does not give it.
    pub fn value(&self, place: &str, row: &str, column: &str) -> Option<f64> {
        self.at(place).find_map(|table| table.value(row, column))
    }
}

impl Table {
    /// The value in a row and a column; `None` if the paper does not give it.
    pub fn value(&self, row: &str, column: &str) -> Option<f64> {
        let column = self.columns.iter().position(|c| c == column)?;
        self.rows.iter().find(|r| r.name == row)?.values.get(column).copied()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper(name: &str) -> Paper {
        let papers = papers();
        papers.into_iter().find(|paper| paper.name == name).expect("the paper")
    }

    #[test]
    fn rows_have_a_value_for_each_column() {
        for paper in papers() {
            for table in &paper.tables {
                let place = format!("{}, {}", paper.name, table.place);
                for row in &table.rows {
                    assert_eq!(row.values.len(), table.columns.len(), "{place}");
                    assert!(row.values.iter().any(Option::is_some), "{place}");
                }
            }
        }
    }

    // These tests check that numbers which a paper gives twice, or which follow from others, agree.

    #[test]
    fn philae_agrees_with_itself() {
        let philae = paper("philae");
        for column in ["P50", "P90", "mean of CCTs"] {
            let default = philae.value("Table 3", "D", column);
            assert!(default.is_some());
            assert_eq!(philae.value("Table 2", column, "5% of senders"), default);
            assert_eq!(philae.value("Figure 4(a)", "Aalo", column), default);
        }
        for place in ["Table 4", "Section 9.2"] {
            let table = philae.at(place).next().expect("the table");
            let shares = table.rows.iter().flat_map(|row| row.values.iter().flatten());
            assert!((shares.sum::<f64>() - 100.0).abs() < 1e-9, "{place}");
        }
    }

    #[test]
    fn swallow_agrees_with_itself() {
        let swallow = paper("swallow");
        // Each mean is over 8 coflows.
        for row in &swallow.at("Table VI").next().expect("the table").rows {
            let [Some(mean), Some(sum)] = row.values[..] else { panic!("{row:?}") };
            assert!((sum / 8.0 - mean).abs() <= 0.5, "{row:?}");
        }
        for row in &swallow.at("Table I").next().expect("the table").rows {
            let [Some(compressed), Some(raw), Some(ratio)] = row.values[..] else {
                panic!("{row:?}")
            };
            assert!((compressed / raw * 100.0 - ratio).abs() < 0.01, "{row:?}");
        }
        let mut saved = Vec::new();
        for row in &swallow.at("Table VII").next().expect("the table").rows {
            let [Some(with), Some(without), Some(reduction)] = row.values[..] else { continue };
            assert!((100.0 - with / without * 100.0 - reduction).abs() < 0.01, "{row:?}");
            saved.push(reduction);
        }
        let mean = swallow.value("Table VII", "mean", "reduction").expect("the mean");
        assert!((saved.iter().sum::<f64>() / saved.len() as f64 - mean).abs() < 0.01);
        // Some uncompressed sizes are printed with three digits only.
        for row in &swallow.at("Table III").next().expect("the table").rows {
            let [Some(compressed), Some(raw), Some(ratio)] = row.values[..] else {
                panic!("{row:?}")
            };
            assert!((compressed / raw * 100.0 - ratio).abs() < 0.5, "{row:?}");
        }
        // The largest and the smallest rate per second follow from units of 2000 s. The printed
        // mean is about 7 % above the mean over 12,000 s.
        for row in &swallow.at("Table V").next().expect("the table").rows {
            let done: Vec<f64> = row.values.iter().flatten().copied().collect();
            let mut rates = vec![done[0] / 2000.0];
            rates.extend(done[..6].windows(2).map(|two| (two[1] - two[0]) / 2000.0));
            let max = rates.iter().copied().fold(0.0, f64::max);
            let min = rates.iter().copied().fold(f64::MAX, f64::min);
            assert!((max - done[6]).abs() < 0.011 && (min - done[7]).abs() < 0.011, "{row:?}");
            let mean = done[8] * 12_000.0 / done[5];
            assert!((1.06..1.09).contains(&mean), "{row:?} {mean}");
        }
    }

    #[test]
    fn aalo_agrees_with_itself() {
        for row in &paper("aalo").at("Table 4").next().expect("the table").rows {
            assert_eq!(row.values.iter().flatten().sum::<f64>(), 100.0, "{row:?}");
        }
    }
}
