//! The objects are what Kubernetes takes, and the configuration and flags are what `berth` takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rendering::{Rendering, title};
use crate::schemas::Schemas;
use crate::{Error, Tools, program};

/// Kinds whose schema is not part of Kubernetes.
const UNKNOWN: &str = "ServiceMonitor";

/// Asks kubeconform about all renderings.
pub fn of_objects(tools: &Tools, renderings: &[Rendering]) -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir().map_err(Error::file("write", &std::env::temp_dir()))?;
    Schemas::read()?.write(folder.path())?;
    let location = folder.path().join("{{ .ResourceKind }}{{ .KindSuffix }}.json");
    let mut kubeconform = tools.command("kubeconform");
    kubeconform.args(["-strict", "-summary", "-skip", UNKNOWN, "-schema-location"]).arg(location);
    for rendering in renderings {
        let path = folder.path().join(format!("{}-{}.yaml", rendering.set, rendering.place.release));
        fs::write(&path, &rendering.text).map_err(Error::file("write", &path))?;
        kubeconform.arg(path);
    }
    let ended = program::output(&mut kubeconform)?;
    let printed = String::from_utf8_lossy(&ended.stdout);
    let (summary, problems): (Vec<_>, Vec<_>) = printed.lines().partition(|line| line.starts_with("Summary"));
    println!("kubeconform: {}", summary.join(" "));
    let has_failed = !ended.status.success();
    Ok(problems.into_iter().filter(|_| has_failed).map(|line| format!("kubeconform: {line}")).collect())
}

/// Asks `berth config check` about the configuration, and `--help` about the flags.
pub fn of_configuration(berth: &Path, rendering: &Rendering) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for object in rendering.of_kind("ConfigMap") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().trim_end_matches("-config");
        let secret = rendering.of_kind("Secret").find(|one| one["metadata"]["name"] == format!("{name}-secrets"));
        let secret = secret.map(|secret| &secret["stringData"]["secrets.json"]);
        let (config, secrets) = (written(&object["data"]["conf.json"])?, written(secret.unwrap_or(&Value::Null))?);
        let mut check = Command::new(berth);
        check.args(["config", "check", "--strict-config"]).arg(config.path()).arg("--secrets").arg(secrets.path());
        if let Err(error) = program::text(&mut check) {
            found.push(rendering.problem(&format!("{}: {error}", title(object))));
        }
    }
    for object in rendering.of_kind("Deployment") {
        found.extend(unknown_flags(berth, object)?.iter().map(|text| rendering.problem(text)));
    }
    Ok(found)
}

/// A file with this text.
pub fn written(text: &Value) -> Result<tempfile::NamedTempFile, Error> {
    let file = tempfile::NamedTempFile::new().map_err(Error::file("write", &std::env::temp_dir()))?;
    fs::write(&file, text.as_str().unwrap_or_default()).map_err(Error::file("write", file.path()))?;
    Ok(file)
}

fn unknown_flags(berth: &Path, deployment: &Value) -> Result<Vec<String>, Error> {
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
    let mut arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    let command = arguments.next().unwrap_or_default();
    let help = program::text(Command::new(berth).args([command, "--help"]))?;
    let words = help.split(|letter: char| letter.is_whitespace() || "=[,".contains(letter));
    let known: BTreeSet<_> = words.filter(|word| word.starts_with("--")).collect();
    let flags = arguments.filter_map(|argument| argument.split('=').next());
    let unknown = flags.filter(|flag| !known.contains(flag));
    Ok(unknown.map(|flag| format!("{}: berth {command} has no flag {flag}", title(deployment))).collect())
}
