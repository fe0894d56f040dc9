//! The chart on a real API server: what it admits, and what an upgrade keeps.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeSet;

use berth_control_plane::ControlPlane;
use berth_helm::rendering::{Place, Rendering, sets};
use berth_helm::{Tools, checkout, program};
use serde_json::{Value, json};

const RESTRICTED: &str = "pod-security.kubernetes.io/enforce=restricted";
const RELEASE: &str = "harbour";
/// The Prometheus operator brings along the kind.
const SERVICE_MONITOR: &str = r#"{
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": { "name": "servicemonitors.monitoring.coreos.com" },
    "spec": {
        "group": "monitoring.coreos.com", "scope": "Namespaced",
        "names": { "kind": "ServiceMonitor", "plural": "servicemonitors" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
            "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }]
    }
}"#;

struct Scene {
    control_plane: ControlPlane,
    tools: Tools,
}

impl Scene {
    async fn start() -> Self {
        let scene = Self { control_plane: ControlPlane::start().await.unwrap(), tools: Tools::obtain().unwrap() };
        scene.kubectl(&["apply", "-f", "-"], Some(SERVICE_MONITOR)).await.unwrap();
        scene.kubectl(&["wait", "--for=condition=Established", "crd", "--all"], None).await.unwrap();
        scene
    }

    async fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> Result<String, String> {
        self.control_plane.run_kubectl(arguments, stdin).await.map_err(|error| error.to_string())
    }

    /// Creates a namespace that admits only pods without privileges.
    async fn namespace(&self, name: &str) {
        // It may exist.
        let _ = self.kubectl(&["create", "namespace", name], None).await;
        self.kubectl(&["label", "--overwrite", "namespace", name, RESTRICTED], None).await.unwrap();
    }

    fn helm(&self, arguments: &[&str]) -> Result<String, String> {
        let mut helm = self.tools.command("helm");
        helm.env("KUBECONFIG", self.control_plane.kubeconfig()).args(arguments);
        program::text(&mut helm).map_err(|error| error.to_string())
    }

    async fn read(&self, arguments: &[&str]) -> Value {
        let text = self.kubectl(&[&["get", "-o", "json"], arguments].concat(), None).await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Applies the roles of a set of values in the namespace `dock`.
    async fn apply_rights(&self, set: &str) {
        let values = checkout::chart().join("ci").join(set);
        let rendering = Rendering::of(&self.tools, &values, Place { release: RELEASE, namespace: "dock" }).unwrap();
        let is_right = |one: &&Value| one["apiVersion"] == "rbac.authorization.k8s.io/v1";
        let items: Vec<_> = rendering.documents.iter().filter(is_right).collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
        self.kubectl(&["apply", "-f", "-"], Some(&list)).await.unwrap();
    }

    /// Whether someone may do `what`, such as `get secrets/x` or `patch a.group`, in a namespace.
    async fn may(&self, who: &str, what: &str, namespace: &str) -> bool {
        let (verb, object) = what.split_once(' ').unwrap();
        let (kind, name) = object.split_once('/').unwrap_or((object, ""));
        let (resource, group) = kind.split_once('.').unwrap_or((kind, ""));
        let attributes =
            json!({ "verb": verb, "group": group, "resource": resource, "name": name, "namespace": namespace });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": who, "resourceAttributes": attributes },
        });
        let answer = self.kubectl(&["create", "-o", "json", "-f", "-"], Some(&review.to_string())).await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["status"]["allowed"] == true
    }
}

fn chart() -> String {
    checkout::chart().to_str().unwrap().to_owned()
}

/// The pods that a controller would make.
fn pods(rendering: &Rendering) -> Vec<Value> {
    let of_template = |one: &Value| {
        let template = &one["spec"]["template"];
        let meta = json!({ "name": one["metadata"]["name"], "namespace": one["metadata"]["namespace"], "labels": template["metadata"]["labels"] });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"] })
    };
    rendering.of_kind("Deployment").map(of_template).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_objects_and_pods_of_every_set_of_values_are_admitted() {
    let scene = Scene::start().await;
    for set in sets().unwrap() {
        let namespace: &'static str = format!("dock-{}", checkout::stem(&set)).leak();
        let place = Place { release: RELEASE, namespace };
        let rendering = Rendering::of(&scene.tools, &set, place).unwrap();
        let namespaces = rendering.documents.iter().filter_map(|one| one["metadata"]["namespace"].as_str());
        for namespace in namespaces.chain([namespace]).collect::<BTreeSet<_>>() {
            scene.namespace(namespace).await;
        }
        if !rendering.documents.is_empty() {
            let applied =
                scene.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], Some(&rendering.text)).await;
            applied.unwrap_or_else(|error| panic!("{}: {error}", rendering.set));
        }
        for pod in pods(&rendering) {
            let created = scene.kubectl(&["create", "--dry-run=server", "-f", "-"], Some(&pod.to_string())).await;
            created.unwrap_or_else(|error| panic!("{}: {error}", rendering.set));
        }
    }
    scene.control_plane.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_one_field_loosened_is_not_admitted() {
    let scene = Scene::start().await;
    scene.namespace("dock").await;
    let set = checkout::chart().join("ci/default.yaml");
    let rendering = Rendering::of(&scene.tools, &set, Place { release: RELEASE, namespace: "dock" }).unwrap();
    let [pod] = &pods(&rendering)[..] else { panic!("one Deployment") };
    for (pointer, value) in [
        ("/spec/securityContext/runAsNonRoot", json!(false)),
        ("/spec/securityContext/seccompProfile", json!({ "type": "Unconfined" })),
        ("/spec/containers/0/securityContext/allowPrivilegeEscalation", json!(true)),
        ("/spec/containers/0/securityContext/capabilities", json!({})),
    ] {
        let mut loosened = pod.clone();
        *loosened.pointer_mut(pointer).unwrap() = value;
        let refused = scene.kubectl(&["create", "--dry-run=server", "-f", "-"], Some(&loosened.to_string())).await;
        assert!(refused.is_err_and(|error| error.contains("violates PodSecurity")), "{pointer}");
    }
    scene.control_plane.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_keeps_the_token_and_what_belongs_to_others() {
    let scene = Scene::start().await;
    let (chart, rest) = (chart(), ["--namespace", "dock"]);
    let dry =
        scene.helm(&[&["install", RELEASE, &chart, "--create-namespace", "--dry-run=server"], &rest[..]].concat());
    let notes = dry.unwrap();
    assert!(notes.contains("kubectl rollout status deployment/harbour-berth --namespace dock"), "{notes}");
    let install = ["install", RELEASE, &chart, "--create-namespace", "--set", "crds.others=true"];
    scene.helm(&[&install, &rest[..]].concat()).unwrap();
    let token =
        async || scene.read(&["secret", "harbour-berth-token", "--namespace", "dock"]).await["data"]["token"].clone();
    let first = token().await;
    assert!(first.as_str().is_some_and(|token| token.len() == 64), "{first}");

    let others = [
        "crd",
        "knowledges.cortex.cloud",
        "hypervisors.kvm.cloud.sap",
        "pipelines.cortex.cloud",
        "datasources.cortex.cloud",
    ];
    // Their own deployment takes them over.
    let version = ["label", "--overwrite", "crd", "knowledges.cortex.cloud", "app.kubernetes.io/version=another"];
    scene.kubectl(&version, None).await.unwrap();
    let before = scene.read(&others).await;
    for values in ["crds.others=true", "crds.others=false"] {
        scene
            .helm(&[&["upgrade", RELEASE, &chart, "--set", values, "--set", "operator.replicas=3"], &rest[..]].concat())
            .unwrap();
        assert_eq!(token().await, first);
        assert_eq!(scene.read(&others).await["items"], before["items"], "{values}");
    }
    assert_eq!(scene.read(&["deployment", "harbour-berth", "--namespace", "dock"]).await["spec"]["replicas"], 3);

    scene.helm(&[&["uninstall", RELEASE], &rest[..]].concat()).unwrap();
    let left = scene.read(&["crd"]).await;
    // Six of Berth, four of others, and the one of Prometheus.
    assert_eq!(left["items"].as_array().map(Vec::len), Some(11));
    assert!(scene.kubectl(&["get", "clusterrole", "harbour-berth"], None).await.is_err());
    scene.control_plane.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_port_of_the_cluster_and_the_keys_of_a_certificate_are_looked_up() {
    let scene = Scene::start().await;
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": "kubernetes", "namespace": "default" },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["192.0.2.1"] }],
        "ports": [{ "name": "https", "port": 16443 }],
    });
    scene.kubectl(&["create", "-f", "-"], Some(&slice.to_string())).await.unwrap();
    let chart = chart();
    let rendered = scene.helm(&["install", RELEASE, &chart, "--namespace", "default", "--dry-run=server"]).unwrap();
    assert!(rendered.contains("- port: 16443"), "{rendered}");

    let secret = ["create", "secret", "generic", "half", "--namespace", "default", "--from-literal=tls.crt=x"];
    scene.kubectl(&secret, None).await.unwrap();
    let install = ["install", RELEASE, &chart, "--namespace", "default", "--dry-run=server"];
    let with =
        |more: &[&str]| scene.helm(&[&install[..], &["--set", "operator.tls.existingSecret=half"], more].concat());
    let refused = with(&[]).unwrap_err();
    let advice = "the Secret half has no tls.key; add it, or set operator.tls.key to the key that it has";
    assert!(refused.contains(advice), "{refused}");
    assert!(with(&["--set", "operator.tls.key=tls.crt"]).is_ok());
    scene.control_plane.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_may_do_what_the_values_say_and_no_more() {
    const OPERATOR: &str = "system:serviceaccount:dock:harbour-berth";
    const PLACEMENT: &str = "system:serviceaccount:dock:harbour-berth-placement";
    const REMOTE: &str = "home:berth";
    let scene = Scene::start().await;
    for namespace in ["dock", "cortex-system"] {
        scene.namespace(namespace).await;
    }
    for set in ["remotes.yaml", "placement-sqlite.yaml"] {
        scene.apply_rights(set).await;
    }
    for (who, what, namespace, expected) in [
        (OPERATOR, "get secrets/keystone", "cortex-system", true),
        (OPERATOR, "get secrets/cortex-nova-postgres", "cortex-system", true),
        (OPERATOR, "get secrets/another", "cortex-system", false),
        (OPERATOR, "list secrets", "cortex-system", false),
        (OPERATOR, "get secrets/harbour-berth-token", "dock", false),
        (OPERATOR, "patch reservations.cortex.cloud", "dock", true),
        (OPERATOR, "patch hypervisors.kvm.cloud.sap", "dock", false),
        (OPERATOR, "create tokenreviews.authentication.k8s.io", "dock", true),
        (OPERATOR, "update leases.coordination.k8s.io", "dock", true),
        (OPERATOR, "update leases.coordination.k8s.io", "cortex-system", false),
        (PLACEMENT, "get secrets/keystone", "cortex-system", true),
        (PLACEMENT, "get secrets/cortex-nova-postgres", "cortex-system", false),
        (PLACEMENT, "list reservations.cortex.cloud", "dock", false),
        (PLACEMENT, "patch committedresources.cortex.cloud", "dock", false),
        (PLACEMENT, "create tokenreviews.authentication.k8s.io", "dock", false),
    ] {
        assert_eq!(scene.may(who, what, namespace).await, expected, "{who} {what} in {namespace}");
    }
    scene.apply_rights("remote-cluster.yaml").await;
    for (what, expected) in [
        ("patch reservations.cortex.cloud", true),
        ("create committedresources.cortex.cloud", true),
        ("patch commitmentchanges.cortex.cloud", false),
        ("create tokenreviews.authentication.k8s.io", false),
        ("get leases.coordination.k8s.io", false),
    ] {
        assert_eq!(scene.may(REMOTE, what, "dock").await, expected, "{what}");
    }
    scene.control_plane.stop().await.unwrap();
}
