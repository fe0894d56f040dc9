//! The files of the chart that are written from other files: rules, definitions and README.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Tools, checkout, definitions, program, rules};

/// What the files should be. Without the program `berth` the definitions of others are left out.
pub fn files(tools: &Tools, berth: Option<&Path>) -> Result<Vec<(PathBuf, String)>, Error> {
    let chart = checkout::chart();
    let mut all = vec![(chart.join("README.md"), readme(tools)?)];
    let mut templates = definitions::ours()?;
    templates.push(("_rules.tpl".to_owned(), rules::template()?));
    if let Some(berth) = berth {
        templates.extend(definitions::of_others(berth)?);
    }
    all.extend(templates.into_iter().map(|(path, text)| (chart.join("templates").join(path), text)));
    Ok(all)
}

/// From the comments of `values.yaml`.
fn readme(tools: &Tools) -> Result<String, Error> {
    let mut docs = tools.command("helm-docs");
    docs.args(["--dry-run", "--log-level", "warning", "--sort-values-order", "file", "--chart-search-root"]);
    let text = program::text(docs.arg(checkout::chart()))?;
    Ok(text.trim().to_owned() + "\n")
}

/// Writes them.
pub fn write(tools: &Tools, berth: Option<&Path>) -> Result<(), Error> {
    for (path, text) in files(tools, berth)? {
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

/// Those that are not as they should be.
pub fn differences(tools: &Tools, berth: Option<&Path>) -> Result<Vec<String>, Error> {
    let outdated =
        files(tools, berth)?.into_iter().filter(|(path, text)| checkout::read(path).ok().as_ref() != Some(text));
    Ok(outdated.map(|(path, _)| format!("{} is out of date; run make chart-files", path.display())).collect())
}
