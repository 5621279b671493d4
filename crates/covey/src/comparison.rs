//! The outputs of a comparison, for `covey compare` and `covey testbed`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use covey_report::{
    Comparison, FigureStyle, Study, figure_files, html_page, study_page, write_per_coflow_csv,
};

use crate::failure::Failure;
use crate::invocation;
use crate::output;

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

/// The outputs of a comparison.
#[derive(Debug, Args)]
pub struct Outputs {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Write a page with table and plots that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write every figure as SVG and CSV, and the table for LaTeX and Markdown, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// For what figures are made: their width and the size of their letters
    #[arg(long, value_enum, ignore_case = true, requires = "figures", default_value_t = Style::Column)]
    style: Style,
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
    /// Checks before long work that all files can be written; returns the CSV files, one for each
    /// of `labels`.
    pub fn check(&self, labels: &[&str]) -> Result<Tables, Failure> {
        let tables = Tables::in_folder(self.per_coflow.as_deref(), labels)?;
        if let Some(file) = &self.report {
            output::check_format("--report", file, output::PAGE)?;
        }
        if let Some(folder) = self.figures.as_deref().filter(|folder| !folder.is_dir()) {
            output::check(folder)?;
        }
        Ok(tables)
    }

    /// Writes the page of a study.
    pub fn write_study(&self, study: &Study) -> Result<(), Failure> {
        if let Some(file) = &self.report {
            let page = study_page(study, &invocation::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        Ok(())
    }

    /// Writes all files; returns the comparison, with job completion times if requested.
    pub fn write<'a>(
        &self,
        comparison: Comparison<'a>,
        tables: &Tables,
    ) -> Result<Comparison<'a>, Failure> {
        let comparison = match self.jct_shares {
            Some(_) if comparison.summaries()[comparison.baseline()].jobs.is_some() => {
                let expected = "a trace of coflows without jobs";
                return Err(Failure::argument("--jct-shares", expected, "one with jobs"));
            }
            Some(seed) => comparison.with_jct_shares(seed),
            None => comparison,
        };
        tables.write(&comparison)?;
        if let Some(folder) = &self.figures {
            let style = match self.style {
                Style::Column => FigureStyle::Column,
                Style::Page => FigureStyle::Page,
                Style::Talk => FigureStyle::Talk,
            };
            make(folder)?;
            for (name, content) in figure_files(&comparison, style) {
                output::write(&folder.join(name), |out| out.write_all(content.as_bytes()))?;
            }
        }
        if let Some(file) = &self.report {
            let page = html_page(&comparison, &invocation::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        Ok(comparison)
    }
}

/// The CSV files of a comparison, each with a line for each coflow; none if no folder was given.
pub struct Tables(Option<(PathBuf, Vec<PathBuf>)>);

impl Tables {
    /// The file of each label in a folder, after a check that it can be written.
    fn in_folder(folder: Option<&Path>, labels: &[&str]) -> Result<Tables, Failure> {
        let Some(folder) = folder else { return Ok(Tables(None)) };
        if !folder.is_dir() && folder.extension().is_some_and(|it| it.eq_ignore_ascii_case("csv")) {
            let expected = "a folder, where each policy gets a CSV file";
            let found = format!("'{}'", folder.display());
            return Err(Failure::argument("--per-coflow", expected, found));
        }
        let files: Vec<PathBuf> = labels.iter().map(|it| folder.join(file_name(it))).collect();
        if folder.is_dir() {
            files.iter().try_for_each(|file| output::check(file))?;
        } else if folder.exists() {
            let error = ErrorKind::NotADirectory.into();
            return Err(Failure::Input(output::message(folder, &error)));
        } else {
            output::check(folder)?;
        }
        Ok(Tables(Some((folder.to_owned(), files))))
    }

    /// Writes them.
    fn write(&self, comparison: &Comparison<'_>) -> Result<(), Failure> {
        let Some((folder, files)) = &self.0 else { return Ok(()) };
        make(folder)?;
        comparison
            .runs()
            .iter()
            .zip(files)
            .try_for_each(|(run, file)| output::write(file, |out| write_per_coflow_csv(run, out)))
    }
}

/// A file name that is valid on every system, for a label.
fn file_name(label: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || "=.-+".contains(c) { c } else { '_' };
    format!("{}.csv", label.chars().map(keep).collect::<String>())
}

/// Makes a folder unless it exists.
fn make(folder: &Path) -> Result<(), Failure> {
    match fs::create_dir(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::Other(output::message(folder, &e)))
        }
        _ => Ok(()),
    }
}
