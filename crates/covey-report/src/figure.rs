//! Figures as data, for the HTML page and for JSON.

use serde::Serialize;

/// A plot with its heading and caption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The heading.
    pub title: String,
    /// The caption, which says how to read the plot.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
}

/// The data of a plot.
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
    /// Complementary cumulative distributions over two logarithmic axes: how many take at least so
    /// long.
    Tail {
        /// What the horizontal axis measures, with its unit.
        x: String,
        /// What is counted, such as `coflows`.
        of: String,
        /// Each curve's name and values, in any order.
        curves: Vec<(String, Vec<f64>)>,
    },
    /// Bars from 1, over a logarithmic axis.
    Bars {
        /// What the bars measure.
        x: String,
        /// The unit written after each value, such as `×`.
        unit: String,
        /// What the bars of a group stand for.
        series: Vec<String>,
        /// The name of each group, and one value for each of the series; NaN for no value.
        groups: Vec<(String, Vec<f64>)>,
    },
    /// Points over two logarithmic axes with the same unit and range, with the diagonal.
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
        /// Each curve's name and points, in ascending order of x.
        curves: Vec<(String, Vec<[f64; 2]>)>,
    },
}
