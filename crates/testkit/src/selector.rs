//! Selectors of lists and watches: equality of labels and of the selectable fields of a kind.

use serde_json::Value;

use crate::kinds::KindInfo;
use crate::meta;
use crate::refusal::Refusal;
use crate::request::Query;

#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    namespace: String,
    labels: Vec<Label>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
enum Label {
    Is(String, String),
    IsNot(String, String),
    Exists(String),
    Missing(String),
}

#[derive(Clone, Debug)]
struct Field {
    steps: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    pub(crate) fn new(kind: &KindInfo, namespace: &str, query: &Query) -> Result<Self, Refusal> {
        let parts = |text: &str| text.split(',').map(str::to_owned).filter(|part| !part.is_empty()).collect::<Vec<_>>();
        Ok(Self {
            namespace: namespace.to_owned(),
            labels: parts(&query.labels).iter().map(|part| label(part)).collect::<Result<_, _>>()?,
            fields: parts(&query.fields).iter().map(|part| field(kind, part)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether it selects all objects of a namespace or of all namespaces.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn takes(&self, object: &Value) -> bool {
        (self.namespace.is_empty() || meta::text(object, "namespace") == Some(&self.namespace))
            && self.labels.iter().all(|label| label.takes(object))
            && self.fields.iter().all(|field| field.takes(object))
    }
}

impl Label {
    fn takes(&self, object: &Value) -> bool {
        let get = |key: &str| object["metadata"]["labels"].get(key).and_then(Value::as_str);
        match self {
            Self::Is(key, value) => get(key) == Some(value),
            Self::IsNot(key, value) => get(key) != Some(value),
            Self::Exists(key) => get(key).is_some(),
            Self::Missing(key) => get(key).is_none(),
        }
    }
}

impl Field {
    fn takes(&self, object: &Value) -> bool {
        let found = self.steps.iter().try_fold(object, |value, step| value.get(step));
        let is = found.and_then(Value::as_str).unwrap_or_default();
        (is == self.value) == self.equal
    }
}

fn label(text: &str) -> Result<Label, Refusal> {
    let pair = |key: &str, value: &str| (key.trim().to_owned(), value.trim().to_owned());
    if let Some((key, value)) = text.split_once("!=") {
        let (key, value) = pair(key, value);
        return Ok(Label::IsNot(key, value));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        let (key, value) = pair(key, value);
        return Ok(Label::Is(key, value));
    }
    if text.contains([' ', '(', '<', '>']) {
        return Err(Refusal::not_here(&format!("the label selector {text:?}")));
    }
    Ok(match text.strip_prefix('!') {
        Some(key) => Label::Missing(key.to_owned()),
        None => Label::Exists(text.to_owned()),
    })
}

fn field(kind: &KindInfo, text: &str) -> Result<Field, Refusal> {
    let unequal = text.split_once("!=").map(|(key, value)| (key, value, false));
    let equal = || text.split_once("==").or_else(|| text.split_once('=')).map(|(key, value)| (key, value, true));
    let Some((key, value, equal)) = unequal.or_else(equal) else {
        return Err(Refusal::bad_request(format!("invalid field selector: {text:?}")));
    };
    let pointer = match key {
        "metadata.name" => "/metadata/name".to_owned(),
        "metadata.namespace" if kind.namespaced || kind.custom => "/metadata/namespace".to_owned(),
        key => {
            let known = kind.selectable.iter().find(|(name, _)| name == key).map(|(_, pointer)| pointer.clone());
            known.ok_or_else(|| Refusal::bad_request(format!("field label not supported: {key}")))?
        }
    };
    let steps = pointer.split('/').skip(1).map(str::to_owned).collect();
    Ok(Field { steps, value: value.to_owned(), equal })
}
