use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation, labels, names};
use berth_laws::Key;
use berth_laws::testing::Promise;
use berth_telemetry::clock::{Clock as _, SystemClock};
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::seeds;

#[tokio::test]
async fn what_an_operator_breaks_is_found_and_what_people_break_is_not() {
    let (judge, server) = (Judge::default(), Server::new(Arc::new(SystemClock)));
    judge.watch(&ClusterName::home(), &server);
    judge.people(|| {
        server.create(&seeds::host("h", 1)).unwrap();
        server.create(&seeds::patient("uuid-1", 2)).unwrap();
    });
    let slot = |number: u64| {
        let mut slot = berth_crds::testing::slot("uuid-1", number);
        slot.spec.target_host = Some("h".to_owned());
        slot
    };
    judge.people(|| server.create(&slot(0)).unwrap());
    assert_eq!(judge.broken(), [""; 0]);
    judge.heard();
    server.create(&slot(1)).unwrap();
    let broken = judge.broken();
    assert!(broken.iter().any(|text| text.contains("host_overbooked")), "{broken:?}");
    assert!(!judge.broken_at_rest().is_empty());
}

#[tokio::test]
async fn what_is_gone_is_not_judged_any_more() {
    let (judge, server) = (Judge::default(), Server::new(Arc::new(SystemClock)));
    judge.watch(&ClusterName::home(), &server);
    judge.people(|| server.create(&seeds::patient("uuid-1", 1)).unwrap());
    assert_eq!(judge.broken_at_rest().len(), 1, "nothing is said about it");
    server.edit::<CommittedResource>("commitment-uuid-1", &json!({ "metadata": { "labels": { "a": "b" } } })).unwrap();
    server.delete::<CommittedResource>("commitment-uuid-1").unwrap();
    assert_eq!(judge.broken_at_rest(), [""; 0]);
}

/// A judge whose patience is a minute, over a server with a host, a commitment and its slot, all made by people.
fn settled(rules: Rules) -> (Judge, Server) {
    let (judge, server) = (Judge::new(rules), Server::new(Arc::new(SystemClock)));
    judge.watch(&ClusterName::home(), &server);
    judge.people(|| {
        server.create(&seeds::flavor_groups(SystemClock.now())).unwrap();
        server.create(&seeds::host("h", 9)).unwrap();
        let mut commitment = seeds::patient("uuid-1", 3);
        commitment.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
        server.create(&commitment).unwrap();
        for number in 0..3 {
            let mut slot = berth_crds::testing::slot("uuid-1", number);
            slot.spec.target_host = Some("h".to_owned());
            server.create(&slot).unwrap();
        }
    });
    (judge, server)
}

fn minute() -> Rules {
    Rules { overdue: Duration::from_secs(60), ..Rules::default() }
}

#[tokio::test(start_paused = true)]
async fn u36_a_slot_that_stays_where_its_host_was_is_found_when_its_time_is_over() {
    let (judge, server) = settled(minute());
    judge.people(|| server.delete::<Hypervisor>("h").unwrap());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(judge.broken(), [""; 0]);
    judge.interrupted();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(judge.broken(), [""; 0], "nobody could know");
    sleep(Duration::from_secs(1)).await;
    let broken = judge.broken();
    assert!(broken.len() == 3 && broken[0].starts_with("slot_on_gone_host: home/commitment-uuid-1-0"), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn u49_a_slot_that_nobody_commits_any_more_is_found_at_the_next_write() {
    let (judge, server) = settled(minute());
    let free = json!({ "metadata": { "finalizers": null } });
    judge.people(|| {
        server.edit::<CommittedResource>("commitment-uuid-1", &free).unwrap();
        server.delete::<CommittedResource>("commitment-uuid-1").unwrap();
    });
    assert_eq!(judge.broken(), [""; 0], "a person did it");
    sleep(Duration::from_secs(61)).await;
    server.edit::<Hypervisor>("h", &json!({ "metadata": { "annotations": { "beat": "1" } } })).unwrap();
    let broken = judge.broken();
    assert!(broken.len() == 3 && broken[0].starts_with("orphan_stays: home/commitment-uuid-1-0"), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn d14_an_operator_that_disturbs_too_much_is_found_unless_somebody_has_confirmed() {
    let clear = json!({ "spec": { "targetHost": null } });
    let clears = |server: &Server, number: u64| {
        server.edit::<Reservation>(&seeds::slot_name("uuid-1", number), &clear).unwrap();
    };
    let (judge, server) = settled(Rules { brake: Some(1), ..minute() });
    clears(&server, 0);
    assert_eq!(judge.broken(), [""; 0]);
    judge.begins();
    clears(&server, 1);
    assert_eq!(judge.broken(), [""; 0], "another process");
    let until = SystemClock.now() + jiff::SignedDuration::from_hours(1);
    let confirm = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: until.to_string() } } });
    server.edit::<Knowledge>(names::FLAVOR_GROUPS, &confirm).unwrap();
    clears(&server, 2);
    assert_eq!(judge.broken(), [""; 0], "confirmed");
    let (judge, server) = settled(Rules { brake: Some(1), ..minute() });
    judge.people(|| clears(&server, 0));
    clears(&server, 1);
    assert_eq!(judge.broken(), [""; 0], "one of them a person cleared");
    clears(&server, 2);
    let broken = judge.broken();
    assert!(broken.len() == 1 && broken[0].contains("disturbed_too_many"), "{broken:?}");
}

#[tokio::test]
async fn a_promise_that_cannot_be_kept_is_found() {
    let (judge, _) = settled(Rules::default());
    judge.heard();
    let size = berth_crds::testing::size(&seeds::slots(6), "180");
    let given = |name: &str| Promise::Slot { key: key(name), host: "h".to_owned(), size: size.clone() };
    judge.promised(&Promises { given: vec![given("a")], ..Promises::default() });
    assert_eq!(judge.broken(), [""; 0]);
    judge.promised(&Promises { given: vec![given("a"), given("b")], ..Promises::default() });
    let broken = judge.broken();
    assert!(broken.len() == 1 && broken[0].starts_with("promised: host_overbooked"), "{broken:?}");
    let mut all = BTreeMap::new();
    judge.add(&mut all);
    assert_eq!(all["answer judged"], 2);
}

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}
