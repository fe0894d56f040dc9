//! `make mutants`: checks that every mutant makes its tests fail.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use berth_mutants::campaign::Campaign;
use berth_mutants::{Error, binaries, table, tree};

fn main() -> ExitCode {
    match run(&root()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            eprintln!("berth-mutants: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// True when all are caught.
fn run(root: &Path) -> Result<bool, Error> {
    let root = &root.canonicalize().map_err(Error::Document)?;
    let document = fs::read_to_string(root.join("docs/testing.md")).map_err(Error::Document)?;
    let rows = table::rows(&document)?;
    println!("building the tests with the mutants in them");
    let wanted = rows.iter().flat_map(|row| &row.tests).map(|test| &test.binary).collect();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let copy = target.join("mutants");
    tree::write(root, &copy)?;
    let built = binaries::build(&copy, &target, &wanted)?;
    let begin = Instant::now();
    let campaign = Campaign { root: &copy, rows: &rows, built: &built };
    println!("all {} tests pass without a mutant", campaign.is_sound()?);
    let caught = campaign.run(|line| println!("{line}"))?;
    println!("{} s without the build", begin.elapsed().as_secs());
    println!("caught {caught} of {}", rows.len());
    Ok(caught == rows.len())
}
