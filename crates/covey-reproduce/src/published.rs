//! What the papers published, as far as their text tells it, with its place in each paper.
//!
//! Numbers are as printed. Figures whose points are only drawn are here as far as the text names
//! their values; what it says of them in words is among the [`Claim`]s.

use serde::Deserialize;

/// A paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its system, in small letters.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where and when it appeared.
    pub venue: String,
    /// Its numbers.
    pub tables: Vec<Table>,
    /// What it says of a figure in words.
    pub claims: Vec<Claim>,
}

/// Numbers of one table or figure, as rows and columns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The table or figure, such as `Table 3` or `Figure 4(a)`.
    pub place: String,
    /// The section that discusses it.
    pub section: String,
    /// How the numbers came about, such as `simulation` or `testbed`.
    pub setting: String,
    /// What they show.
    pub shows: String,
    /// Their unit; empty for none, or where columns differ.
    pub unit: String,
    /// The columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is about.
    pub name: String,
    /// A value for each column, if the paper tells it.
    pub values: Vec<Option<f64>>,
}

/// Something a paper says in words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section.
    pub place: String,
    /// What it says, in our words.
    pub says: String,
}

#[derive(Deserialize)]
struct Published {
    papers: Vec<Paper>,
}

/// All papers.
///
/// # Panics
/// If `published.json`, which is part of this crate, does not parse. Tests would show that.
pub fn papers() -> Vec<Paper> {
    let published: Published =
        serde_json::from_str(include_str!("published.json")).expect("the papers of this crate");
    published.papers
}

impl Paper {
    /// The tables at `place`, such as `Table 2`.
    pub fn at<'a>(&'a self, place: &'a str) -> impl Iterator<Item = &'a Table> {
        self.tables.iter().filter(move |table| table.place == place)
    }

    /// The value at `place` in a row and a column, if there is one.
    pub fn value(&self, place: &str, row: &str, column: &str) -> Option<f64> {
        self.at(place).find_map(|table| table.value(row, column))
    }
}

impl Table {
    /// The value in a row and a column, if there is one.
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

    // Numbers that a paper tells twice, or that follow from others, agree.

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
        // The mean of 8 coflows.
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
        // Uncompressed sizes have three digits at times.
        for row in &swallow.at("Table III").next().expect("the table").rows {
            let [Some(compressed), Some(raw), Some(ratio)] = row.values[..] else {
                panic!("{row:?}")
            };
            assert!((compressed / raw * 100.0 - ratio).abs() < 0.5, "{row:?}");
        }
        // Rates a second are those of units of 2000 s, but for the mean, which is about 7 % more
        // than 12,000 s give.
        for row in &swallow.at("Table V").next().expect("the table").rows {
            let done: Vec<f64> = row.values.iter().flatten().copied().collect();
            let mut rates = vec![done[0] / 2000.0];
            rates.extend(done[..6].windows(2).map(|two| (two[1] - two[0]) / 2000.0));
            let most = rates.iter().copied().fold(0.0, f64::max);
            let least = rates.iter().copied().fold(f64::MAX, f64::min);
            assert!((most - done[6]).abs() < 0.011 && (least - done[7]).abs() < 0.011, "{row:?}");
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
