//! Converts the Lease object of client-go, with the address of its holder in an annotation.

use std::time::Duration;

use berth_crds::labels::API_ADDRESS;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;

use super::step::{LeaseRecord, RenewTime, TIMING};

pub(super) fn record(lease: &Lease) -> LeaseRecord {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or_default();
    LeaseRecord {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        duration: Duration::from_secs(seconds),
        renew_time: spec.renew_time.map(|time| RenewTime(time.0.as_microsecond())),
    }
}

/// The replica that writes itself into a Lease.
#[derive(Clone, Copy)]
pub(super) struct Holder<'a> {
    pub identity: &'a str,
    pub address: Option<&'a str>,
}

/// The address that the holder has published.
pub(super) fn address(lease: &Lease) -> Option<&str> {
    let address = lease.metadata.annotations.as_ref()?.get(API_ADDRESS)?;
    Some(address.as_str()).filter(|address| !address.is_empty())
}

/// A time of the wall clock, for `renewTime`.
pub(super) fn renew_time(now: Timestamp) -> RenewTime {
    RenewTime(now.as_microsecond())
}

pub(super) fn new(namespace: &str, name: &str, me: Holder<'_>, renew_time: RenewTime) -> Lease {
    let named =
        ObjectMeta { namespace: Some(namespace.to_owned()), name: Some(name.to_owned()), ..ObjectMeta::default() };
    let spec = LeaseSpec { lease_transitions: Some(0), ..held(LeaseSpec::default(), me.identity, renew_time) };
    let spec = LeaseSpec { acquire_time: time(renew_time), ..spec };
    Lease { metadata: answering_at(&named, me.address), spec: Some(spec) }
}

/// The Lease as it was read, with `me` as its holder. Its other fields stay.
pub(super) fn holding(read: &Lease, me: Holder<'_>, renew_time: RenewTime) -> Lease {
    let before = read.spec.clone().unwrap_or_default();
    let mine = before.holder_identity.as_deref() == Some(me.identity);
    let transitions = before.lease_transitions.unwrap_or(0);
    let mut spec = held(before, me.identity, renew_time);
    if !mine {
        spec.acquire_time = time(renew_time);
        spec.lease_transitions = Some(transitions.saturating_add(1));
    }
    Lease { metadata: answering_at(&read.metadata, me.address), spec: Some(spec) }
}

/// The Lease as it was read, for its next holder.
pub(super) fn released(read: &Lease, renew_time: RenewTime) -> Lease {
    let before = read.spec.clone().unwrap_or_default();
    let spec = LeaseSpec { lease_duration_seconds: Some(1), ..held(before, "", renew_time) };
    Lease { metadata: answering_at(&read.metadata, None), spec: Some(spec) }
}

/// The same metadata with this address. Without one that of a former holder is removed, because the new one does not answer there.
fn answering_at(metadata: &ObjectMeta, address: Option<&str>) -> ObjectMeta {
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    match address {
        Some(address) => annotations.insert(API_ADDRESS.to_owned(), address.to_owned()),
        None => annotations.remove(API_ADDRESS),
    };
    ObjectMeta { annotations: Some(annotations).filter(|all| !all.is_empty()), ..metadata.clone() }
}

fn held(before: LeaseSpec, me: &str, renew_time: RenewTime) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(TIMING.lease.as_secs()).ok(),
        renew_time: time(renew_time),
        ..before
    }
}

fn time(renew_time: RenewTime) -> Option<MicroTime> {
    Timestamp::from_microsecond(renew_time.0).ok().map(MicroTime)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lease(spec: &Value) -> Lease {
        let metadata = json!({ "name": "l", "resourceVersion": "7", "labels": { "keep": "me" } });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
    }

    fn foreign() -> Lease {
        lease(&json!({
            "holderIdentity": "other", "leaseDurationSeconds": 30, "leaseTransitions": 4,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:09.000001Z",
        }))
    }

    fn spec(lease: &Lease) -> Value {
        serde_json::to_value(lease).unwrap()["spec"].clone()
    }

    const ME: Holder<'_> = Holder { identity: "me", address: None };

    const NEW_YEAR: RenewTime = RenewTime(1_767_225_600_000_000);

    #[test]
    fn a_lease_of_client_go_is_read() {
        let record = record(&foreign());
        assert_eq!((record.holder.as_deref(), &*record.version), (Some("other"), "7"));
        assert_eq!(
            (record.duration, record.renew_time),
            (Duration::from_secs(30), Some(RenewTime(NEW_YEAR.0 + 9_000_001)))
        );
    }

    #[test]
    fn what_is_missing_or_senseless_counts_as_nothing() {
        let record = record(&lease(&json!({ "holderIdentity": "", "leaseDurationSeconds": -3 })));
        assert_eq!((record.holder, record.duration, record.renew_time), (None, Duration::ZERO, None));
    }

    #[test]
    fn taking_over_counts_a_transition_and_renewing_does_not() {
        let taken = holding(&foreign(), ME, NEW_YEAR);
        let expected = json!({
            "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 5,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        });
        assert_eq!(spec(&taken), expected);
        let renewed = spec(&holding(&taken, ME, RenewTime(NEW_YEAR.0 + 2_000_000)));
        assert_eq!((&renewed["leaseTransitions"], &renewed["acquireTime"]), (&json!(5), &expected["acquireTime"]));
        assert_eq!(renewed["renewTime"], "2026-01-01T00:00:02.000000Z");
        assert_eq!(taken.metadata, foreign().metadata);
    }

    #[test]
    fn a_new_one_begins_without_transitions() {
        let spec = spec(&new("n", "l", ME, NEW_YEAR));
        assert_eq!((&spec["leaseTransitions"], &spec["acquireTime"]), (&json!(0), &spec["renewTime"]));
    }

    #[test]
    fn a_released_one_is_free_at_once() {
        let record = record(&released(&foreign(), NEW_YEAR));
        assert_eq!((record.holder, record.duration), (None, Duration::from_secs(1)));
    }

    #[test]
    fn the_address_is_that_of_the_holder_or_nobodys() {
        let at = |address| Holder { identity: "me", address };
        let created = new("n", "l", at(Some("http://10.0.0.7:8080")), NEW_YEAR);
        assert_eq!(address(&created), Some("http://10.0.0.7:8080"));
        assert_eq!(created.metadata.annotations.as_ref().map(std::collections::BTreeMap::len), Some(1));
        let moved = holding(&created, at(Some("http://[2001:db8::1]:8080")), NEW_YEAR);
        assert_eq!(address(&moved), Some("http://[2001:db8::1]:8080"));
        assert_eq!(address(&holding(&moved, at(None), NEW_YEAR)), None);
        assert_eq!(address(&released(&moved, NEW_YEAR)), None);
        assert_eq!(released(&moved, NEW_YEAR).metadata.annotations, None);
    }

    #[test]
    fn foreign_annotations_stay_and_an_empty_address_is_none() {
        let mut lease = foreign();
        let annotations = [("team", "blue"), (API_ADDRESS, "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        lease.metadata.annotations = Some(annotations.into());
        assert_eq!(address(&lease), None);
        let released = released(&lease, NEW_YEAR);
        assert_eq!(released.metadata.annotations, Some([("team".to_owned(), "blue".to_owned())].into()));
    }
}
