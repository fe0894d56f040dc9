//! Two clusters, each with the objects of its zone: what is served where, and that a cluster that is unreachable, not
//! healthy or holds misplaced objects does not affect the other one. Runs the real binary on two real API servers.

use berth_crds::commitment_change::{ChangeItem, ChangePhase, CommitmentBefore};
use berth_crds::{
    CommitmentChange, CommitmentChangeSpec, CommittedResource, CommittedResourceSpec, MicroTime, Reservation, labels,
    names,
};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::support::fake_cluster;
use crate::support::objects::{OTHER_ZONE, host, in_zone, non_rejectable, slot_name};
use crate::support::seen::Seen;
use crate::support::two_clusters::Side::{Home, Remote};
use crate::support::two_clusters::{SIDES, TwoClusters, of_remote};
use crate::support::waiting::so;

const CONFLICTS: &str = "cortex_multicluster_cross_cluster_name_conflicts_total";

/// A host with free capacity for this many slots in each cluster.
async fn hosts(two: &TwoClusters, count: u64) {
    two.at(Home).create(&host("node-a", count)).await;
    two.at(Remote).create(&in_zone(host("node-b", count), OTHER_ZONE)).await;
}

/// Whether a commitment has no slots in either cluster.
fn nowhere(both: &[Seen; 2], uuid: &str) -> bool {
    both.iter().all(|seen| seen.slots_of(uuid).is_empty())
}

fn slots_of(both: &[Seen; 2]) -> [Vec<&Reservation>; 2] {
    both.each_ref().map(|seen| seen.slots().collect())
}

fn warnings(two: &TwoClusters, words: &str) -> usize {
    two.operator().log().lines().filter(|line| line.contains("WARN") && line.contains(words)).count()
}

async fn is_fit(two: &TwoClusters, cluster: &str, fit: u64) {
    let label = format!("cluster=\"{cluster}\"");
    two.until(&format!("the health of {cluster} is {fit}"), async |two| {
        let metrics = two.operator().metrics().await;
        let line = metrics.lines().find(|line| line.starts_with("berth_cluster_healthy{") && line.contains(&label));
        so(line.is_some_and(|line| line.ends_with(&format!(" {fit}"))), || format!("{line:?}"))
    })
    .await;
}

#[tokio::test]
async fn commitments_and_their_slots_and_events_are_in_the_cluster_of_their_zone() {
    let two = TwoClusters::begin().await;
    hosts(&two, 2).await;
    two.at(Home).create(&non_rejectable("eventful-1", 2)).await;
    two.at(Remote).create(&of_remote(non_rejectable("eventful-2", 2))).await;
    let home = two.accepted(Home, "eventful-1").await;
    let remote = two.accepted(Remote, "eventful-2").await;
    assert_eq!(home.hosts_of("eventful-1"), ["node-a"; 2]);
    assert_eq!(remote.hosts_of("eventful-2"), ["node-b"; 2]);
    assert!(home.slots_of("eventful-2").is_empty() && remote.slots_of("eventful-1").is_empty());
    for (side, uuid, other) in [(Home, "eventful-1", Remote), (Remote, "eventful-2", Home)] {
        two.until("there is an event", async |two| {
            let reasons = two.events(side, uuid).await;
            so(reasons == ["Accepted"], || format!("{reasons:?}"))
        })
        .await;
        assert_eq!(two.events(other, uuid).await, [""; 0], "{uuid}");
    }
    two.ready_but(&[]).await;
    is_fit(&two, OTHER_ZONE, 1).await;
    two.end().await;
}

#[tokio::test]
async fn a_cluster_that_is_away_at_the_start_is_served_when_it_comes() {
    let mut two = TwoClusters::without_operator().await;
    hosts(&two, 2).await;
    two.at(Remote).create(&of_remote(non_rejectable("late-1", 2))).await;
    let before = two.seen(Remote).await.versions();
    two.remote_goes().await;
    two.start().await;
    two.at(Home).create(&non_rejectable("here-1", 2)).await;
    two.accepted(Home, "here-1").await;
    two.ready_but(&[&format!("cluster {OTHER_ZONE}"), "its zones have to wait", "does not answer"]).await;
    two.remote_is(0).await;
    is_fit(&two, OTHER_ZONE, 0).await;
    assert_eq!(warnings(&two, "the API server does not answer"), 5, "one for each kind and one for the cluster");
    two.remote_comes().await;
    let remote = two.accepted(Remote, "late-1").await;
    assert_eq!(remote.hosts_of("late-1"), ["node-b"; 2]);
    assert!(before.keys().all(|name| remote.versions().contains_key(name)));
    two.ready_but(&[]).await;
    is_fit(&two, OTHER_ZONE, 1).await;
    two.end().await;
}

#[tokio::test]
async fn a_cluster_that_goes_away_is_left_alone_and_keeps_only_what_is_deleted_at_home() {
    let mut two = TwoClusters::begin().await;
    hosts(&two, 4).await;
    for uuid in ["given-up-1", "waits-1"] {
        two.at(Home).create(&non_rejectable(uuid, 1)).await;
        two.accepted(Home, uuid).await;
    }
    two.at(Remote).create(&of_remote(non_rejectable("there-1", 2))).await;
    two.accepted(Remote, "there-1").await;
    let [_, before] = two.rest().await;
    two.remote_goes().await;
    two.remote_is(0).await;

    let waiting = format!("waiting for slots in cluster {OTHER_ZONE}");
    for uuid in ["given-up-1", "waits-1"] {
        two.delete_commitment(uuid).await;
        let seen = two.reported(Home, uuid, "Releasing", &waiting).await;
        assert!(seen.slots_of(uuid).is_empty(), "home has released its slots");
        assert_eq!(seen.commitment(uuid).unwrap().finalizers(), [labels::RELEASE_SLOTS]);
    }
    two.at(Home).create(&non_rejectable("meanwhile-1", 4)).await;
    two.accepted(Home, "meanwhile-1").await;
    let forget = json!({ "metadata": { "annotations": { labels::FORGET_CLUSTER: OTHER_ZONE } } });
    two.edit::<CommittedResource>(&names::commitment("given-up-1"), forget).await;
    two.gone(Home, "given-up-1").await;
    two.reported(Home, "waits-1", "Releasing", &waiting).await;

    two.remote_comes().await;
    two.gone(Home, "waits-1").await;
    two.remote_is(1).await;
    let [_, after] = two.rest().await;
    assert_eq!(after.versions(), before.versions());
    two.ready_but(&[]).await;
    two.end().await;
}

/// A change that a process which has ended had begun to write: the commitment was to grow.
async fn begin_change(two: &TwoClusters, uuid: &str) -> String {
    let before = two.at(Remote).see().await.unwrap().commitment(uuid).unwrap().clone();
    let after = CommittedResourceSpec { amount: "960Gi".into(), ..before.spec.clone() };
    let before = CommitmentBefore {
        annotations: before.annotations().clone(),
        accepted_spec: before.status.as_ref().and_then(|status| status.accepted_spec.clone()),
        generation: before.metadata.generation.unwrap(),
        uid: before.uid().unwrap(),
        spec: before.spec,
    };
    let item = ChangeItem { commitment_uuid: uuid.to_owned(), before: Some(before), slots: vec![], after: Some(after) };
    let spec = CommitmentChangeSpec {
        request_id: "committed-resource-r1".to_owned(),
        availability_zone: OTHER_ZONE.to_owned(),
        requires_confirmation: false,
        deadline: MicroTime(jiff::Timestamp::now()),
        item_count: 1,
        items: vec![item],
        slots_gzip: None,
    };
    let mut change = CommitmentChange::new(&names::commitment_change("away"), spec);
    change.metadata.finalizers = Some(vec![labels::FINISH_CHANGE.to_owned()]);
    let name = two.at(Home).create(&change).await.name_any();
    two.edit_status::<CommitmentChange>(&name, json!({ "status": { "phase": "Applying" } })).await;
    name
}

async fn change_is(two: &TwoClusters, name: &str, phase: ChangePhase, message: &str) {
    let api = Api::<CommitmentChange>::all(two.client().await);
    two.until(&format!("the change is {phase}"), async |_| {
        let change = api.get(name).await.map_err(|error| error.to_string())?;
        let status = change.status.clone().unwrap_or_default();
        let finished = status.conditions.first().map(|condition| condition.message.clone()).unwrap_or_default();
        so(status.phase == phase && finished == message, || format!("{} {finished}", status.phase))
    })
    .await;
}

#[tokio::test]
async fn a_change_in_a_cluster_that_is_away_stays_open_until_it_is_back_or_given_up() {
    for is_given_up in [false, true] {
        let mut two = TwoClusters::begin().await;
        hosts(&two, 2).await;
        two.at(Remote).create(&of_remote(non_rejectable("changing-1", 1))).await;
        two.accepted(Remote, "changing-1").await;
        two.stop().await;
        let change = begin_change(&two, "changing-1").await;
        two.remote_goes().await;
        two.start().await;
        change_is(&two, &change, ChangePhase::RollingBack, "").await;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        change_is(&two, &change, ChangePhase::RollingBack, "").await;
        if is_given_up {
            let forget = json!({ "metadata": { "annotations": { labels::FORGET_CLUSTER: OTHER_ZONE } } });
            two.edit::<CommitmentChange>(&change, forget).await;
            let text = "the cluster of the commitments was given up; what was written there is not undone";
            change_is(&two, &change, ChangePhase::RolledBack, text).await;
        }
        two.remote_comes().await;
        two.remote_is(1).await;
        if !is_given_up {
            change_is(&two, &change, ChangePhase::RolledBack, "all commitments are as before the request").await;
        }
        two.accepted(Remote, "changing-1").await;
        two.end().await;
    }
}

#[tokio::test]
async fn a_commitment_in_the_wrong_cluster_reports_where_it_belongs_and_holds_its_slots_until_it_is_there() {
    let two = TwoClusters::begin().await;
    two.at(Home).create(&host("node-a", 4)).await;
    two.at(Home).create(&of_remote(non_rejectable("astray-1", 1))).await;
    two.at(Home).create(&non_rejectable("moves-1", 2)).await;
    let before = two.accepted(Home, "moves-1").await;
    two.respec("moves-1", json!({ "availabilityZone": OTHER_ZONE })).await;
    let text = format!("availability zone {OTHER_ZONE} belongs to cluster {OTHER_ZONE}: create the commitment there");
    two.reported(Home, "moves-1", "WrongCluster", &text).await;
    two.reported(Home, "astray-1", "WrongCluster", &text).await;
    let both = two.rest().await;
    assert!(nowhere(&both, "astray-1"));
    assert_eq!(both[0].slots_of("moves-1"), before.slots_of("moves-1"), "the commitment is not even written");

    // The other cluster has no free capacity yet.
    for (uuid, count) in [("moves-1", 2), ("astray-1", 1)] {
        two.at(Remote).create(&of_remote(non_rejectable(uuid, count))).await;
        two.reported(Remote, uuid, "Reserving", "insufficient capacity").await;
        let served = format!("commitment is not served: {} of cluster {OTHER_ZONE}", names::commitment(uuid));
        two.reported(Home, uuid, "DuplicateUUID", &served).await;
        two.delete_commitment(uuid).await;
        two.gone(Home, uuid).await;
    }
    let [home, _] = two.rest().await;
    assert_eq!(
        home.slots_of("moves-1"),
        before.slots_of("moves-1"),
        "the old slots are held until the new ones are ready"
    );
    two.at(Remote).create(&in_zone(host("node-b", 4), OTHER_ZONE)).await;
    let remote = two.accepted(Remote, "moves-1").await;
    assert_eq!(remote.hosts_of("moves-1"), ["node-b"; 2]);
    assert!(remote.slot(&slot_name("moves-1", 0)).is_none(), "names of existing slots are not used again");
    two.accepted(Remote, "astray-1").await;
    two.sees(Home, "the former slots are released", |seen| {
        so(seen.slots_of("moves-1").is_empty(), || "they are there".to_owned())
    })
    .await;
    two.end().await;
}

#[tokio::test]
async fn of_duplicates_in_two_clusters_the_one_in_the_cluster_of_its_zone_is_served() {
    let mut two = TwoClusters::without_operator().await;
    hosts(&two, 2).await;
    for side in SIDES {
        two.at(side).create(&non_rejectable("home-1", 1)).await;
        two.at(side).create(&of_remote(non_rejectable("remote-1", 1))).await;
    }
    two.start().await;
    for (served, other, uuid) in [(Home, Remote, "home-1"), (Remote, Home, "remote-1")] {
        let seen = two.accepted(served, uuid).await;
        assert_eq!(seen.slots_of(uuid).len(), 1);
        let seen = two.reported(other, uuid, "DuplicateUUID", "commitment is not served").await;
        assert!(seen.slots_of(uuid).is_empty() && seen.commitment(uuid).unwrap().finalizers().is_empty());
    }
    let reported = two.counted(CONFLICTS, &["Kind=CommittedResourceList", "method=\"list\""]).await;
    assert_eq!(reported, 2);
    assert_eq!(warnings(&two, "several clusters have an object of this name"), 2);
    let before = two.rest().await;
    two.stop().await;
    two.remote_goes().await;
    two.start().await;
    two.until("home was reconciled", async |two| {
        let reconciliations = two.operator().reconciliations().await;
        so(reconciliations >= 3, || format!("{reconciliations} reconciliations of two commitments and a slot"))
    })
    .await;
    two.remote_comes().await;
    two.remote_is(1).await;
    let after = two.rest().await;
    assert_eq!(
        after.map(|seen| seen.versions()),
        before.each_ref().map(Seen::versions),
        "an unknown state changes nothing"
    );

    for (side, uuid) in [(Remote, "home-1"), (Home, "remote-1")] {
        two.at(side).delete_commitment(uuid).await;
        two.gone(side, uuid).await;
    }
    let after = two.rest().await;
    assert_eq!(slots_of(&after), slots_of(&before), "the commitments hold nothing");
    two.end().await;
}

/// Home deletes its excess slots while the other cluster, which serves the commitment, is unknown.
#[tokio::test]
async fn a_duplicate_takes_no_slots_with_it_while_the_commitments_of_their_cluster_are_not_known() {
    let mut two = TwoClusters::begin().await;
    hosts(&two, 2).await;
    two.at(Home).create(&non_rejectable("moves-1", 1)).await;
    two.accepted(Home, "moves-1").await;
    two.respec("moves-1", json!({ "availabilityZone": OTHER_ZONE })).await;
    two.at(Remote).create(&of_remote(non_rejectable("moves-1", 1))).await;
    two.accepted(Remote, "moves-1").await;
    two.reported(Home, "moves-1", "DuplicateUUID", "commitment is not served").await;
    let [_, before] = two.rest().await;
    two.stop().await;
    two.deny("committedresources", "list").await;
    two.delete_commitment("moves-1").await;
    two.start().await;
    two.reported(Home, "moves-1", "Releasing", &format!("waiting for slots in cluster {OTHER_ZONE}")).await;
    two.until("the slots of the remote are known", async |two| {
        let label = format!("cluster=\"{OTHER_ZONE}\"");
        let complete = two.counted("berth_store_complete", &[&label, "kind=\"Reservation\""]).await;
        so(complete == 1, || "they are not".to_owned())
    })
    .await;
    assert_eq!(two.seen(Remote).await.versions(), before.versions());
    two.grant().await;
    two.gone(Home, "moves-1").await;
    let [_, after] = two.rest().await;
    assert_eq!(after.versions(), before.versions());
    two.end().await;
}

/// Both clusters have something to do, and the account lacks a right in one.
async fn a_missing_right_costs_the_other_cluster_nothing(resource: &str, group: &str, verb: &str, reported: &str) {
    let mut two = TwoClusters::without_operator().await;
    hosts(&two, 2).await;
    two.deny(resource, verb).await;
    two.at(Home).create(&non_rejectable("here-1", 2)).await;
    two.at(Remote).create(&of_remote(non_rejectable("there-1", 2))).await;
    two.start().await;
    two.accepted(Home, "here-1").await;
    let lacks = format!("cluster {OTHER_ZONE}: we may not {verb} {resource}.{group}; grant it with a ClusterRole");
    two.ready_but(&[&lacks]).await;
    is_fit(&two, OTHER_ZONE, 0).await;
    two.reported(Remote, "there-1", "Reserving", reported).await;
    assert_eq!(warnings(&two, &lacks), 1);
    let log = two.operator().log();
    assert!(!log.contains("kube_runtime"), "each problem is logged once:\n{log}");
    two.grant().await;
    two.accepted(Remote, "there-1").await;
    is_fit(&two, OTHER_ZONE, 1).await;
    two.ready_but(&[]).await;
    assert_eq!(warnings(&two, &lacks), 1);
    two.end().await;
}

#[tokio::test]
async fn a_cluster_where_slots_may_not_be_created_is_named_and_served_when_they_may() {
    let reported = "cannot create Reservation";
    a_missing_right_costs_the_other_cluster_nothing("reservations", "cortex.cloud", "create", reported).await;
}

#[tokio::test]
async fn a_cluster_where_hosts_may_not_be_listed_is_named_and_served_when_they_may() {
    a_missing_right_costs_the_other_cluster_nothing("hypervisors", "kvm.cloud.sap", "list", "").await;
}

#[tokio::test]
async fn a_cluster_that_is_too_old_and_one_that_is_none_are_named_and_stop_nothing() {
    let mut two = TwoClusters::without_operator().await;
    let (old, none) = (fake_cluster::too_old().await, fake_cluster::no_kubernetes().await);
    two.configure(&[(&old, "eu-test-1c"), (&none, "eu-test-1d")]);
    hosts(&two, 2).await;
    two.start().await;
    two.at(Home).create(&non_rejectable("here-1", 2)).await;
    two.at(Remote).create(&of_remote(non_rejectable("there-1", 2))).await;
    two.accepted(Home, "here-1").await;
    two.accepted(Remote, "there-1").await;
    for (cluster, fit) in [(OTHER_ZONE, 1), ("eu-test-1c", 0), ("eu-test-1d", 0)] {
        is_fit(&two, cluster, fit).await;
    }
    let too_old = "cluster eu-test-1c: the API server has version v1.30.4; upgrade it to 1.31 or newer";
    let no_kubernetes = "cluster eu-test-1d: cannot find out its version";
    two.ready_but(&[too_old, no_kubernetes]).await;
    for words in [too_old, no_kubernetes] {
        assert_eq!(warnings(&two, words), 1, "{words}\n{}", two.operator().log());
    }
    two.end().await;
}
