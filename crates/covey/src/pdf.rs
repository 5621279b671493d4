//! Figures as PDF, in letters of DejaVu Sans, which the program has: so a machine without fonts
//! writes the same.

use std::fmt::Display;
use std::path::Path;

use svg2pdf::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use crate::failure::Failure;
use crate::output;

/// The family that figures call `sans-serif`.
const FONT: &str = "DejaVu Sans";

/// Dots per inch of the units that CSS calls pixels, so that millimetres stay millimetres.
const DPI: f32 = 96.0;

/// Writes the PDF of an SVG file beside it. `drawing` is the text of the SVG.
pub fn write_beside(svg: &Path, drawing: &str) -> Result<(), Failure> {
    let file = svg.with_extension("pdf");
    let fail = |error: &dyn Display| Failure::Input(output::message(&file, error));
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FONT);
    let tree = Tree::from_str(drawing, &options).map_err(|error| fail(&error))?;
    let pdf = svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions { dpi: DPI });
    let pdf = pdf.map_err(|error| fail(&error))?;
    output::write(&file, |out| out.write_all(&pdf))
}
