//! The files of this checkout that the chart is made of.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The root of the checkout.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

/// The folder of the chart.
pub fn chart() -> PathBuf {
    root().join("charts/berth")
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::file("read", path))
}

/// The YAML files of a folder, in the order of their names.
pub fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    found.sort();
    Ok(found)
}

/// The name of a file without its extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
