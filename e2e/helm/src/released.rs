//! Compares the CRDs of this checkout with those of the last release, which stored objects and the former binary rely on.

use std::path::Path;

use serde_json::Value;

use crate::{Error, Tools, checkout, program};

const CONFIG: &str = include_str!("crdify.yaml");
/// In the folder of the released CRDs.
const ACCEPTED: &str = "accepted.txt";

/// Why `config/crd` cannot follow the release whose CRDs are in `config/crd-released`.
pub fn problems(tools: &Tools) -> Result<Vec<String>, Error> {
    breaks(tools, &checkout::root().join("config/crd-released"), &checkout::root().join("config/crd"))
}

/// The breaks that nobody has accepted, and what was accepted and is no break any more.
pub fn breaks(tools: &Tools, released: &Path, current: &Path) -> Result<Vec<String>, Error> {
    let accepted = checkout::read(&released.join(ACCEPTED))?;
    let accepted: Vec<&str> = accepted.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut found = Vec::new();
    for old in checkout::yaml_files(released)? {
        let new = current.join(old.file_name().unwrap_or_default());
        let name = checkout::stem(&old);
        if new.exists() {
            let mut lines = of_versions(&old, &new)?;
            lines.extend(of_schemas(tools, &old, &new)?);
            found.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
        } else {
            found.push(format!("{name}: the kind is gone"));
        }
    }
    let stale = accepted.iter().filter(|line| !found.iter().any(|one| one == *line));
    let stale: Vec<_> =
        stale.map(|line| format!("{ACCEPTED}: {line:?} is not reported any more; remove the line")).collect();
    found.retain(|line| !accepted.contains(&line.as_str()));
    Ok(found.into_iter().map(|line| format!("not compatible with the last release: {line}")).chain(stale).collect())
}

/// crdify takes a version that is gone for none, and does not look at subresources.
fn of_versions(old: &Path, new: &Path) -> Result<Vec<String>, Error> {
    let [old, new] = [read(old)?, read(new)?];
    let versions = |crd: &Value| crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for version in versions(&old) {
        let name = version["name"].as_str().unwrap_or_default();
        let Some(same) = versions(&new).into_iter().find(|one| one["name"] == version["name"]) else {
            found.push(format!("the version {name} is gone"));
            continue;
        };
        if version["served"] == true && same["served"] != true {
            found.push(format!("the version {name} is not served any more"));
        }
        if version["subresources"]["status"].is_object() && !same["subresources"]["status"].is_object() {
            found.push(format!("the version {name} has no subresource status any more"));
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Value, Error> {
    let text = checkout::read(path)?;
    serde_saphyr::from_str(&text).map_err(|error| Error::Problems(vec![format!("{}: {error}", path.display())]))
}

fn of_schemas(tools: &Tools, old: &Path, new: &Path) -> Result<Vec<String>, Error> {
    let config = tempfile::NamedTempFile::new().map_err(Error::file("write", Path::new("crdify.yaml")))?;
    std::fs::write(config.path(), CONFIG).map_err(Error::file("write", config.path()))?;
    let mut crdify = tools.command("crdify");
    crdify.arg("--config").arg(config.path());
    crdify.args([old, new].map(|path| format!("file://{}", path.display())));
    let ended = program::output(&mut crdify)?;
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    let found: Vec<_> = printed.lines().filter_map(as_break).collect();
    if !ended.status.success() && found.is_empty() {
        let output = format!("{printed}{}", String::from_utf8_lossy(&ended.stderr));
        return Err(Error::Failed { command: "crdify".to_owned(), output });
    }
    Ok(found)
}

/// For example `- v1alpha1 - ^.spec.a - type - ERROR - type changed : "string" -> "integer"`.
fn as_break(line: &str) -> Option<String> {
    let (place, what) = line.trim_start_matches("- ").split_once(" - ERROR - ")?;
    Some(format!("{place}: {}", what.trim().trim_end_matches(" :")))
}
