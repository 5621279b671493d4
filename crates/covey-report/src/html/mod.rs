//! HTML pages: each is one file that loads nothing. The page of a comparison has a script, and
//! shows the same without.

mod appendix;
mod axis;
mod bars;
mod cdf;
mod comparison;
mod data;
mod document;
mod figures;
mod files;
mod frame;
mod identification;
mod over_seeds;
mod pages;
mod series;
mod whatif;

pub use appendix::{Appendix, Cell, CellKind, Grid, Part, Row, appendix_page};
pub use files::{FigureStyle, figure_files, seeds_figure_files};
pub use identification::identification_page;
pub use pages::{html_page, results_page};
pub use whatif::whatif_page;
