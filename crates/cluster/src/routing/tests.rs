//! Worked examples of routing.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::{Hypervisor, Knowledge, Reservation};
use config::{Remote, ZONE_LABEL};

use super::*;

const SLOT: &str = "cortex.cloud/v1alpha1/Reservation";
const QUOTA: &str = "cortex.cloud/v1alpha1/ProjectQuota";
const KNOWLEDGE: &str = "cortex.cloud/v1alpha1/Knowledge";

fn kind(text: &str) -> config::Kind {
    config::Kind::parse(text).unwrap()
}

fn remote(host: &str, zone: Option<&str>, kinds: &[&str]) -> Remote {
    Remote {
        host: format!("https://{host}"),
        ca_cert: None,
        insecure_skip_tls_verify: false,
        kinds: kinds.iter().map(|text| kind(text)).collect(),
        labels: zone.map(|zone| (ZONE_LABEL.to_owned(), zone.to_owned())).into_iter().collect::<BTreeMap<_, _>>(),
    }
}

/// R1, R2, R3 and home of the examples.
fn routes() -> Routes {
    Routes::new(&ApiServers {
        home: Some(["v1/Secret", SLOT].map(kind).into_iter().collect::<BTreeSet<_>>()),
        remotes: vec![
            remote("r1", Some("az-a"), &[SLOT, QUOTA]),
            remote("r2", Some("az-b"), &[SLOT]),
            remote("r3", None, &[KNOWLEDGE]),
        ],
    })
}

fn target(routes: &Routes, text: &str, zone: &str) -> String {
    let zone = (!zone.is_empty()).then_some(zone);
    routes.table.target(&kind(text), zone).map_or_else(|error| error.to_string(), |name| name.to_string())
}

fn clusters(routes: &Routes, text: &str) -> String {
    let joined = |names: Vec<ClusterName>| names.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(", ");
    routes.table.clusters(&kind(text)).map_or_else(|error| error.to_string(), joined)
}

#[test]
fn routing_a_reservation_goes_to_the_remote_of_its_zone() {
    assert_eq!(routes().target::<Reservation>(Some("az-b")).unwrap().as_str(), "az-b");
    assert_eq!(clusters(&routes(), SLOT), "az-a, az-b, home", "only r1 and home are asked for the name");
    assert!(routes().serves::<Reservation>(&"az-a".into()) && !routes().serves::<Reservation>(&"r3".into()));
}

#[test]
fn routing_home_takes_the_zones_that_no_remote_has() {
    assert_eq!(target(&routes(), SLOT, "az-c"), "home");
}

#[test]
fn routing_an_object_without_zone_cannot_be_matched() {
    let expected = "resource router match error for GVK cortex.cloud/v1alpha1, Kind=Reservation: reservation does not \
                    have availability zone in spec";
    assert_eq!(target(&routes(), SLOT, ""), expected);
    assert_eq!(routes().target::<Reservation>(Some("")).unwrap_err().to_string(), expected);
}

#[test]
fn routing_a_quota_of_a_foreign_zone_matches_no_cluster() {
    let expected = "no cluster matched for GVK cortex.cloud/v1alpha1, Kind=ProjectQuota: cluster selector \"az-b\" did \
                    not match any candidate";
    assert_eq!(target(&routes(), QUOTA, "az-b"), expected);
    let error = routes().table.target(&kind(QUOTA), Some("az-b")).unwrap_err();
    assert!(error.is_no_cluster_matched() && !routes().target::<Knowledge>(None).unwrap_err().is_no_cluster_matched());
}

#[test]
fn routing_knowledge_has_no_router() {
    assert_eq!(
        routes().target::<Knowledge>(Some("az-a")).unwrap_err().to_string(),
        "no ResourceRouter configured for GVK cortex.cloud/v1alpha1, Kind=Knowledge with 1 remote clusters"
    );
}

#[test]
fn routing_hypervisors_are_nowhere() {
    assert_eq!(
        routes().clusters::<Hypervisor>().unwrap_err().to_string(),
        "gvk kvm.cloud.sap/v1, Kind=Hypervisor is not configured in home or any remote cluster"
    );
    let error = routes().target::<Hypervisor>(Some("az-a")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no cluster matched for GVK kvm.cloud.sap/v1, Kind=Hypervisor: cluster selector \"\" did not match any candidate"
    );
    assert!(error.is_no_cluster_matched());
}

#[test]
fn kinds_without_remote_are_at_home_whatever_their_zone() {
    assert_eq!(target(&routes(), "v1/Secret", ""), "home");
    assert_eq!(clusters(&routes(), "v1/Secret"), "home");
    let alone = Routes::home_only();
    assert_eq!((target(&alone, SLOT, ""), clusters(&alone, "v1/ConfigMap")), ("home".to_owned(), "home".to_owned()));
    assert_eq!(alone.names(), [ClusterName::home()]);
}

#[test]
fn changes_of_commitments_are_at_home_whatever_is_configured() {
    const CHANGE: &str = "cortex.cloud/v1alpha1/CommitmentChange";
    let remotes = || vec![remote("r1", Some("az-a"), &[SLOT, CHANGE])];
    for home in [None, Some([SLOT].map(kind).into())] {
        let routes = Routes::new(&ApiServers { home, remotes: remotes() });
        assert_eq!(
            (target(&routes, CHANGE, "az-a"), clusters(&routes, CHANGE)),
            ("home".to_owned(), "home".to_owned())
        );
    }
}

#[test]
fn zones_are_compared_as_they_stand() {
    assert_eq!(target(&routes(), SLOT, "AZ-B"), "home");
    assert_eq!(target(&routes(), SLOT, "az-b "), "home");
}

#[test]
fn the_reasons_are_reported_in_the_words_of_the_reference() {
    let all = [
        ("kvm.cloud.sap/v1/Hypervisor", "hypervisor does not have availability zone label"),
        (SLOT, "reservation does not have availability zone in spec"),
        ("cortex.cloud/v1alpha1/CommittedResource", "committed resource does not have availability zone in spec"),
        ("cortex.cloud/v1alpha1/FlavorGroupCapacity", "flavor group capacity does not have availability zone in spec"),
        (QUOTA, "project quota does not have availability zone in spec"),
        ("cortex.cloud/v1alpha1/History", "history does not have availability zone in spec"),
    ];
    for (text, reason) in all {
        let labelled = Routes::new(&ApiServers { home: None, remotes: vec![remote("r", Some("az-a"), &[text])] });
        assert!(target(&labelled, text, "").ends_with(reason), "{text}");
        let unlabelled = Routes::new(&ApiServers { home: None, remotes: vec![remote("r", None, &[text])] });
        let label = if text == SLOT { "availability zone" } else { "availabilityZone" };
        assert!(
            target(&unlabelled, text, "az-a").ends_with(&format!(": cluster does not have {label} label")),
            "{text}"
        );
    }
}

#[test]
fn names_are_in_the_order_of_the_configuration_and_home_is_last() {
    assert_eq!(routes().names().iter().map(ClusterName::as_str).collect::<Vec<_>>(), ["az-a", "az-b", "r3", "home"]);
}
