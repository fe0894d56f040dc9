//! Checks the chart: generated files, lint, schema, and all sets of values under two names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::rendering::{DOCUMENTED, ELSEWHERE, Rendering, sets, title};
use crate::{
    Error, Tools, checkout, conformance, generated, network, pods, program, refused, released, rights, values,
};

/// The longest name of a Service or of a label.
const LONGEST: usize = 63;

/// Runs all checks. Without the program `berth`, those that need it are left out.
pub fn run(tools: &Tools, berth: Option<&Path>) -> Result<(), Error> {
    let mut problems = generated::differences(tools, berth)?;
    problems.extend(values::problems()?);
    problems.extend(version()?);
    problems.extend(refused::problems(tools)?);
    problems.extend(released::problems(tools)?);
    problems.extend(lint(tools)?);
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    let renderings = render_all(tools)?;
    for rendering in &renderings {
        problems.extend(of_rendering(rendering, berth)?);
    }
    if let Some(berth) = berth {
        problems.extend(network::problems(tools, berth)?);
    }
    problems.extend(conformance::of_objects(tools, &renderings)?);
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    let objects: usize = renderings.iter().map(|rendering| rendering.documents.len()).sum();
    println!("{} renderings with {objects} objects are fine", renderings.len());
    if berth.is_none() {
        println!(
            "not compared without --berth: rules, configuration, flags, network policies, and the definitions of others"
        );
    }
    Ok(())
}

/// The chart installs the program of this checkout.
fn version() -> Result<Option<String>, Error> {
    let line = format!("appVersion: {}", env!("CARGO_PKG_VERSION"));
    let chart = checkout::read(&checkout::chart().join("Chart.yaml"))?;
    let is_same = chart.lines().any(|one| one == line);
    Ok((!is_same).then(|| format!("Chart.yaml does not have the version of the workspace; write {line}")))
}

fn lint(tools: &Tools) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for set in sets()? {
        let mut helm = tools.command("helm");
        helm.args(["lint", "--strict", "--quiet", "--values"]).arg(set).arg(checkout::chart());
        found.extend(program::text(&mut helm).err().map(|error| error.to_string()));
    }
    Ok(found)
}

fn render_all(tools: &Tools) -> Result<Vec<Rendering>, Error> {
    let mut all = Vec::new();
    for set in sets()? {
        for place in [DOCUMENTED, ELSEWHERE] {
            all.push(Rendering::of(tools, &set, place)?);
        }
    }
    Ok(all)
}

fn of_rendering(rendering: &Rendering, berth: Option<&Path>) -> Result<Vec<String>, Error> {
    let mut problems = pods::problems(rendering);
    problems.extend(rights::excesses(rendering));
    problems.extend(names(rendering));
    if let Some(berth) = berth {
        problems.extend(conformance::of_configuration(berth, rendering)?);
    }
    Ok(problems)
}

/// Names are unique and not too long, and nothing has the names of the documentation under other ones.
fn names(rendering: &Rendering) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for object in &rendering.documents {
        let meta = &object["metadata"];
        let title = title(object);
        let is_definition = object["kind"] == "CustomResourceDefinition";
        if meta["name"].as_str().is_none_or(|name| name.len() > LONGEST && !is_definition) {
            found.push(rendering.problem(&format!("the name of {title} is missing or too long")));
        }
        if !seen.insert(format!("{title} {}", meta["namespace"])) {
            found.push(rendering.problem(&format!("{title} is there twice")));
        }
        if meta["labels"]["app.kubernetes.io/instance"] != rendering.place.release {
            found.push(rendering.problem(&format!("{title} does not have the recommended labels")));
        }
    }
    if rendering.place.release != DOCUMENTED.release && rendering.text.contains(DOCUMENTED.namespace) {
        found.push(rendering.problem("something assumes the namespace of the documentation"));
    }
    found
}
