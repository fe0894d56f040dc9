//! Slots of external customers, whose domains Keystone names. Runs the real binary against a double of Keystone.

use berth_crds::{CommittedResource, Hypervisor, Pipeline, testing};
use berth_testkit::keystone::{Keystone, USER};
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::support::objects::{host, non_rejectable};
use crate::support::world::World;

pub const SECRET: &str = "keystone";
pub const PASSWORD: &str = "the-password-of-keystone";
const TRAIT: &str = "CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE";

/// A host for everybody, which is preferred because of its name, and one for external customers.
async fn begin(keystone: &Keystone) -> World {
    let mut world = World::without_operator().await;
    world.raw::<Pipeline>().delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    world.create(&host("node1", 8)).await;
    world.create(&host("node2", 8)).await;
    world.edit_status::<Hypervisor>("node2", json!({ "status": { "traits": [TRAIT] } })).await;
    world.create_raw::<Pipeline>(pipeline()).await.unwrap();
    create_secret(&world, keystone, PASSWORD).await;
    grant_secret(&world).await;
    let secret = json!({ "name": SECRET, "namespace": "berth-system" });
    world.use_keys(&json!({
        "committedResourceReservationController": { "keystoneSecretRef": secret },
        "committedResourceController": { "requeueIntervalRetry": "1s" },
        "scheduler": { "tieBreak": "name" },
    }));
    world.start().await;
    world
}

fn pipeline() -> serde_json::Value {
    let external = json!([{ "key": "domainNamePrefixes", "stringListValue": ["customer-"] }]);
    let weight = json!([{ "key": "resourceWeights", "floatMapValue": { "memory": 1.0 } }]);
    json!({ "metadata": { "name": "kvm-general-purpose-load-balancing" }, "spec": {
        "schedulingDomain": "nova", "type": "filter-weigher", "ignorePreselection": true,
        "filters": [
            { "name": "filter_status_conditions" }, { "name": "filter_correct_az" },
            { "name": "filter_has_enough_capacity" }, { "name": "filter_external_customer", "params": external },
        ],
        "weighers": [{ "name": "kvm_binpack", "params": weight, "multiplier": 1.0 }],
    } })
}

pub async fn create_secret(world: &World, keystone: &Keystone, password: &str) {
    let url = keystone.url();
    let values = [
        ("url", url.as_str()),
        ("availability", "public"),
        ("username", USER),
        ("password", password),
        ("projectName", "service"),
        ("userDomainName", "Default"),
        ("projectDomainName", "Default"),
    ];
    let values = values.map(|(key, value)| format!("--from-literal={key}={value}"));
    let mut arguments = vec!["create", "secret", "generic", SECRET, "--namespace=berth-system"];
    arguments.extend(values.iter().map(String::as_str));
    let _ = world.try_kubectl(&["delete", "secret", SECRET, "--namespace=berth-system"]).await;
    world.kubectl(&arguments).await;
}

pub async fn grant_secret(world: &World) {
    let name = format!("--resource-name={SECRET}");
    let role = ["create", "role", SECRET, "--verb=get", "--resource=secrets", &name, "--namespace=berth-system"];
    let subject = "--serviceaccount=berth-system:berth";
    let binding = ["create", "rolebinding", SECRET, "--role=keystone", subject, "--namespace=berth-system"];
    // They may be left from another test.
    for arguments in [&role[..], &binding[..]] {
        let _ = world.try_kubectl(arguments).await;
    }
}

fn of_domain(uuid: &str, domain: &str) -> CommittedResource {
    let mut commitment = non_rejectable(uuid, 2);
    domain.clone_into(&mut commitment.spec.domain_id);
    commitment
}

#[tokio::test]
async fn slots_of_external_customers_go_to_their_hosts_as_soon_as_keystone_names_the_domain() {
    let keystone = Keystone::start(PASSWORD).await.unwrap();
    keystone.add_domain(testing::DOMAIN, "internal");
    let world = begin(&keystone).await;
    world.create(&non_rejectable("internal-1", 2)).await;
    assert_eq!(world.accepted("internal-1").await.hosts_of("internal-1"), ["node1"; 2]);

    world.create(&of_domain("external-1", "d-external")).await;
    let text = "keystone: failed to resolve domain \"d-external\": Expected HTTP response code [200]";
    let waiting = world.reported("external-1", "Reserving", text).await;
    assert!(waiting.slots_of("external-1").is_empty(), "no host is chosen without the name");
    keystone.add_domain("d-external", "customer-1");
    assert_eq!(world.accepted("external-1").await.hosts_of("external-1"), ["node2"; 2]);

    assert_eq!(keystone.logins(), 1);
    assert!(!world.operator().log().contains(PASSWORD));
    world.end().await;
}

#[tokio::test]
async fn rotated_credentials_and_a_keystone_that_comes_late_need_no_restart() {
    let keystone = Keystone::start("another-password").await.unwrap();
    keystone.add_domain(testing::DOMAIN, "internal");
    let world = begin(&keystone).await;
    world.create(&non_rejectable("internal-1", 1)).await;
    let text = format!("keystone: failed to resolve domain {:?}: keystone refuses the credentials", testing::DOMAIN);
    world.reported("internal-1", "Reserving", &text).await;
    create_secret(&world, &keystone, "another-password").await;
    world.accepted("internal-1").await;
    let lines = world.operator().log();
    let warnings = lines.lines().filter(|line| line.contains("login to keystone failed")).count();
    assert_eq!(warnings, 1, "an outage is logged once");
    world.end().await;
}
