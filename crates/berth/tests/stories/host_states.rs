//! The checker of host states itself: over raw objects, and over a control plane to which another writer sells a host twice.

use std::time::{Duration, Instant};

use berth_crds::{Hypervisor, Reservation, testing};
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::support::chronicle::{Entry, Report};
use crate::support::host_checker::HostChecker;
use crate::support::host_states::{HYPERVISORS, HostStates, RESERVATIONS, TESTS, amounts};
use crate::support::objects::host;
use crate::support::world::{World, client_as};

const BERTH: &str = "berth";
const SECOND: Duration = Duration::from_secs(1);

/// Commits, and the time at which they are read.
struct History {
    states: HostStates,
    revision: u64,
    now: Instant,
}

impl History {
    /// Two hosts for two slots each.
    fn begin() -> Self {
        let mut history = Self { states: HostStates::default(), revision: 0, now: Instant::now() };
        history.host("node1", &hypervisor("200Gi", "0", &[]));
        history.host("node2", &hypervisor("200Gi", "0", &[]));
        history
    }

    fn commit(&mut self, kind: &'static str, name: &str, object: Option<Value>) {
        self.revision += 1;
        let entry = Entry { revision: self.revision, kind, name: name.to_owned(), object };
        self.states.read(Report::Commit(entry), self.now);
    }

    fn host(&mut self, name: &str, object: &Value) {
        self.commit(HYPERVISORS, name, Some(object.clone()));
    }

    fn reservation(&mut self, name: &str, object: &Value) {
        self.commit(RESERVATIONS, name, Some(object.clone()));
    }

    /// Two slots of Berth that fill `node1`.
    fn full() -> Self {
        let mut history = Self::begin();
        history.reservation("slot-0", &slot("node1"));
        history.reservation("slot-1", &slot("node1"));
        assert_eq!(history.wrong(), [""; 0]);
        history
    }

    fn wrong(&self) -> Vec<String> {
        self.states.wrong(Duration::ZERO)
    }

    /// There is one finding, which has these words.
    fn finds(&self, words: &[&str]) {
        let wrong = self.wrong();
        let good = wrong.len() == 1 && words.iter().all(|word| wrong[0].contains(word));
        assert!(good, "{words:?} in {wrong:#?}");
    }
}

/// A host with 10 cores whose VMs use this memory.
fn hypervisor(memory: &str, used: &str, vms: &[&str]) -> Value {
    let vms: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
    json!({ "status": {
        "effectiveCapacity": { "memory": memory, "cpu": "10" }, "capacity": { "memory": "1Mi", "cpu": "1" },
        "allocation": { "memory": used, "cpu": "0" }, "instances": vms,
    } })
}

/// A slot of 100 GiB and 5 cores that Berth has written.
fn slot(target: &str) -> Value {
    let spec = json!({ "type": "CommittedResourceReservation", "targetHost": target,
                       "resources": { "memory": "100Gi", "cpu": "5" } });
    written_by(BERTH, json!({ "spec": spec }))
}

/// The object with the fields of its writer as the API server records them: all of them.
fn written_by(manager: &str, mut object: Value) -> Value {
    fn fields(value: &Value) -> Value {
        let members = value.as_object().into_iter().flatten();
        Value::Object(members.map(|(name, value)| (format!("f:{name}"), fields(value))).collect())
    }
    let all = fields(&json!({ "spec": object["spec"], "status": object["status"] }));
    object["metadata"]["managedFields"] = json!([
        { "manager": "another", "fieldsV1": { "f:metadata": { "f:labels": {} } } },
        { "manager": manager, "operation": "Update", "fieldsV1": all },
    ]);
    object
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut place = &mut object;
    for name in parent.split('/').skip(1) {
        place = &mut place[name];
    }
    place[name] = value;
    object
}

/// The slot with VMs that it expects, with their memory.
fn expecting(slot: Value, vms: &[(&str, &str)]) -> Value {
    let vms = vms.iter().map(|(vm, memory)| ((*vm).to_owned(), json!({ "resources": { "memory": memory } })));
    with(slot, "/spec/committedResourceReservation", json!({ "allocations": Value::Object(vms.collect()) }))
}

#[test]
fn a_second_slot_on_a_full_host_is_found_with_revision_host_amount_and_name() {
    let mut history = History::full();
    history.reservation("slot-2", &slot("node1"));
    let wrong = history.wrong();
    let memory = "revision 5: host node1 was sold twice: 100 GiB of memory too much, 100 GiB of memory of it by the \
                  write of \"berth\" to Reservation slot-2; it has 200 GiB of memory, VMs use 0 GiB of memory, \
                  Reservations block 300 GiB of memory; it lasted until the end";
    assert_eq!(wrong.len(), 2, "{wrong:#?}");
    assert_eq!(wrong[0], memory);
    assert!(wrong[1].contains("5 of cpu too much"), "{wrong:#?}");
    assert_eq!(history.states.checked(), 5);
}

#[test]
fn a_slot_that_grows_beyond_its_host_is_found() {
    let mut history = History::full();
    history.reservation("slot-1", &with(slot("node1"), "/spec/resources/memory", json!("101Gi")));
    history.finds(&["node1", "1 GiB of memory too much", "slot-1"]);
}

#[test]
fn a_slot_that_moves_takes_capacity_on_both_hosts() {
    let mut history = History::full();
    history.reservation("slot-1", &with(slot("node2"), "/status", json!({ "host": "node1" })));
    history.reservation("slot-2", &with(slot("node1"), "/spec/resources/cpu", json!("0")));
    history.finds(&["node1", "100 GiB of memory too much", "slot-2"]);
    let mut history = History::full();
    history.reservation("slot-1", &with(slot("node2"), "/status", json!({ "host": "node2" })));
    history.reservation("slot-2", &slot("node1"));
    assert_eq!(history.wrong(), [""; 0], "it has moved");
}

#[test]
fn the_host_of_a_slot_without_a_target_is_free() {
    let mut history = History::full();
    history.reservation("slot-1", &with(slot(""), "/status", json!({ "host": "node1" })));
    history.reservation("slot-2", &slot("node1"));
    assert_eq!(history.wrong(), [""; 0]);
}

#[test]
fn a_status_that_names_a_full_host_takes_capacity_there() {
    let mut history = History::full();
    history.reservation("slot-2", &slot("node2"));
    history.reservation("slot-2", &with(slot("node2"), "/status", json!({ "host": "node1" })));
    assert_eq!(history.wrong().len(), 2, "{:#?}", history.wrong());
}

#[test]
fn a_host_that_shrinks_or_whose_vms_grow_is_not_a_finding_until_berth_takes_more() {
    for change in [hypervisor("100Gi", "0", &[]), hypervisor("200Gi", "100Gi", &["vm-1"])] {
        let mut history = History::full();
        history.host("node1", &change);
        assert_eq!(history.wrong(), [""; 0]);
        history.reservation("slot-1", &with(slot("node1"), "/metadata/labels", json!({ "new": "label" })));
        assert_eq!(history.wrong(), [""; 0], "the excess is the same");
        history.reservation("slot-1", &with(slot("node1"), "/spec/resources/memory", json!("110Gi")));
        history.finds(&["110 GiB of memory too much, 10 GiB of memory of it", "slot-1"]);
    }
}

#[test]
fn what_others_have_given_back_may_not_be_taken_again() {
    let mut history = History::full();
    history.host("node1", &hypervisor("100Gi", "0", &[]));
    history.host("node1", &hypervisor("150Gi", "0", &[]));
    history.reservation("slot-1", &with(slot("node1"), "/spec/resources/memory", json!("101Gi")));
    history.finds(&["51 GiB of memory too much, 1 GiB of memory of it"]);
}

#[test]
fn a_vm_that_runs_in_its_slot_counts_once() {
    let mut history = History::full();
    history.reservation("slot-0", &expecting(slot("node1"), &[("vm-1", "60Gi")]));
    history.host("node1", &hypervisor("200Gi", "60Gi", &["vm-1"]));
    assert_eq!(history.wrong(), [""; 0]);
    // The slot and its VM together are as large as before, and the host is as full.
    history.reservation("slot-1", &with(slot("node1"), "/spec/resources/memory", json!("101Gi")));
    history.finds(&["1 GiB of memory too much", "VMs use 60 GiB of memory, Reservations block 141 GiB of memory"]);
}

#[test]
fn a_vm_of_two_slots_counts_in_the_first_one() {
    let mut history = History::begin();
    history.host("node1", &hypervisor("200Gi", "60Gi", &["vm-1"]));
    history.reservation("slot-0", &expecting(slot("node1"), &[("vm-1", "60Gi")]));
    history.reservation("slot-1", &expecting(slot("node1"), &[("vm-1", "60Gi")]));
    assert_eq!(history.wrong(), [""; 0]);
    history.reservation("slot-2", &with(slot("node1"), "/spec/resources", json!({ "memory": "1Gi" })));
    history.finds(&["1 GiB of memory too much", "Reservations block 141 GiB of memory"]);
}

#[test]
fn a_vm_that_is_still_to_come_takes_all_it_needs() {
    let mut history = History::full();
    history.reservation("slot-0", &expecting(slot("node1"), &[("vm-1", "100Gi")]));
    assert_eq!(history.wrong(), [""; 0], "it comes into its slot");
    history.reservation("slot-0", &expecting(slot("node1"), &[("vm-1", "100Gi"), ("vm-2", "20Gi")]));
    history.finds(&["20 GiB of memory too much", "slot-0"]);
}

#[test]
fn only_a_slot_covers_its_vms() {
    let mut history = History::begin();
    history.host("node1", &hypervisor("200Gi", "100Gi", &["vm-1"]));
    history.reservation("slot-0", &slot("node1"));
    let failover = with(slot("node1"), "/spec/type", json!("FailoverReservation"));
    history.reservation("failover-0", &expecting(failover, &[("vm-1", "100Gi")]));
    history.finds(&["100 GiB of memory too much", "failover-0"]);
}

#[test]
fn deletions_free_capacity() {
    let mut history = History::full();
    history.commit(RESERVATIONS, "slot-0", None);
    history.reservation("slot-2", &slot("node1"));
    assert_eq!(history.wrong(), [""; 0]);
    history.commit(HYPERVISORS, "node1", None);
    history.reservation("slot-3", &slot("node1"));
    history.host("node1", &hypervisor("200Gi", "0", &[]));
    assert_eq!(history.wrong(), [""; 0], "the host came after the slot");
}

#[test]
fn what_a_test_or_a_user_has_written_is_not_a_finding_and_the_repair_neither() {
    for manager in [TESTS, "kubectl-edit"] {
        let mut history = History::full();
        history.reservation("slot-2", &written_by(manager, slot("node1")));
        // Berth writes another field of the same object.
        let object = with(written_by(manager, slot("node1")), "/status", json!({ "host": "node1" }));
        let berth = json!({ "manager": BERTH, "subresource": "status", "fieldsV1": { "f:status": { "f:host": {} } } });
        let mut managers = object["metadata"]["managedFields"].as_array().unwrap().clone();
        managers.insert(0, berth);
        let object = with(object, "/metadata/managedFields", Value::Array(managers));
        history.reservation("slot-2", &object);
        history.reservation("slot-2", &slot(""));
        assert_eq!(history.wrong(), [""; 0], "{manager}");
        history.reservation("slot-2", &slot("node1"));
        assert_eq!(history.wrong().len(), 2, "{manager}: {:#?}", history.wrong());
    }
}

#[test]
fn a_writer_that_is_not_known_counts_as_berth() {
    let mut history = History::full();
    history.reservation("slot-2", &with(slot("node1"), "/metadata", json!({})));
    assert!(history.wrong()[0].contains("the write of \"unknown\""), "{:#?}", history.wrong());
}

#[test]
fn what_is_repaired_in_time_is_wrong_unless_the_test_allows_it() {
    let mut history = History::full();
    history.reservation("slot-2", &slot("node1"));
    history.now += SECOND;
    assert_eq!(history.states.wrong(10 * SECOND).len(), 2, "it may last until the end");
    history.commit(RESERVATIONS, "slot-2", None);
    assert_eq!(history.states.wrong(10 * SECOND), [""; 0]);
    for may_last in [Duration::ZERO, SECOND / 2] {
        let wrong = history.states.wrong(may_last);
        assert!(wrong.len() == 2 && wrong[0].ends_with("it lasted 1.000 s"), "{wrong:#?}");
    }
}

#[test]
fn after_a_restored_backup_everything_begins_anew() {
    let mut history = History::full();
    let present = |name: &str| (name.to_owned(), slot("node1"));
    let slots = ["slot-0", "slot-1", "slot-2"].map(present);
    let entry = |kind, name, object| Entry { revision: 1, kind, name, object: Some(object) };
    let mut state: Vec<_> = slots.into_iter().map(|(name, object)| entry(RESERVATIONS, name, object)).collect();
    state.insert(0, entry(HYPERVISORS, "node1".to_owned(), hypervisor("200Gi", "0", &[])));
    history.states.read(Report::State(state), history.now);
    assert_eq!(history.wrong(), [""; 0]);
    history.reservation("slot-3", &slot("node1"));
    assert_eq!(history.wrong().len(), 2, "{:#?}", history.wrong());
}

#[test]
fn without_effective_capacity_the_physical_one_counts_and_without_any_nothing_is_checked() {
    let mut history = History::begin();
    let physical = with(hypervisor("200Gi", "0", &[]), "/status/effectiveCapacity", json!({}));
    history.host("node1", &physical);
    history.reservation("slot-0", &slot("node1"));
    assert_eq!(history.wrong().len(), 2, "{:#?}", history.wrong());
    let before = history.states.checked();
    history.host("node1", &json!({ "spec": {} }));
    history.reservation("slot-1", &slot("node1"));
    assert_eq!((history.wrong().len(), history.states.checked()), (2, before));
}

#[test]
fn amounts_are_read_as_kubernetes_means_them() {
    const NANO: i128 = 1_000_000_000;
    let table = [
        ("0", Some(0)),
        ("30", Some(30 * NANO)),
        ("+30", Some(30 * NANO)),
        ("500m", Some(NANO / 2)),
        ("7u", Some(7_000)),
        ("7n", Some(7)),
        ("0.1n", Some(1)),
        ("1.5Gi", Some((3 * NANO) << 29)),
        ("1Ki", Some(NANO << 10)),
        ("2Mi", Some(NANO << 21)),
        ("1Ti", Some(NANO << 40)),
        ("1Pi", Some(NANO << 50)),
        ("1Ei", Some(NANO << 60)),
        ("3k", Some(3_000 * NANO)),
        ("3M", Some(3_000_000 * NANO)),
        ("3E", Some(3_000_000_000_000_000_000 * NANO)),
        ("3e2", Some(300 * NANO)),
        ("3E-1", Some(3 * NANO / 10)),
        (".5", Some(NANO / 2)),
        ("5.", Some(5 * NANO)),
        ("99E", Some(i128::from(i64::MAX) * NANO)),
        ("-1", None),
        ("", None),
        (".", None),
        ("1.2.3", None),
        ("1i", None),
        ("1K", None),
        ("1ki", None),
        ("1 Gi", None),
        ("many", None),
    ];
    for (text, amount) in table {
        assert_eq!(amounts::parse(text), amount, "{text:?}");
    }
}

/// A slot that another writer than the tests creates on `node1`.
async fn create_as(writer: &'static str, world: &mut World, number: u64) -> Reservation {
    let api: Api<Reservation> = Api::all(client_as(writer, world.control_plane()).await);
    let mut slot = testing::slot("twice-1", number);
    slot.spec.target_host = Some("node1".to_owned());
    api.create(&PostParams::default(), &slot).await.unwrap()
}

#[tokio::test]
async fn on_a_control_plane_a_host_that_is_sold_twice_is_found_and_what_a_test_writes_is_not() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 1)).await;
    create_as(BERTH, &mut world, 0).await;
    create_as(TESTS, &mut world, 1).await;
    assert_eq!(world.host_checker().take_findings(), [""; 0]);
    let twice = create_as(BERTH, &mut world, 2).await;
    let found = world.host_checker().take_findings();
    let begins = format!("revision {}: host node1 was sold twice", twice.resource_version().unwrap());
    let names = format!("the write of \"berth\" to Reservation {}", twice.name_any());
    assert!(found.len() == 2 && found.iter().all(|one| one.starts_with(&begins) && one.contains(&names)), "{found:#?}");
}

#[tokio::test]
#[should_panic(expected = "was sold twice")]
async fn a_test_fails_in_which_a_host_is_sold_twice_although_it_is_gone_in_the_end() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 1)).await;
    for number in 0..2 {
        create_as(BERTH, &mut world, number).await;
    }
    world.delete::<Hypervisor>("node1").await;
}

#[tokio::test]
#[should_panic(expected = "0 states of hosts were checked, although 1 hosts were created")]
async fn a_test_fails_whose_checker_has_not_seen_its_hosts() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 1)).await;
    world.delete::<Hypervisor>("node1").await;
    let cloud = (*world).clone();
    drop(HostChecker::begin(world.control_plane(), &cloud).await);
}
