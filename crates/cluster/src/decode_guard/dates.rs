//! Dates that are too late to compute with mean "never", whatever field they are in: they are read as the last date.

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::fmt::temporal::Pieces;
use serde_json::Value;

/// The last whole second of [`Timestamp`].
const LAST: &str = "9999-12-30T22:00:00Z";

/// Replaces all dates that are too late.
pub(super) fn saturate(value: &mut Value) {
    match value {
        Value::String(text) if is_too_late(text) => LAST.clone_into(text),
        Value::Array(all) => all.iter_mut().for_each(saturate),
        Value::Object(fields) => fields.values_mut().for_each(saturate),
        _ => {}
    }
}

/// The API server admits dates up to the end of the year 9999.
fn is_too_late(text: &str) -> bool {
    let has_offset = || Pieces::parse(text).is_ok_and(|pieces| pieces.time().is_some() && pieces.offset().is_some());
    text.starts_with("9999-12-3") && text.parse::<Timestamp>().is_err() && has_offset()
}

#[cfg(test)]
mod tests {
    use berth_crds::{CommittedResource, Hypervisor, Reservation, testing};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::LAST;
    use crate::{DecodeGuard, Kind};

    const FAR: &str = "9999-12-31T23:59:59Z";

    fn read<K: Kind>(object: &K, far: impl FnOnce(&mut Value)) -> K {
        let mut raw = serde_json::to_value(object).unwrap();
        far(&mut raw);
        serde_json::from_str::<DecodeGuard<K>>(&raw.to_string()).unwrap().into_valid().unwrap()
    }

    #[test]
    fn a_date_that_is_too_late_is_read_as_the_last_one_in_every_kind() {
        let last = Time(LAST.parse().unwrap());
        for far in [FAR, "9999-12-31T00:00:00.5Z", "9999-12-30T23:30:00-01:00", "9999-12-31t23:59:60z"] {
            let end = |raw: &mut Value| raw["spec"]["endTime"] = json!(far);
            let commitment: CommittedResource = read(&testing::commitment("one", "480Gi"), end);
            assert_eq!(commitment.spec.end_time.as_ref(), Some(&last), "{far}");
        }
        let allocation = json!({ "vm": { "creationTimestamp": FAR, "resources": {} } });
        let slot: Reservation = read(&testing::slot("one", 0), |raw| {
            raw["spec"]["committedResourceReservation"]["allocations"] = allocation;
        });
        let data = slot.spec.committed_resource_reservation.unwrap();
        assert_eq!(data.allocations["vm"].creation_timestamp, last);
        let ready =
            json!([{ "type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": FAR }]);
        let host: Hypervisor = read(&testing::hypervisor("node1", "1Ti", "64"), |raw| {
            raw["status"]["conditions"] = ready;
        });
        assert_eq!(host.status.unwrap().conditions[0].last_transition_time, last);
    }

    #[test]
    fn what_is_no_date_stays_as_it_is() {
        for text in ["9999-12-31", "9999-12-31T23:59:59", "9999-12-30T22:00:00Z", "9999-12-32T00:00:00Z", "9999-12-3"] {
            let mut value = json!({ "a": [text] });
            super::saturate(&mut value);
            assert_eq!(value, json!({ "a": [text] }));
        }
    }
}
