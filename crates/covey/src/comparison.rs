//! The outputs of comparisons, for `covey compare`, `study`, `report` and `testbed`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use covey_report::{
    Comparison, FigureStyle, OverSeeds, Results, Run, figure_files, results_page,
    seeds_figure_files, write_json, write_per_coflow_csv,
};

use crate::failure::Failure;
use crate::output;
#[cfg(feature = "pdf")]
use crate::pdf;

/// The value of `--style`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    // A column of a page with two, 85 mm.
    Column,
    // The width of a page, 170 mm.
    Page,
    // A slide.
    Talk,
}

/// What shows results.
#[derive(Debug, Args)]
pub struct Shown {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Write a page with table and plots that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write every figure as PDF, SVG and CSV, and the table for LaTeX and Markdown, into this
    /// directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// For what figures are made: their width and the size of their letters
    #[arg(long, value_enum, ignore_case = true, requires = "figures", default_value_t = Style::Column)]
    style: Style,
}

impl Shown {
    /// Checks before long work that all files can be written.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(file) = &self.report {
            output::check_format("--report", file, output::PAGE)?;
        }
        match self.figures.as_deref().filter(|folder| !folder.is_dir()) {
            Some(folder) => output::check(folder),
            None => Ok(()),
        }
    }

    /// Refuses a page that is the file which is read.
    pub fn check_apart(&self, input: &str) -> Result<(), Failure> {
        self.report.iter().try_for_each(|file| output::check_apart("--report", file, input))
    }

    /// Writes page and figures.
    pub fn write(&self, results: &Results) -> Result<(), Failure> {
        if let Some(folder) = &self.figures {
            let style = match self.style {
                Style::Column => FigureStyle::Column,
                Style::Page => FigureStyle::Page,
                Style::Talk => FigureStyle::Talk,
            };
            let of_one = |it: &Comparison| {
                (it.summaries()[it.baseline()].trace.clone(), figure_files(it, style))
            };
            let of_seeds = |it: &OverSeeds| (it.trace().to_owned(), seeds_figure_files(it, style));
            let (comparisons, over_seeds) = (results.comparisons(), results.over_seeds());
            let are_several = comparisons.len() + over_seeds.len() > 1;
            let all = comparisons.iter().map(of_one).chain(over_seeds.iter().map(of_seeds));
            for (trace, files) in all {
                write_figures(&make(folder, are_several.then_some(&trace))?, &files)?;
            }
            #[cfg(not(feature = "pdf"))]
            output::note("--figures: no PDF is written, because this build lacks the feature pdf");
        }
        if let Some(file) = &self.report {
            let page = results_page(results);
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        Ok(())
    }
}

fn write_figures(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    for (name, content) in files {
        let file = folder.join(name);
        output::write(&file, |out| out.write_all(content.as_bytes()))?;
        #[cfg(feature = "pdf")]
        if file.extension().is_some_and(|extension| extension == "svg") {
            pdf::write_beside(&file, content)?;
        }
    }
    Ok(())
}

/// The outputs of comparisons that are made.
#[derive(Debug, Args)]
pub struct Outputs {
    #[command(flatten)]
    pub shown: Shown,
    /// Keep the results in a file, which covey report shows again
    #[arg(long, value_name = "FILE.json")]
    results: Option<PathBuf>,
    /// Write a CSV file for each row of the table into this directory, with a line for each coflow
    #[arg(long, value_name = "DIR")]
    per_coflow: Option<PathBuf>,
    /// Add job completion times, as if each coflow were the shuffle of a job that computes, too
    /// (Philae 9.2). SEED draws the jobs' shares of time in shuffle under the baseline from the
    /// published classes
    #[arg(long, value_name = "SEED")]
    jct_shares: Option<u64>,
}

impl Outputs {
    /// Checks before long work that all files can be written. Tables have these `labels`.
    pub fn check(&self, labels: &[&str]) -> Result<(), Failure> {
        self.check_tables(labels)?;
        if let Some(file) = &self.results {
            output::check_format("--results", file, output::RESULTS)?;
        }
        self.shown.check()
    }

    fn check_tables(&self, labels: &[&str]) -> Result<(), Failure> {
        let Some(folder) = self.per_coflow.as_deref() else { return Ok(()) };
        if !folder.is_dir() && folder.extension().is_some_and(|it| it.eq_ignore_ascii_case("csv")) {
            let expected = "a folder, where each policy gets a CSV file";
            let found = format!("'{}'", folder.display());
            return Err(Failure::argument("--per-coflow", expected, found));
        }
        if folder.is_dir() {
            labels.iter().try_for_each(|label| output::check(&folder.join(file_name(label))))
        } else if folder.exists() {
            let error = io::Error::from(ErrorKind::NotADirectory);
            Err(Failure::Input(output::message(folder, &error)))
        } else {
            output::check(folder)
        }
    }

    /// Adds job completion times if requested.
    pub fn complete(&self, comparison: Comparison) -> Result<Comparison, Failure> {
        let has_jobs = comparison.summaries()[comparison.baseline()].jobs.is_some();
        match self.jct_shares {
            Some(_) if has_jobs => {
                let expected = "a trace of coflows without jobs";
                Err(Failure::argument("--jct-shares", expected, "one with jobs"))
            }
            Some(seed) => Ok(comparison.with_jct_shares(seed)),
            None => Ok(comparison),
        }
    }

    /// Writes a table of coflows for each run. Those of several traces are in a folder for each.
    pub fn write_tables(&self, runs: &[Run<'_>], are_several: bool) -> Result<(), Failure> {
        let (Some(folder), Some(first)) = (&self.per_coflow, runs.first()) else { return Ok(()) };
        let folder = make(folder, are_several.then_some(&first.info().trace))?;
        runs.iter().try_for_each(|run| {
            let file = folder.join(file_name(&run.info().label));
            output::write(&file, |out| write_per_coflow_csv(run, out))
        })
    }

    /// Writes page, figures, and the file of results.
    pub fn write(&self, results: &Results) -> Result<(), Failure> {
        self.shown.write(results)?;
        let Some(file) = &self.results else { return Ok(()) };
        output::write(file, |out| results.write(out))
    }
}

/// Prints the tables of all results, or the results as JSON.
pub fn print(results: &Results, json: bool) -> Result<(), Failure> {
    output::print(|out| if json { write_json(results, out) } else { write!(out, "{results}") })
}

/// The name of a CSV file for a label.
fn file_name(label: &str) -> String {
    format!("{}.csv", plain(label))
}

/// A text as a name that is valid on every system.
fn plain(text: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || "=.-+".contains(c) { c } else { '_' };
    text.chars().map(keep).collect()
}

/// Makes a folder, and in it one for a trace if one is named, unless they exist. Gives the last.
fn make(folder: &Path, trace: Option<&String>) -> Result<PathBuf, Failure> {
    let mut made = folder.to_owned();
    make_one(&made)?;
    if let Some(trace) = trace {
        made.push(plain(trace));
        make_one(&made)?;
    }
    Ok(made)
}

fn make_one(folder: &Path) -> Result<(), Failure> {
    match fs::create_dir(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::Other(output::message(folder, &e)))
        }
        _ => Ok(()),
    }
}
