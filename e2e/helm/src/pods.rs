//! What every pod of the chart must be: as in the level `restricted` of Kubernetes, and more.

use serde_json::Value;

use crate::rendering::{Rendering, title};

/// What a pod or its container must have: a JSON pointer and the value, if not any.
const POD: [(&str, Option<&str>); 5] = [
    ("/enableServiceLinks", Some("false")),
    ("/automountServiceAccountToken", None),
    ("/securityContext/runAsNonRoot", Some("true")),
    ("/securityContext/runAsUser", Some("65532")),
    ("/securityContext/seccompProfile/type", Some("\"RuntimeDefault\"")),
];
const CONTAINER: [(&str, Option<&str>); 5] = [
    ("/securityContext/allowPrivilegeEscalation", Some("false")),
    ("/securityContext/readOnlyRootFilesystem", Some("true")),
    ("/securityContext/capabilities", Some(r#"{"drop":["ALL"]}"#)),
    ("/resources/requests/memory", None),
    ("/resources/limits/memory", None),
];
/// What a container of a process that runs has besides.
const SERVER: [(&str, Option<&str>); 3] =
    [("/livenessProbe/httpGet", None), ("/readinessProbe/httpGet", None), ("/lifecycle/preStop/sleep", None)];
/// Volumes that need no privileges and that the node does not share.
const VOLUMES: [&str; 4] = ["configMap", "secret", "persistentVolumeClaim", "emptyDir"];

/// The problems of all pods of a rendering.
pub fn problems(rendering: &Rendering) -> Vec<String> {
    let mut all = Vec::new();
    for object in &rendering.documents {
        let (spec, is_server) = match object["kind"].as_str() {
            Some("Deployment") => (&object["spec"]["template"]["spec"], true),
            Some("Pod") => (&object["spec"], false),
            _ => continue,
        };
        let found = of_pod(spec, is_server);
        all.extend(found.iter().map(|problem| rendering.problem(&format!("{}: {problem}", title(object)))));
    }
    all
}

fn of_pod(spec: &Value, is_server: bool) -> Vec<String> {
    let mut found = compare(spec, &POD);
    for container in spec["containers"].as_array().into_iter().flatten() {
        found.extend(compare(container, &CONTAINER));
        if is_server {
            found.extend(compare(container, &SERVER));
            found.extend(missing_variables(container));
        }
    }
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        if !VOLUMES.iter().any(|kind| volume.get(kind).is_some()) {
            found.push(format!("the volume {} is of a kind that pods need not have", volume["name"]));
        }
    }
    found
}

fn compare(value: &Value, wanted: &[(&str, Option<&str>)]) -> Vec<String> {
    let differs = |(pointer, wanted): &&(&str, Option<&str>)| {
        let found = value.pointer(pointer).map(Value::to_string);
        found.is_none() || wanted.is_some_and(|wanted| found.as_deref() != Some(wanted))
    };
    let wrong = wanted.iter().filter(differs);
    wrong.map(|(pointer, wanted)| format!("{pointer} is not {}", wanted.unwrap_or("set"))).collect()
}

fn missing_variables(container: &Value) -> Vec<String> {
    let set: Vec<_> = container["env"].as_array().into_iter().flatten().map(|one| &one["name"]).collect();
    let missing = ["POD_IP", "POD_NAMESPACE"].into_iter().filter(|name| !set.iter().any(|set| *set == name));
    missing.map(|name| format!("{name} is not set")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "enableServiceLinks": false,
            "automountServiceAccountToken": false,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": { "drop": ["ALL"] },
                },
                "resources": { "requests": { "memory": "1Mi" }, "limits": { "memory": "1Mi" } },
            }],
            "volumes": [{ "name": "data", "emptyDir": {} }],
        })
    }

    #[test]
    fn each_loosened_field_is_a_problem() {
        assert_eq!(of_pod(&pod(), false), [] as [String; 0]);
        for (pointer, value) in [
            ("/enableServiceLinks", json!(true)),
            ("/securityContext/runAsNonRoot", json!(false)),
            ("/securityContext/seccompProfile/type", json!("Unconfined")),
            ("/containers/0/securityContext/allowPrivilegeEscalation", json!(true)),
            ("/containers/0/securityContext/readOnlyRootFilesystem", json!(false)),
            ("/containers/0/securityContext/capabilities", json!({ "drop": ["ALL"], "add": ["NET_ADMIN"] })),
            ("/volumes/0", json!({ "name": "data", "hostPath": { "path": "/" } })),
        ] {
            let mut loosened = pod();
            *loosened.pointer_mut(pointer).unwrap() = value;
            assert_eq!(of_pod(&loosened, false).len(), 1, "{pointer}");
        }
        assert_eq!(of_pod(&pod(), true).len(), 5);
    }
}
