//! The files that are written from others: those of the chart (rules, definitions, README), and `config/rbac` from the chart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Tools, checkout, definitions, manifests, program, rules};

/// What the files of the chart should be. Without the program `berth` the rules and the definitions of others are left out.
fn of_chart(tools: &Tools, berth: Option<&Path>) -> Result<Vec<(PathBuf, String)>, Error> {
    let chart = checkout::chart();
    let mut all = vec![(chart.join("README.md"), readme(tools)?)];
    let mut templates = definitions::ours()?;
    if let Some(berth) = berth {
        templates.push(("_rules.tpl".to_owned(), rules::template(berth)?));
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

/// Writes them, and then `config/rbac` from the chart.
pub fn write(tools: &Tools, berth: Option<&Path>) -> Result<(), Error> {
    write_all(&of_chart(tools, berth)?)?;
    let manifests = manifests::files(tools)?;
    write_all(&manifests)?;
    for path in manifests::surplus(&manifests)? {
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    }
    Ok(())
}

fn write_all(files: &[(PathBuf, String)]) -> Result<(), Error> {
    for (path, text) in files {
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(Error::file("write", path))?;
        fs::write(path, text).map_err(Error::file("write", path))?;
    }
    Ok(())
}

/// Those that are not as they should be.
pub fn differences(tools: &Tools, berth: Option<&Path>) -> Result<Vec<String>, Error> {
    let mut files = of_chart(tools, berth)?;
    let manifests = manifests::files(tools)?;
    let surplus = manifests::surplus(&manifests)?;
    files.extend(manifests);
    let outdated = files.into_iter().filter(|(path, text)| checkout::read(path).ok().as_ref() != Some(text));
    let outdated = outdated.map(|(path, _)| format!("{} is out of date; run make chart-files", path.display()));
    let surplus = surplus.iter().map(|path| format!("{} is not written by make chart-files", path.display()));
    Ok(outdated.chain(surplus).collect())
}
