//! The network policies allow what `berth network` lists for the same flags and configuration, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::conformance::written;
use crate::rendering::{DOCUMENTED, Rendering, sets, title};
use crate::{Error, Tools, program};

/// Ports that nothing else has, so that a rule shows which value it was made from. Rules of users are left out.
const OF_API_SERVERS: u16 = 16443;
const OF_OPENSTACK: u16 = 15000;
const OF_DATABASES: u16 = 15432;
const VALUES: [&str; 4] = [
    "networkPolicy.apiServerPorts=[16443]",
    "networkPolicy.openstackPorts=[15000]",
    "networkPolicy.databasePorts=[15432]",
    "networkPolicy.extraEgress=[]",
];

/// The URL that a pod of Placement would read from its Secret.
const LEDGER: &str = "postgres://berth@database:15432/placement\n";

/// Compares the policies of all sets of values with what the program says.
pub fn problems(tools: &Tools, berth: &Path) -> Result<Vec<String>, Error> {
    let (mut found, mut compared) = (Vec::new(), 0);
    for set in sets()? {
        let rendering = Rendering::with(tools, &set, DOCUMENTED, &VALUES)?;
        for policy in rendering.of_kind("NetworkPolicy") {
            let uses = uses(berth, &rendering, policy)?;
            found.extend(differences(policy, &uses).iter().map(|text| rendering.problem(text)));
            compared += 1;
        }
    }
    println!("{compared} NetworkPolicies were compared with what the processes listen on and connect to");
    Ok(found)
}

/// What the program prints for the flags and the configuration of the pods that a policy selects.
fn uses(berth: &Path, rendering: &Rendering, policy: &Value) -> Result<Vec<Value>, Error> {
    let name = &policy["metadata"]["name"];
    let named = |kind, name: &Value| rendering.of_kind(kind).find(|one| &one["metadata"]["name"] == name);
    let of_deployment = |end: &str| Value::from(format!("{}-{end}", name.as_str().unwrap_or_default()));
    let deployment = named("Deployment", name).unwrap_or(&Value::Null);
    let config = named("ConfigMap", &of_deployment("config")).unwrap_or(&Value::Null);
    let secrets = named("Secret", &of_deployment("secrets")).unwrap_or(&Value::Null);
    let config = written(&config["data"]["conf.json"])?;
    let secrets = written(&secrets["stringData"]["secrets.json"])?;
    let ledger = written(&Value::from(LEDGER))?;
    let flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
    let flags = flags.into_iter().flatten().filter_map(Value::as_str).map(|flag| match flag.split_once('=') {
        Some((name @ "--database-file", _)) => format!("{name}={}", ledger.path().display()),
        _ => flag.to_owned(),
    });
    let mut flags: Vec<String> = flags.collect();
    match flags.first_mut() {
        Some(first) if first == "operator" => "network".clone_into(first),
        _ => flags.push("network".to_owned()),
    }
    let mut network = Command::new(berth);
    network.args(flags).arg("--config").arg(config.path()).arg("--secrets").arg(secrets.path()).args(["-o", "json"]);
    let printed = program::text(&mut network)?;
    let answer: Value = serde_json::from_str(&printed)
        .map_err(|source| Error::Json { path: "the answer of berth network".into(), source })?;
    Ok(answer["uses"].as_array().cloned().unwrap_or_default())
}

/// The ports that one direction of a policy allows.
fn allowed(policy: &Value, direction: &str) -> BTreeSet<u64> {
    let rules = policy["spec"][direction].as_array().into_iter().flatten();
    rules
        .flat_map(|rule| rule["ports"].as_array().into_iter().flatten())
        .filter_map(|port| port["port"].as_u64())
        .collect()
}

fn ports(one: &Value) -> impl Iterator<Item = u64> {
    let further = one["furtherPorts"].as_str().map(|source| match source {
        "kubeconfig" => OF_API_SERVERS,
        "datasource-secret" => OF_DATABASES,
        _ => OF_OPENSTACK,
    });
    let known = one["ports"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    known.chain(further.map(u64::from))
}

fn differences(policy: &Value, uses: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for (direction, used, verb) in [("ingress", "listens", "listens on"), ("egress", "connects", "connects to")] {
        let allowed = allowed(policy, direction);
        let of_direction = || uses.iter().filter(|one| one["direction"] == used);
        for one in of_direction().filter(|one| one["isOptional"] != true) {
            let missing = ports(one).filter(|port| !allowed.contains(port));
            found.extend(missing.map(|port| {
                format!("{} does not allow port {port} of {}, which the process {verb}", title(policy), one["peer"])
            }));
        }
        let known: BTreeSet<u64> = of_direction().flat_map(ports).collect();
        let surplus = allowed.difference(&known);
        found.extend(
            surplus
                .map(|port| format!("{} has a rule for {direction} at port {port} that nothing uses", title(policy))),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_that_is_not_allowed_is_found_and_so_is_a_rule_that_nothing_uses() {
        let policy = |ingress: u16, egress: u16| {
            json!({
                "kind": "NetworkPolicy", "metadata": { "name": "berth" },
                "spec": { "ingress": [{ "ports": [{ "port": ingress }] }], "egress": [{ "ports": [{ "port": egress }] }] },
            })
        };
        let uses = [
            json!({ "direction": "listens", "peer": "api-clients", "ports": [8080], "isOptional": false }),
            json!({ "direction": "connects", "peer": "api-servers", "ports": [], "furtherPorts": "kubeconfig", "isOptional": false }),
            json!({ "direction": "connects", "peer": "vm-database", "ports": [], "furtherPorts": "datasource-secret", "isOptional": true }),
        ];
        assert_eq!(differences(&policy(8080, OF_API_SERVERS), &uses), [""; 0]);
        assert_eq!(
            differences(&policy(8080, OF_DATABASES), &uses),
            ["NetworkPolicy berth does not allow port 16443 of \"api-servers\", which the process connects to"]
        );
        let found = differences(&policy(8081, OF_API_SERVERS), &uses);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "NetworkPolicy berth has a rule for ingress at port 8081 that nothing uses");
    }
}
