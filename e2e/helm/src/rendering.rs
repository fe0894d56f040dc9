//! Renders the chart with sets of values.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Error, Tools, checkout, program};

/// Names that nothing may assume; those of the documentation are `berth` and `berth-system`.
pub const ELSEWHERE: Place = Place { release: "harbour", namespace: "dock" };
/// The names of the documentation.
pub const DOCUMENTED: Place = Place { release: "berth", namespace: "berth-system" };

/// Under which names the chart is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Name of the release.
    pub release: &'static str,
    /// Its namespace.
    pub namespace: &'static str,
}

/// The objects of a set of values.
pub struct Rendering {
    /// The name of the set.
    pub set: String,
    /// The name of the release and its namespace.
    pub place: Place,
    /// As helm prints it.
    pub text: String,
    /// The objects.
    pub documents: Vec<Value>,
}

impl Rendering {
    /// Renders a set of values.
    pub fn of(tools: &Tools, values: &Path, place: Place) -> Result<Self, Error> {
        Self::with(tools, values, place, &[])
    }

    /// The same with further values, in JSON.
    pub fn with(tools: &Tools, values: &Path, place: Place, further: &[&str]) -> Result<Self, Error> {
        let text = render(tools, values, place, further)?;
        let set = checkout::stem(values);
        let documents = serde_saphyr::from_multiple::<Value>(&text)
            .map_err(|source| Error::Yaml { what: set.clone(), source: Box::new(source) })?;
        let documents = documents.into_iter().filter(Value::is_object).collect();
        Ok(Self { set, place, text, documents })
    }

    /// The objects of this kind.
    pub fn of_kind<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Value> {
        self.documents.iter().filter(move |one| one["kind"] == kind)
    }

    /// A problem of this set.
    pub fn problem(&self, text: &str) -> String {
        format!("{} as {}: {text}", self.set, self.place.release)
    }
}

/// The text of a set of values; an error has what helm says.
pub fn render(tools: &Tools, values: &Path, place: Place, further: &[&str]) -> Result<String, Error> {
    let mut helm = tools.command("helm");
    helm.args(["template", place.release]).arg(checkout::chart());
    helm.args(["--namespace", place.namespace, "--kube-version", "1.36.0", "--values"]).arg(values);
    for value in further {
        helm.args(["--set-json", value]);
    }
    program::text(&mut helm)
}

/// The sets of values that the chart brings along.
pub fn sets() -> Result<Vec<PathBuf>, Error> {
    checkout::yaml_files(&checkout::chart().join("ci"))
}

/// The name of an object, with its kind.
pub fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}
