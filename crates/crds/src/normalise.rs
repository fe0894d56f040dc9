//! Turns the schema that `schemars` generates into the one that the CRDs have.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};

/// Fields that have a default and are required nevertheless: `serde` calls a field with a default optional.
const REQUIRED_WITH_DEFAULT: &[(&str, &str, &[&str])] = &[
    ("Knowledge", "spec", &["recency"]),
    ("Datasource", "spec.openstack", &["syncInterval"]),
    ("Datasource", "spec.prometheus", &["timeRange", "interval", "resolution"]),
    (
        "Hypervisor",
        "spec",
        &[
            "reboot",
            "evacuateOnReboot",
            "lifecycleEnabled",
            "skipTests",
            "customTraits",
            "aggregates",
            "allowedProjects",
            "highAvailability",
            "createCertManagerCertificate",
            "installCertificate",
        ],
    ),
    ("Hypervisor", "status", &["numInstances"]),
    ("Hypervisor", "status.updateStatus", &["inProgress", "retry"]),
];

/// Fields that are read as empty when they are absent, but that the API server does not fill in.
const NO_DEFAULT: &[(&str, &str)] = &[("Reservation", "spec.inFlightReservation.intent")];

/// Kinds whose objects may lack a spec.
const SPEC_OPTIONAL: &[&str] = &["Hypervisor"];

/// Normalises the schema of `kind`.
pub(crate) fn normalise(kind: &str, root: &mut JSONSchemaProps) {
    clean(root);
    for (_, path, fields) in REQUIRED_WITH_DEFAULT.iter().filter(|(of, ..)| *of == kind) {
        at(root, path, |object| require(object, fields));
    }
    for (_, path) in NO_DEFAULT.iter().filter(|(of, _)| *of == kind) {
        at(root, path, |field| field.default = None);
    }
    if SPEC_OPTIONAL.contains(&kind) {
        root.required = None;
    }
}

/// Changes the schema at a path of property names; `*` stands for the values of a map, `[]` for the elements of a
/// list. A path that leads nowhere changes nothing; a test makes sure that there is none.
pub(crate) fn at(schema: &mut JSONSchemaProps, path: &str, change: impl FnOnce(&mut JSONSchemaProps)) {
    let found = path.split('.').filter(|step| !step.is_empty()).try_fold(schema, below);
    if let Some(schema) = found {
        change(schema);
    }
}

fn below<'a>(schema: &'a mut JSONSchemaProps, step: &str) -> Option<&'a mut JSONSchemaProps> {
    match step {
        "*" => values(schema),
        "[]" => elements(schema),
        property => schema.properties.as_mut()?.get_mut(property),
    }
}

/// The schema of the values of a map.
pub(crate) fn values(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match schema.additional_properties.as_mut()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

/// The schema of the elements of a list.
pub(crate) fn elements(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match schema.items.as_mut()? {
        JSONSchemaPropsOrArray::Schema(elements) => Some(elements),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn require(object: &mut JSONSchemaProps, fields: &[&str]) {
    let required = object.required.get_or_insert_default();
    required.extend(fields.iter().map(|field| (*field).to_owned()));
    required.sort();
}

/// Removes what Kubernetes does not know, or what the tables do not say, from a schema and everything below it.
fn clean(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    schema.format = schema.format.take().filter(|format| !matches!(format.as_str(), "int32" | "double"));
    schema.description = schema.description.take().map(|text| shorten_for_users(&text));
    if schema.x_kubernetes_int_or_string == Some(true) {
        schema.any_of = Some(vec![schema_of_type("integer"), schema_of_type("string")]);
    }
    schema.properties.iter_mut().flatten().for_each(|(_, property)| clean(property));
    values(schema).into_iter().for_each(clean);
    elements(schema).into_iter().for_each(clean);
}

/// `kube` takes the types of the alternatives away, but without them an API server takes everything.
fn schema_of_type(name: &str) -> JSONSchemaProps {
    JSONSchemaProps { type_: Some(name.to_owned()), ..JSONSchemaProps::default() }
}

/// A doc comment as `kubectl explain` shows it: neither wrapped nor marked up.
fn shorten_for_users(text: &str) -> String {
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The one version of a CRD.
pub(crate) fn version(crd: &mut CustomResourceDefinition) -> Option<&mut CustomResourceDefinitionVersion> {
    crd.spec.versions.first_mut()
}

/// The schema of a whole object.
pub(crate) fn root(crd: &mut CustomResourceDefinition) -> Option<&mut JSONSchemaProps> {
    version(crd)?.schema.as_mut()?.open_api_v3_schema.as_mut()
}

#[cfg(test)]
mod tests {
    use super::shorten_for_users;

    #[test]
    fn explanations_have_no_line_breaks_and_no_mark_up() {
        assert_eq!(shorten_for_users("Size (a quantity).\nWritten `once`."), "Size (a quantity). Written once.");
    }
}
