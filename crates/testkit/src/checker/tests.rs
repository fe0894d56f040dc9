use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation, labels, names};
use berth_invariants::Key;
use berth_invariants::testing::Promise;
use berth_telemetry::clock::{Clock as _, SystemClock};
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::seeds;

#[tokio::test]
async fn what_an_operator_breaks_is_found_and_what_people_break_is_not() {
    let (checker, server) = (InvariantChecker::default(), Server::new(Arc::new(SystemClock)));
    checker.watch(&ClusterName::home(), &server);
    checker.act_as_user(|| {
        server.create(&seeds::host("h", 1)).unwrap();
        server.create(&seeds::waiting_commitment("uuid-1", 2)).unwrap();
    });
    let slot = |number: u64| {
        let mut slot = berth_crds::testing::slot("uuid-1", number);
        slot.spec.target_host = Some("h".to_owned());
        slot
    };
    checker.act_as_user(|| server.create(&slot(0)).unwrap());
    assert_eq!(checker.violations(), [""; 0]);
    checker.mark_observed();
    server.create(&slot(1)).unwrap();
    let violations = checker.violations();
    assert!(violations.iter().any(|text| text.contains("host_overbooked")), "{violations:?}");
    assert!(!checker.violations_at_rest().is_empty());
}

#[tokio::test]
async fn what_is_gone_is_not_checked_any_more() {
    let (checker, server) = (InvariantChecker::default(), Server::new(Arc::new(SystemClock)));
    checker.watch(&ClusterName::home(), &server);
    checker.act_as_user(|| server.create(&seeds::waiting_commitment("uuid-1", 1)).unwrap());
    assert_eq!(checker.violations_at_rest().len(), 1, "no violation is reported");
    server.edit::<CommittedResource>("commitment-uuid-1", &json!({ "metadata": { "labels": { "a": "b" } } })).unwrap();
    server.delete::<CommittedResource>("commitment-uuid-1").unwrap();
    assert_eq!(checker.violations_at_rest(), [""; 0]);
}

/// A checker with a time limit of a minute, over a server with a host, a commitment and its slot, all created by users.
fn settled(rules: CheckerSettings) -> (InvariantChecker, Server) {
    let (checker, server) = (InvariantChecker::new(rules), Server::new(Arc::new(SystemClock)));
    checker.watch(&ClusterName::home(), &server);
    checker.act_as_user(|| {
        server.create(&seeds::flavor_groups(SystemClock.now())).unwrap();
        server.create(&seeds::host("h", 9)).unwrap();
        let mut commitment = seeds::waiting_commitment("uuid-1", 3);
        commitment.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
        server.create(&commitment).unwrap();
        for number in 0..3 {
            let mut slot = berth_crds::testing::slot("uuid-1", number);
            slot.spec.target_host = Some("h".to_owned());
            server.create(&slot).unwrap();
        }
    });
    (checker, server)
}

fn minute() -> CheckerSettings {
    CheckerSettings { overdue: Duration::from_secs(60), ..CheckerSettings::default() }
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_stays_where_its_host_was_is_found_when_its_time_is_over() {
    let (checker, server) = settled(minute());
    checker.act_as_user(|| server.delete::<Hypervisor>("h").unwrap());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(checker.violations(), [""; 0]);
    checker.interrupted();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(checker.violations(), [""; 0], "the operator could not know");
    sleep(Duration::from_secs(1)).await;
    let violations = checker.violations();
    assert!(
        violations.len() == 3 && violations[0].starts_with("slot_on_gone_host: home/commitment-uuid-1-0"),
        "{violations:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_orphaned_slot_is_found_at_the_next_write() {
    let (checker, server) = settled(minute());
    let free = json!({ "metadata": { "finalizers": null } });
    checker.act_as_user(|| {
        server.edit::<CommittedResource>("commitment-uuid-1", &free).unwrap();
        server.delete::<CommittedResource>("commitment-uuid-1").unwrap();
    });
    assert_eq!(checker.violations(), [""; 0], "a user did it");
    sleep(Duration::from_secs(61)).await;
    server.edit::<Hypervisor>("h", &json!({ "metadata": { "annotations": { "beat": "1" } } })).unwrap();
    let violations = checker.violations();
    assert!(
        violations.len() == 3 && violations[0].starts_with("orphan_stays: home/commitment-uuid-1-0"),
        "{violations:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_disturbs_too_much_is_found_unless_a_user_has_confirmed() {
    let clear = json!({ "spec": { "targetHost": null } });
    let clears = |server: &Server, number: u64| {
        server.edit::<Reservation>(&seeds::slot_name("uuid-1", number), &clear).unwrap();
    };
    let (checker, server) = settled(CheckerSettings { disruption_limit: Some(1), ..minute() });
    clears(&server, 0);
    assert_eq!(checker.violations(), [""; 0]);
    checker.begins();
    clears(&server, 1);
    assert_eq!(checker.violations(), [""; 0], "another process");
    let until = SystemClock.now() + jiff::SignedDuration::from_hours(1);
    let confirm = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: until.to_string() } } });
    server.edit::<Knowledge>(names::FLAVOR_GROUPS, &confirm).unwrap();
    clears(&server, 2);
    assert_eq!(checker.violations(), [""; 0], "confirmed");
    let (checker, server) = settled(CheckerSettings { disruption_limit: Some(1), ..minute() });
    checker.act_as_user(|| clears(&server, 0));
    clears(&server, 1);
    assert_eq!(checker.violations(), [""; 0], "a user cleared one of them");
    clears(&server, 2);
    let violations = checker.violations();
    assert!(violations.len() == 1 && violations[0].contains("disturbed_too_many"), "{violations:?}");
}

#[tokio::test]
async fn a_promise_that_cannot_be_kept_is_found() {
    let (checker, _) = settled(CheckerSettings::default());
    checker.mark_observed();
    let size = berth_crds::testing::size(&seeds::slots(6), "180");
    let given = |name: &str| Promise::Slot { key: key(name), host: "h".to_owned(), size: size.clone(), vms: [].into() };
    checker.promised(&Promises { given: vec![given("a")], ..Promises::default() });
    assert_eq!(checker.violations(), [""; 0]);
    checker.promised(&Promises { given: vec![given("a"), given("b")], ..Promises::default() });
    let violations = checker.violations();
    assert!(violations.len() == 1 && violations[0].starts_with("promised: host_overbooked"), "{violations:?}");
    let mut all = BTreeMap::new();
    checker.add(&mut all);
    assert_eq!(all["answer checked"], 2);
}

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}
