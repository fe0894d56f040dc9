//! Pieces of schema that `schemars` does not produce in the form of the reference.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The pattern: what the reference admits for a quantity that is a string.
pub const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A quantity: an integer, or a string of the given form.
pub(crate) fn quantity() -> Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "x-kubernetes-int-or-string": true,
        "pattern": QUANTITY_PATTERN,
    })
}

/// An object whose content the API server neither knows nor prunes.
pub(crate) fn free_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// An integer without a format.
pub(crate) fn plain_integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer" })
}

/// Marks an object as one value for merges.
pub(crate) fn atomic_map(schema: &mut Schema) {
    schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
}

/// A list of conditions with the constraints of Kubernetes.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Conditions of the object.",
        "type": "array",
        "items": condition(),
    })
}

/// The same list as a map keyed by `type`: the API server refuses a second condition of one type.
pub(crate) fn condition_map(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), serde_json::json!(["type"]));
    schema
}

fn condition() -> Schema {
    json_schema!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "type": {
                "description": "What the condition is about.",
                "type": "string",
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            },
            "status": { "description": "Whether it holds.", "type": "string", "enum": ["True", "False", "Unknown"] },
            "reason": {
                "description": "Why, for programs.",
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "message": { "description": "Why, for people.", "type": "string", "maxLength": 32768 },
            "lastTransitionTime": { "description": "Since when.", "type": "string", "format": "date-time" },
            "observedGeneration": {
                "description": "The generation of the object that was reconciled.",
                "type": "integer",
                "format": "int64",
                "minimum": 0,
            },
        },
    })
}

/// A number without a format.
pub(crate) fn number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number" })
}

/// Numbers by name.
pub(crate) fn map_of_numbers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": "number" } })
}
