//! The generated CRDs equal the tables, before and after our validation rules are added.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::path::Path;

use berth_crds::{QUANTITY_PATTERN, generate};
use serde_json::{Value, json};

const KINDS: [&str; 9] = [
    "CommittedResource",
    "Reservation",
    "FlavorGroupCapacity",
    "ProjectQuota",
    "CommitmentChange",
    "Knowledge",
    "Datasource",
    "Hypervisor",
    "Pipeline",
];

fn table(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(format!("{name}.txt"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn crds() -> Vec<Value> {
    generate::without_rules().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
}

fn schema(crd: &Value) -> &Value {
    &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// The type of a schema in the notation of the tables.
fn type_of(schema: &Value) -> String {
    let kind = schema["type"].as_str().unwrap_or("none");
    match (kind, schema["format"].as_str()) {
        _ if schema["x-kubernetes-int-or-string"] == true => "quantity".to_owned(),
        _ if schema["x-kubernetes-preserve-unknown-fields"] == true => "free-form".to_owned(),
        _ if schema["x-kubernetes-map-type"] == "atomic" => "atomic".to_owned(),
        _ if schema["properties"]["lastTransitionTime"].is_object() => "condition".to_owned(),
        ("array", _) => format!("[{}]", type_of(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("map<{}>", type_of(&schema["additionalProperties"]))
        }
        ("string", Some("date-time")) => "time".to_owned(),
        ("integer", None) => "int".to_owned(),
        ("integer", Some(format)) => format.to_owned(),
        ("boolean", None) => "bool".to_owned(),
        (kind, None) => kind.to_owned(),
        (kind, Some(format)) => format!("{kind} of format {format}"),
    }
}

fn constraints(schema: &Value) -> String {
    let mut found = Vec::new();
    if let Some(values) = schema["enum"].as_array() {
        found.push(format!(" enum={}", values.iter().map(|v| v.as_str().unwrap()).collect::<Vec<_>>().join(",")));
    }
    for key in ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "default"] {
        let plain = |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |number| number.to_string());
        found.extend(schema.get(key).map(|value| format!(" {key}={}", plain(value))));
    }
    if let Some(pattern) = schema["pattern"].as_str().filter(|_| schema["x-kubernetes-int-or-string"] != true) {
        found.push(format!(" pattern={pattern}"));
    }
    if schema["x-kubernetes-list-type"] == "map" {
        found.push(format!(" list-map={}", schema["x-kubernetes-list-map-keys"][0].as_str().unwrap()));
    }
    found.concat()
}

/// Formats a schema as the lines of a table.
fn flatten(path: &str, schema: &Value, lines: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let required = if required { "R" } else { "-" };
        lines.push(format!("{path} {} {required}{}", type_of(field), constraints(field)));
        if !type_of(field).contains("condition") {
            flatten(&path, field, lines);
            flatten(&format!("{path}[]"), &field["items"], lines);
            flatten(&format!("{path}.*"), &field["additionalProperties"], lines);
        }
    }
}

fn walk<'a>(schema: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    visit(schema);
    schema["properties"].as_object().into_iter().flatten().for_each(|(_, field)| walk(field, visit));
    ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key)).for_each(|s| walk(s, visit));
}

#[test]
fn fields_are_those_of_the_tables() {
    for crd in crds() {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap();
        let (mut found, mut expected) = (Vec::new(), table(kind));
        flatten("", schema(&crd), &mut found);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{kind}");
    }
}

#[test]
fn fields_of_kinds_that_need_not_be_installed_are_those_of_the_tables() {
    for crd in generate::optional() {
        let crd = serde_json::to_value(crd).unwrap();
        let (mut found, mut expected) = (Vec::new(), table(crd["spec"]["names"]["kind"].as_str().unwrap()));
        flatten("", schema(&crd), &mut found);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn columns_are_those_of_the_tables() {
    let mut found = Vec::new();
    for crd in crds() {
        found.push(crd["spec"]["names"]["kind"].as_str().unwrap().to_owned());
        for column in crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap() {
            let [name, type_, path] = ["name", "type", "jsonPath"].map(|key| column[key].as_str().unwrap());
            found.push(format!("{name} {type_} {path} {}", column["priority"].as_i64().unwrap_or(0)));
        }
    }
    assert_eq!(found, table("columns"));
}

#[test]
fn names_and_versions_are_as_documented() {
    let found: Vec<_> = crds().iter().map(|crd| crd["spec"]["names"]["kind"].clone()).collect();
    assert_eq!(found, KINDS);
    for crd in crds() {
        let spec = &crd["spec"];
        let (kind, group, plural) = (&spec["names"]["kind"], &spec["group"], &spec["names"]["plural"]);
        let plain = |value: &Value| value.as_str().unwrap().to_owned();
        let hypervisor = kind == "Hypervisor";
        assert_eq!(*group, if hypervisor { "kvm.cloud.sap" } else { "cortex.cloud" });
        assert_eq!(crd["metadata"]["name"], format!("{}.{}", plain(plural), plain(group)));
        assert_eq!(spec["names"]["listKind"], format!("{}List", plain(kind)));
        assert_eq!(spec["names"]["singular"], plain(kind).to_lowercase());
        let short_names = [("Hypervisor", json!(["hv"])), ("CommitmentChange", json!(["cchg"]))];
        let short = short_names.into_iter().find_map(|(of, names)| (kind == of).then_some(names));
        assert_eq!(spec["names"].get("shortNames").cloned(), short, "{kind}");
        assert!(spec["scope"] == "Cluster" && spec["conversion"].is_null() && spec["names"]["categories"].is_null());
        let [version] = spec["versions"].as_array().unwrap().as_slice() else { panic!("{kind} has one version") };
        assert_eq!(version["name"], if hypervisor { "v1" } else { "v1alpha1" });
        assert!(version["served"] == true && version["storage"] == true);
        assert_eq!(version["subresources"], json!({ "status": {} }));
    }
    let plurals: Vec<_> = crds().iter().map(|crd| crd["spec"]["names"]["plural"].clone()).collect();
    let expected = "committedresources reservations flavorgroupcapacities projectquotas commitmentchanges \
                    knowledges datasources hypervisors pipelines";
    assert_eq!(plurals, expected.split(' ').collect::<Vec<_>>());
}

#[test]
fn no_schema_has_what_the_reference_does_not_use() {
    for crd in crds() {
        walk(schema(&crd), &mut |schema| {
            assert!(schema.get("nullable").is_none() && schema.get("title").is_none(), "{schema}");
            let format = schema["format"].as_str().unwrap_or("int64");
            assert!(["int64", "date-time"].contains(&format), "{schema}");
            if type_of(schema) == "quantity" {
                assert_eq!(schema["anyOf"], json!([{ "type": "integer" }, { "type": "string" }]));
                assert!(schema["pattern"] == QUANTITY_PATTERN && schema.get("type").is_none(), "{schema}");
            }
        });
    }
}

#[test]
fn conditions_have_the_constraints_of_kubernetes() {
    for crd in crds() {
        let condition = &schema(&crd)["properties"]["status"]["properties"]["conditions"]["items"];
        let mut found = Vec::new();
        flatten("", condition, &mut found);
        assert_eq!(
            found,
            [
                "lastTransitionTime time R",
                "message string R maxLength=32768",
                "observedGeneration int64 - minimum=0",
                "reason string R minLength=1 maxLength=1024 pattern=^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                "status string R enum=True,False,Unknown",
                "type string R maxLength=316 pattern=^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?\
                 (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            ]
        );
    }
}

#[test]
fn the_accepted_spec_is_not_checked() {
    let crd = serde_json::to_value(&generate::all()[0]).unwrap();
    let accepted = &schema(&crd)["properties"]["status"]["properties"]["acceptedSpec"];
    let plain = &crds()[0];
    assert_eq!(accepted, &schema(plain)["properties"]["status"]["properties"]["acceptedSpec"]);
    walk(accepted, &mut |schema| assert!(schema.get("x-kubernetes-validations").is_none(), "{schema}"));
}

#[test]
fn rules_at_the_root_act_on_creation_only() {
    for crd in generate::all() {
        let crd = serde_json::to_value(crd).unwrap();
        for rule in schema(&crd)["x-kubernetes-validations"].as_array().into_iter().flatten() {
            assert!(rule["rule"].as_str().unwrap().starts_with("oldSelf.hasValue() || "), "{rule}");
            assert_eq!(rule["optionalOldSelf"], true);
        }
    }
}

#[test]
fn every_rule_reports_what_is_wrong() {
    for crd in generate::all() {
        let crd = serde_json::to_value(crd).unwrap();
        walk(schema(&crd), &mut |schema| {
            for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                assert!(rule["message"].as_str().is_some_and(|text| text.len() > 10), "{rule}");
            }
        });
    }
}

#[test]
fn kinds_of_others_are_not_changed() {
    let (ours, plain) = (generate::all(), generate::without_rules());
    for (ours, plain) in ours.iter().zip(&plain) {
        let owned = ["CommittedResource", "Reservation", "FlavorGroupCapacity", "ProjectQuota", "CommitmentChange"];
        assert_eq!(ours == plain, !owned.contains(&plain.spec.names.kind.as_str()), "{}", plain.spec.names.kind);
    }
}

#[test]
fn reservations_can_be_selected_by_type_and_host() {
    let crd = serde_json::to_value(&generate::all()[1]).unwrap();
    let fields = &crd["spec"]["versions"][0]["selectableFields"];
    assert_eq!(*fields, json!([{ "jsonPath": ".spec.type" }, { "jsonPath": ".spec.targetHost" }]));
}
