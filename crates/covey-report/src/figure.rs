//! Figures as data, for a page and for JSON.

use serde::Serialize;

/// A drawing with its heading and what to read from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What is drawn.
    pub plot: Plot,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Plot {
    /// Cumulative distributions over a logarithmic axis.
    Cdf {
        /// What the horizontal axis measures, with its unit.
        x: String,
        /// What is counted, such as `coflows`.
        of: String,
        /// A value to mark by a vertical line.
        mark: Option<f64>,
        /// Each curve's name and values, in any order.
        curves: Vec<(String, Vec<f64>)>,
    },
    /// Bars from 1, over a logarithmic axis.
    Bars {
        /// What the bars measure.
        x: String,
        /// What stands behind each value, such as `×`.
        unit: String,
        /// What the bars of a group stand for.
        series: Vec<String>,
        /// The name of each group, and a value for each of the series; NaN for none.
        groups: Vec<(String, Vec<f64>)>,
    },
    /// Points over two logarithmic axes that measure alike, with the diagonal.
    Scatter {
        /// What the horizontal axis measures, with its unit.
        x: String,
        /// What the vertical axis measures.
        y: String,
        /// Each group's name and points.
        points: Vec<(String, Vec<[f64; 2]>)>,
    },
    /// Lines through points; the horizontal axis is logarithmic, the vertical one begins at 0.
    Curves {
        /// What the horizontal axis measures, with its unit.
        x: String,
        /// What the vertical axis measures.
        y: String,
        /// Each curve's name and points, ascending.
        curves: Vec<(String, Vec<[f64; 2]>)>,
    },
}
