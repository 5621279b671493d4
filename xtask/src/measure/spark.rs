//! Measurements with Spark. Scripts in examples/spark run the applications.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use clap::Args;

use crate::Result;
use crate::program::{Covey, run, target, top};

/// Measure what the codecs of Spark write
#[derive(Args)]
pub struct Codecs {}

impl Codecs {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let jars = target()?.join("spark-jars");
        let mut maven = Command::new("mvn");
        maven.args(["--batch-mode", "--quiet", "--file", "jvm/pom.xml"]);
        maven.args(["dependency:build-classpath", "-Dstyle.color=never"]);
        maven.arg(format!("-Dmdep.outputFile={}", jars.display()));
        run(maven.current_dir(top()))?;
        let mut java = Command::new("java");
        java.arg("--add-opens=java.base/java.nio=ALL-UNNAMED");
        java.arg("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");
        java.arg("scripts/spark/Codecs.java").env("CLASSPATH", fs::read_to_string(&jars)?);
        run(java.current_dir(top()))
    }
}

/// Measure applications like HiBench's with and without Swallow
#[derive(Args)]
pub struct Swallow {}

impl Swallow {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let (covey, file) = (Covey::find()?, target()?.join("spark-swallow.json"));
        script(&covey, "swallow.py", ["--output".as_ref(), file.as_os_str()])?;
        let reproduce = ["reproduce", "swallow", "--spark"].map(OsStr::new);
        run(&mut covey.command(reproduce.into_iter().chain([file.as_os_str()])))
    }
}

/// Measure how well coflows of Spark are found
#[derive(Args)]
pub struct Labels {}

impl Labels {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let file = target()?.join("spark-labelled.csv");
        script(&Covey::find()?, "labels.py", ["--output".as_ref(), file.as_os_str()])
    }
}

/// Measure what the modes of the plug-in cost
#[derive(Args)]
pub struct Overhead {}

impl Overhead {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        script(&Covey::find()?, "demo.py", ["--overhead", "--scale", "0.1", "--pairs", "20"])
    }
}

/// Runs a script of examples/spark.
fn script<S: AsRef<OsStr>>(
    covey: &Covey,
    name: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Result {
    let mut command = Command::new(top().join("examples/spark").join(name));
    run(command.arg(&covey.path).args(arguments).current_dir(top()))
}
