//! Turns the outcome of a simulation into statistics, tables, files and an HTML page with plots.
//!
//! Data flows in one direction:
//!
//! ```text
//! Workload + Outcome + RunInfo ─▶ Run ─▶ Summary ───────────▶ text, JSON
//!                                  │
//!                                  ├────────────────────────▶ tables: one row per coflow or flow; CSV
//!                                  ▼
//!                 several Runs ─▶ Comparison ───────────────▶ text table, JSON, HTML page
//!      Comparisons, one a seed ─▶ OverSeeds ────────────────▶ text table, JSON, HTML page
//!      Comparisons, OverSeeds ──▶ Results ──────────────────▶ a file that is read again, HTML page
//! Run + Spans + queues ─────────▶ trace for Perfetto's viewer
//! Spans + Explanations ─────────▶ Timelines ────────────────▶ in the HTML page of a Comparison
//! Runs + Explanations ──────────▶ Explanations ─────────────▶ text, JSON, picture
//! Workload + Bounds ────────────▶ Landmarks ────────────────▶ text, JSON
//! groups of flow records ───────▶ Identification ───────────▶ text, JSON, HTML page
//! logs and their replays ───────▶ WhatIf ───────────────────▶ text, JSON, CSV, HTML page
//! ```
//!
//! Nothing here runs a simulation or reads a clock: the same input gives the same bytes.

mod bins;
mod certainty;
mod coflows;
mod columns;
mod comparison;
mod csv;
mod error;
mod explained;
mod figure;
mod file;
mod html;
mod identification;
mod jobs;
mod json;
mod landmarks;
mod live;
mod over_seeds;
pub mod palette;
mod perfetto;
mod published;
mod results;
mod run;
mod stats;
mod summary;
mod table;
mod tenants;
mod text;
mod tiers;
mod timelines;
mod units;
mod whatif;

pub use bins::{Bin, BinMean, mean_cct_by_bin};
pub use certainty::{Certainty, Interval, LEVEL, Over};
pub use coflows::Coflows;
pub use columns::{Column, Values, per_coflow, per_flow};
pub use comparison::{Comparison, JctSpeedup, Speedup};
pub use csv::{write_per_coflow_csv, write_per_flow_csv, write_per_link_csv};
pub use error::Error;
pub use explained::{
    Explained, ExplainedPart, ExplainedReason, Explanations, Moment, UsedBy, UsedPort,
};
pub use figure::{Figure, Plot};
pub use file::{check_writable, write_file_atomically};
pub use html::{
    Appendix, Cell, CellKind, FigureStyle, Grid, Part, Row, appendix_page, figure_files, html_page,
    identification_page, results_page, seeds_figure_files, whatif_page,
};
pub use identification::{Agreement, Identification, Method, together_table};
pub use jobs::{Jobs, jcts_by_share_s};
pub use json::write_json;
pub use landmarks::Landmarks;
pub use live::{Live, Spread};
pub use over_seeds::{OverSeeds, Seeds, SeedsSpeedup};
pub use perfetto::write_perfetto;
pub use published::{Claim, ClaimVerdict, PublishedError, PublishedValue, differing};
pub use results::{Results, ResultsError};
pub use run::{Run, RunInfo};
pub use stats::{Distribution, percentile};
pub use summary::Summary;
pub use tenants::{TenantSummary, tenants};
pub use tiers::{FabricLoad, TraceInfo};
pub use timelines::{Sendings, Timelines};
pub use units::rate;
pub use whatif::{Bar, CoflowSums, JobTimes, LinkUse, LogSums, Range, Replay, WhatIf, percent};
