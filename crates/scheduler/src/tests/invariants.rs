//! As long as only we place, the invariants never find an over-booked host: neither after any event, nor if all answers
//! came true at once. The invariants compute free capacity independently.

use std::sync::Arc;
use std::time::Duration;

use berth_invariants::{ExternalChanges, Invariant, Key, Snapshot, always};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, from_value, json};

use super::*;
use crate::{Booking, Call, Commitments, Guest, Placed, Placement, Scheduler};

type HostRows = BTreeMap<HostName, Host>;
type Slots = BTreeMap<SlotKey, Reservation>;

/// A VM with an answered host.
#[derive(Clone)]
struct Coming {
    size: Resources,
    host: HostName,
    booking: Option<Booking>,
}

/// Everything outside the scheduler.
struct World {
    scheduler: Watched,
    hosts: HostRows,
    slots: Slots,
    /// Slots that this process places: their requests, and the answers that are not written yet.
    asks: BTreeMap<SlotKey, SlotRequest>,
    answered: BTreeMap<SlotKey, (SlotRequest, HostName)>,
    named: BTreeMap<SlotKey, (SlotRequest, HostName)>,
    coming: BTreeMap<VmId, Coming>,
    sizes: BTreeMap<VmId, Resources>,
    now: Duration,
}

#[derive(Clone, Debug)]
enum Event {
    Place(u64, i64),
    PlaceAll(u64, Vec<i64>, bool),
    Apply(bool),
    /// A slot is requested over HTTP, and written later.
    Name(u64, i64),
    WriteNamed(usize),
    /// A VM is created, requested again or, once it runs, migrated.
    Vm {
        number: u64,
        size: Option<i64>,
        elsewhere: bool,
    },
    WriteBooking(usize),
    Land(usize),
    EndVm(usize),
    Tidy,
    Ready(usize),
    DeleteSlot(usize),
    Beat(usize),
    Grow(usize, i64),
    Time,
}

fn any_event() -> impl Strategy<Value = Event> {
    // Sizes of slots and of their project's VMs are multiples of four, so that a VM fits into any rest of a slot: a
    // larger one may use several slots of its project at once, which the invariants would report as over-booking.
    let slot = || (1_i64..4).prop_map(|fours| 4 * fours);
    let foreign = prop::option::weighted(0.4, 1_i64..6);
    let place = prop_oneof![
        (0_u64..6, slot()).prop_map(|(number, size)| Event::Place(number, size)),
        (0_u64..3, vec(slot(), 1..4), any::<bool>())
            .prop_map(|(number, sizes, all)| Event::PlaceAll(number, sizes, all)),
        (0_u64..6, slot()).prop_map(|(number, size)| Event::Name(number, size)),
    ];
    prop_oneof![
        4 => place,
        6 => (0_u64..5, foreign, any::<bool>()).prop_map(|(number, size, elsewhere)| Event::Vm { number, size, elsewhere }),
        3 => prop::bool::weighted(0.8).prop_map(Event::Apply),
        2 => (0_usize..4).prop_map(Event::WriteNamed),
        4 => (0_usize..4).prop_map(Event::WriteBooking),
        4 => (0_usize..4).prop_map(Event::Land),
        1 => (0_usize..4).prop_map(Event::EndVm),
        1 => Just(Event::Tidy),
        5 => (0_usize..12).prop_map(Event::Ready),
        1 => (0_usize..12).prop_map(Event::DeleteSlot),
        2 => (0_usize..4).prop_map(Event::Beat),
        1 => (0_usize..4, 1_i64..9).prop_map(|(number, size)| Event::Grow(number, size)),
        1 => Just(Event::Time),
    ]
}

fn units(size: i64) -> Resources {
    gib(size, size)
}

impl World {
    fn new(capacities: &[(i64, i64)]) -> Self {
        let hosts = capacities.iter().enumerate();
        let hosts: Vec<Host> =
            hosts.map(|(number, (cpu, memory))| host(&format!("h{number}"), gib(*cpu, *memory))).collect();
        Self {
            scheduler: built_in(&hosts),
            hosts: hosts.into_iter().map(|host| (host.name.clone(), host)).collect(),
            slots: Slots::new(),
            asks: BTreeMap::new(),
            answered: BTreeMap::new(),
            named: BTreeMap::new(),
            coming: BTreeMap::new(),
            sizes: BTreeMap::new(),
            now: Duration::ZERO,
        }
    }

    fn exists(&self, key: &SlotKey) -> bool {
        self.slots.contains_key(key) || self.answered.contains_key(key) || self.named.contains_key(key)
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Place(number, size) => self.place(wanted("one", 5, number, units(size))),
            Event::PlaceAll(number, sizes, all) => self.place_all(number, &sizes, all),
            Event::Apply(succeeds) => self.apply(succeeds),
            Event::Name(number, size) => self.name(wanted("named", 5, number, units(size))),
            Event::WriteNamed(number) => {
                let Some(key) = self.named.keys().nth(number).cloned() else { return };
                if let Some((slot, host)) = self.named.remove(&key) {
                    self.set_slot(placed(&slot, host.as_str()));
                }
            }
            Event::Vm { number, size, elsewhere } => self.vm(number, size, elsewhere),
            Event::WriteBooking(number) => {
                let Some(vm) = self.coming.keys().nth(number).cloned() else { return };
                self.write_booking(&vm);
            }
            Event::Land(number) => self.land(number),
            Event::EndVm(number) => {
                let mut running = self.sizes.keys().filter(|vm| !self.coming.contains_key(*vm));
                let Some(vm) = running.nth(number).cloned() else { return };
                self.leave(&vm, None);
                self.sizes.remove(&vm);
            }
            Event::Tidy => self.tidy(),
            Event::Ready(number) => {
                let Some(slot) = self.slots.values().nth(number).cloned() else { return };
                self.set_slot(Reservation { status_host: slot.target_host.clone(), ready: true, ..slot });
            }
            Event::DeleteSlot(number) => {
                let Some(slot) = self.slots.values().nth(number).filter(|slot| slot.expected().count() == 0) else {
                    return;
                };
                let key = slot.key.clone();
                self.slots.remove(&key);
                let enqueued = self.scheduler.reservation_changed(&key, None);
                self.place_enqueued(enqueued);
            }
            Event::Beat(number) => {
                let Some(host) = self.hosts.values().nth(number).cloned() else { return };
                self.set_host(host);
            }
            Event::Grow(number, size) => {
                let Some(host) = self.hosts.values().nth(number).cloned() else { return };
                let capacity = (host.capacity.or_zero() + units(size)).into();
                self.set_host(Host { capacity, effective_capacity: capacity, ..host });
            }
            Event::Time => {
                self.now += Duration::from_secs(600);
                self.coming.clear();
                self.named.clear();
                let enqueued = self.scheduler.expire(self.now);
                self.place_enqueued(enqueued);
            }
        }
    }

    fn place(&mut self, slot: SlotRequest) {
        if self.exists(&slot.key) {
            return;
        }
        if let Placed::Host(host) = now(self.scheduler.place(&slot)).unwrap() {
            self.answered.insert(slot.key.clone(), (slot.clone(), host));
        }
        self.asks.insert(slot.key.clone(), slot);
        self.check();
    }

    fn place_all(&mut self, number: u64, sizes: &[i64], all: bool) {
        let slots = sizes.iter().zip(0..).map(|(size, slot)| wanted(&format!("c{number}"), 1, slot, units(*size)));
        let slots: Vec<SlotRequest> = slots.filter(|slot| !self.exists(&slot.key)).collect();
        let answer = match now(self.scheduler.place_all(&request_of(slots.clone(), all))) {
            // It waits for VMs, and nothing is given.
            Err(crate::SchedulerError::Promised { .. }) => return,
            answer => answer.unwrap(),
        };
        let Placement::Decided { hosts, shortage, .. } = answer else { unreachable!() };
        if all && shortage.is_some() {
            return;
        }
        for (slot, host) in slots.into_iter().zip(hosts) {
            self.asks.insert(slot.key.clone(), slot.clone());
            self.answered.extend(host.map(|host| (slot.key.clone(), (slot, host))));
        }
        self.check();
    }

    fn apply(&mut self, succeeds: bool) {
        let keys: Vec<SlotKey> = self.answered.keys().cloned().collect();
        for (slot, host) in std::mem::take(&mut self.answered).into_values().filter(|_| succeeds) {
            self.set_slot(placed(&slot, host.as_str()));
        }
        let enqueued = self.scheduler.applied(&keys);
        self.place_enqueued(enqueued);
    }

    fn name(&mut self, slot: SlotRequest) {
        if self.slots.contains_key(&slot.key) {
            return;
        }
        let request = Request { options: crate::Options::default(), ..Request::for_slot(&slot) };
        let host = self.ask(&request, None).map(|(host, _)| host);
        self.named.remove(&slot.key);
        self.named.extend(host.map(|host| (slot.key.clone(), (slot, host))));
        self.check();
    }

    /// A VM of the project of the slots has four units.
    fn vm(&mut self, number: u64, foreign: Option<i64>, elsewhere: bool) {
        let vm: VmId = format!("v{number}{}", if foreign.is_some() { "" } else { "-guest" }).into();
        let running = self.sizes.get(&vm).copied();
        let size = running.or(self.coming.get(&vm).map(|coming| coming.size)).unwrap_or(units(foreign.unwrap_or(4)));
        let specs: &[(&str, &str)] = if foreign.is_some() { &[] } else { &[("quota:hw_version", "g1")] };
        let vcpus = u32::try_from(size.cpu.get()).unwrap();
        let request = request(vcpus, u64::from(vcpus) * 1024, specs);
        let former = self.coming.get(&vm).map(|coming| coming.host.clone()).filter(|_| elsewhere);
        let ignore_hosts = former.into_iter().chain(self.on(&vm)).collect();
        let project = if foreign.is_some() { "p2" } else { "p1" };
        let request = Request { instance: vm.clone(), project: project.into(), ignore_hosts, ..request };
        let guest = Guest { group: "g1".into(), size, commitments: Commitments::Left };
        let answer = self.ask(&request, Some(&guest).filter(|_| foreign.is_none()));
        self.coming.remove(&vm);
        self.coming.extend(answer.map(|(host, booking)| (vm, Coming { size, host, booking })));
        self.check();
    }

    fn ask(&mut self, request: &Request, guest: Option<&Guest>) -> Option<(HostName, Option<Booking>)> {
        let time = jiff::Timestamp::UNIX_EPOCH;
        let call = Call { guest, ..Call::new(request, (self.now, time)) };
        let answer = self.scheduler.answer(&call).unwrap();
        for key in self.scheduler.enqueued() {
            let (slot, host) = self.asks.get(&key).map(|slot| (slot.clone(), now(self.scheduler.place(slot)))).unwrap();
            let Ok(Placed::Host(host)) = host else { unreachable!("the host that was kept is the answer") };
            self.answered.insert(key, (slot, host));
        }
        Some((answer.hosts.into_iter().next()?, answer.booking))
    }

    fn on(&self, vm: &VmId) -> Vec<HostName> {
        let hosts = self.hosts.values().filter(|host| host.instances.contains_key(vm));
        hosts.map(|host| host.name.clone()).collect()
    }

    fn write_booking(&mut self, vm: &VmId) {
        let Some(booking) = self.coming.get(vm).and_then(|coming| coming.booking.clone()) else { return };
        let mut slots = self.slots.clone();
        if !write(&mut slots, &booking) {
            self.scheduler.unbook(vm);
        }
        for key in booking.leaves.iter().chain([&booking.slot]) {
            if let Some(slot) = slots.get(key) {
                self.set_slot(slot.clone());
            }
        }
        self.coming.entry(vm.clone()).and_modify(|coming| coming.booking = None);
    }

    fn land(&mut self, number: usize) {
        let Some(vm) = self.coming.keys().nth(number).cloned() else { return };
        self.write_booking(&vm);
        let Some(Coming { size, host, .. }) = self.coming.remove(&vm) else { return };
        let mut row = self.hosts[&host].clone();
        run_on(&mut row, &vm, size);
        self.sizes.insert(vm.clone(), size);
        self.set_host(row);
        self.leave(&vm, Some(&host));
    }

    /// Only this host, or none, still lists the VM.
    fn leave(&mut self, vm: &VmId, but: Option<&HostName>) {
        for name in self.on(vm).iter().filter(|name| Some(*name) != but) {
            let mut row = self.hosts[name].clone();
            end_on(&mut row, vm, self.sizes[vm]);
            self.set_host(row);
        }
    }

    /// The reservation controller removes missing VMs from their slots.
    fn tidy(&mut self) {
        for mut slot in self.slots.clone().into_values() {
            let here =
                slot.target_host.as_ref().and_then(|host| self.hosts.get(host)).map(|host| host.instances.clone());
            let here = here.unwrap_or_default();
            if let ReservationKind::Committed(vms) = &mut slot.kind {
                vms.retain(|vm, _| here.contains_key(vm) || self.coming.contains_key(vm));
            }
            self.set_slot(slot);
        }
    }

    fn set_slot(&mut self, slot: Reservation) {
        self.slots.insert(slot.key.clone(), slot.clone());
        let enqueued = self.scheduler.reservation_changed(&slot.key.clone(), Some(slot));
        self.place_enqueued(enqueued);
    }

    fn set_host(&mut self, host: Host) {
        self.hosts.insert(host.name.clone(), host.clone());
        let enqueued = self.scheduler.host_changed(&host.name.clone(), Some(host));
        self.place_enqueued(enqueued);
    }

    fn place_enqueued(&mut self, enqueued: Vec<SlotKey>) {
        for key in enqueued {
            let slot = self.asks[&key].clone();
            self.place(slot);
            assert!(self.answered.contains_key(&key), "the host that was kept is the answer");
        }
        self.check();
    }

    fn check(&self) {
        assert_eq!(overbooked(&self.hosts, &self.slots), Vec::<String>::new(), "as it is");
        let (hosts, slots) = self.future();
        assert_eq!(overbooked(&hosts, &slots), Vec::<String>::new(), "as it was promised");
        for name in self.hosts.keys() {
            let free = self.scheduler.free_capacity(name).unwrap();
            assert!(Resources::ZERO.fits(free), "{name} {free}");
        }
        assert_eq!(self.scheduler.drift(), Vec::<HostName>::new());
        assert_eq!(self.scheduler.claimed(), self.coming.len() + self.named.len());
    }

    fn future(&self) -> (HostRows, Slots) {
        let (mut hosts, mut slots) = (self.hosts.clone(), self.slots.clone());
        let answered = self.answered.iter().chain(&self.named);
        slots.extend(answered.map(|(key, (slot, host))| (key.clone(), placed(slot, host.as_str()))));
        for (vm, Coming { size, host, booking }) in &self.coming {
            let _ = booking.as_ref().is_some_and(|booking| write(&mut slots, booking));
            hosts.values_mut().filter(|host| host.instances.contains_key(vm)).for_each(|row| end_on(row, vm, *size));
            run_on(hosts.get_mut(host).unwrap(), vm, *size);
        }
        (hosts, slots)
    }
}

fn run_on(host: &mut Host, vm: &VmId, size: Resources) {
    host.instances.insert(vm.clone(), true);
    host.allocation = (host.allocation.or_zero() + size).into();
}

fn end_on(host: &mut Host, vm: &VmId, size: Resources) {
    host.instances.remove(vm);
    host.allocation = (host.allocation.or_zero() - size).into();
}

/// Writes a VM into its slot and removes it from others; false when the slot is gone.
fn write(slots: &mut Slots, booking: &Booking) -> bool {
    let mut vms = |key: &SlotKey, size: Option<Resources>| {
        let Some(ReservationKind::Committed(vms)) = slots.get_mut(key).map(|slot| &mut slot.kind) else { return false };
        match size {
            Some(size) => drop(vms.insert(booking.vm.clone(), size)),
            None => drop(vms.remove(&booking.vm)),
        }
        true
    };
    for key in &booking.leaves {
        vms(key, None);
    }
    vms(&booking.slot, Some(booking.size))
}

/// The violations about the capacity of hosts.
fn overbooked(hosts: &HostRows, slots: &Slots) -> Vec<String> {
    let mut snapshot = Snapshot::default();
    for host in hosts.values() {
        let object = Arc::new(from_value(host_object(host)).unwrap());
        snapshot.hypervisor(&Key::new(ClusterName::home(), host.name.as_str()), Some(&object));
    }
    for slot in slots.values() {
        let object = Arc::new(from_value(slot_object(slot)).unwrap());
        snapshot.reservation(&Key::new(slot.key.cluster.clone(), slot.key.name.as_str()), Some(&object));
    }
    let broken = always(&snapshot, &ExternalChanges::default()).into_iter();
    broken
        .filter(|violation| violation.invariant == Invariant::HostOverbooked)
        .map(|violation| format!("{violation:?}"))
        .collect()
}

fn amounts(size: Resources) -> Value {
    json!({"memory": size.memory.to_string(), "cpu": size.cpu.to_string()})
}

fn host_object(host: &Host) -> Value {
    let vms: Vec<Value> = host.instances.keys().map(|vm| json!({"id": vm, "name": vm, "active": true})).collect();
    json!({
        "apiVersion": "kvm.cloud.sap/v1",
        "kind": "Hypervisor",
        "metadata": {"name": host.name},
        "status": {
            "effectiveCapacity": amounts(host.capacity.or_zero()),
            "allocation": amounts(host.allocation.or_zero()),
            "instances": vms,
            "numInstances": vms.len(),
        },
    })
}

fn slot_object(slot: &Reservation) -> Value {
    let vms = slot.expected().map(|(vm, size)| {
        (vm.to_string(), json!({"creationTimestamp": "2026-01-01T00:00:00Z", "resources": amounts(*size)}))
    });
    json!({
        "apiVersion": "cortex.cloud/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": slot.key.name},
        "spec": {
            "type": "CommittedResourceReservation",
            "resources": amounts(slot.size),
            "targetHost": slot.target_host,
            "committedResourceReservation": {"allocations": vms.collect::<serde_json::Map<_, _>>()},
        },
        "status": {"host": slot.status_host},
    })
}

#[test]
fn the_invariants_see_what_the_world_holds() {
    let mut row = host("h", units(8));
    run_on(&mut row, &"v".into(), units(4));
    let hosts: HostRows = [(row.name.clone(), row)].into();
    let holds = |slot: Reservation| overbooked(&hosts, &[(slot.key.clone(), slot)].into()).is_empty();
    assert!(holds(slot("s", "h", units(4), &[])));
    assert!(!holds(slot("s", "h", units(5), &[])));
    assert!(holds(slot("s", "h", units(8), &[("v", units(4))])));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn while_only_we_place_no_host_is_promised_beyond_its_capacity(
        capacities in vec((0_i64..32, 0_i64..32), 1..4),
        events in vec(any_event(), 20..100),
    ) {
        let mut world = World::new(&capacities);
        for event in events {
            world.act(event);
            world.check();
        }
    }
}
