//! Random events of the view; few names, so that they meet.

use std::time::Duration;

use berth_capacity_view::{Assumed, Claim, View};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey, VmId};
use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Event {
    Host(Box<Host>),
    NoHost(HostName),
    Reservation(Box<Reservation>),
    NoReservation(SlotKey),
    Assume(Assumed),
    Forget(SlotKey),
    Doubt(SlotKey),
    Claim(Claim),
    Unclaim(VmId),
    Unbook(VmId),
    Expire(Duration),
}

pub fn size() -> impl Strategy<Value = Resources> {
    (0_i64..9, 0_i64..9).prop_map(|(memory, cpu)| Resources::new(Bytes::new(memory), Cores::new(cpu)))
}

pub fn host_name() -> impl Strategy<Value = HostName> {
    "h[0-3]".prop_map(HostName::from)
}

pub fn vm() -> impl Strategy<Value = VmId> {
    "v[0-4]".prop_map(VmId::from)
}

pub fn key() -> impl Strategy<Value = SlotKey> {
    "s[0-5]".prop_map(|name| SlotKey::new(ClusterName::home(), name))
}

pub fn host() -> impl Strategy<Value = Host> {
    let capacity = prop_oneof![9 => size().prop_map(|size| Amounts::from(size + size)), 1 => Just(Amounts::default())];
    (host_name(), capacity, size(), btree_map(vm(), any::<bool>(), 0..3)).prop_map(
        |(name, capacity, used, instances)| Host {
            name,
            capacity,
            allocation: used.into(),
            instances,
            ..Host::default()
        },
    )
}

fn kind() -> impl Strategy<Value = ReservationKind> {
    prop_oneof![
        6 => btree_map(vm(), size(), 0..3).prop_map(ReservationKind::Committed),
        2 => btree_set(vm(), 0..3).prop_map(ReservationKind::Failover),
        1 => vm().prop_map(ReservationKind::InFlight),
        1 => Just(ReservationKind::Other),
    ]
}

fn reservation() -> impl Strategy<Value = Reservation> {
    let owner = ("p[01]", "(g[01])?");
    (key(), kind(), owner, size(), option::of(host_name()), option::of(host_name()), any::<bool>()).prop_map(
        |(key, kind, (project, group), size, target_host, status_host, ready)| Reservation {
            key,
            kind,
            project: project.into(),
            group: group.into(),
            zone: "az".into(),
            size,
            target_host,
            status_host,
            ready,
        },
    )
}

/// A VM, or a slot by its name.
pub fn instance() -> impl Strategy<Value = VmId> {
    prop_oneof![4 => vm(), 1 => key().prop_map(|key| key.name.as_str().into())]
}

fn time() -> impl Strategy<Value = Duration> {
    (0_u64..8).prop_map(Duration::from_secs)
}

fn claim() -> impl Strategy<Value = Claim> {
    (instance(), host_name(), size(), time(), option::of(key())).prop_map(|(instance, host, size, expires, slot)| {
        Claim { instance, host, size, expires, slot, ..Claim::default() }
    })
}

pub fn assumed() -> impl Strategy<Value = Assumed> {
    let entry = (key(), host_name(), size(), btree_map(vm(), size(), 0..3), any::<bool>());
    entry.prop_map(|(key, host, size, vms, doubt)| Assumed { key, host, size, vms, doubt })
}

pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => host().prop_map(|host| Event::Host(Box::new(host))),
        1 => host_name().prop_map(Event::NoHost),
        5 => reservation().prop_map(|reservation| Event::Reservation(Box::new(reservation))),
        2 => key().prop_map(Event::NoReservation),
        4 => assumed().prop_map(Event::Assume),
        1 => key().prop_map(Event::Forget),
        1 => key().prop_map(Event::Doubt),
        5 => claim().prop_map(Event::Claim),
        1 => instance().prop_map(Event::Unclaim),
        1 => instance().prop_map(Event::Unbook),
        1 => time().prop_map(Event::Expire),
    ]
}

pub fn act(view: &mut View, event: Event) {
    match event {
        Event::Host(host) => drop(view.set_host(*host)),
        Event::NoHost(name) => drop(view.remove_host(&name)),
        Event::Reservation(reservation) => drop(view.set_reservation(*reservation)),
        Event::NoReservation(key) => drop(view.remove_reservation(&key)),
        Event::Assume(entry) => drop(view.assume(entry)),
        Event::Forget(key) => drop(view.forget(&key)),
        Event::Doubt(key) => view.doubt(&key),
        Event::Claim(claim) => drop(view.claim(claim)),
        Event::Unclaim(instance) => drop(view.unclaim(&instance)),
        Event::Unbook(instance) => view.unbook(&instance),
        Event::Expire(now) => drop(view.expire(now)),
    }
}
