//! Finds the times of writes in the journal of the API server.

use berth_control_plane::WriteRequest;
use jiff::Timestamp;

use crate::error::Error;

/// The time when the request to create the first slot with this name prefix was received.
pub fn first_slot(write_requests: &[WriteRequest], prefix: &str, since: Timestamp) -> Result<Timestamp, Error> {
    let is_slot = |write: &&WriteRequest| {
        (write.verb.as_str(), write.resource.as_str()) == ("create", "reservations") && write.name.starts_with(prefix)
    };
    first(write_requests, since, is_slot, |write| &write.received).ok_or(Error::AuditLog("the creation of a slot"))
}

/// The time of the first write to the Lease: standbys only read it.
pub fn lease_taken(write_requests: &[WriteRequest], since: Timestamp) -> Result<Timestamp, Error> {
    let is_lease = |write: &&WriteRequest| write.resource == "leases" && write.succeeded();
    first(write_requests, since, is_lease, |write| &write.answered).ok_or(Error::AuditLog("the taking of the Lease"))
}

fn first(
    write_requests: &[WriteRequest],
    since: Timestamp,
    which: impl Fn(&&WriteRequest) -> bool,
    when: impl Fn(&WriteRequest) -> &String,
) -> Option<Timestamp> {
    let moments = write_requests.iter().filter(which).filter_map(|write| when(write).parse::<Timestamp>().ok());
    moments.filter(|moment| *moment >= since).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(second: u8, verb: &str, resource: &str, name: &str, code: u16) -> WriteRequest {
        let [received, answered] = [0, 5].map(|tenth| format!("2026-03-01T12:00:0{second}.{tenth}00000Z"));
        let [verb, resource, name] = [verb, resource, name].map(str::to_owned);
        WriteRequest { received, answered, user_agent: "berth".to_owned(), verb, resource, name, code }
    }

    #[test]
    fn the_first_of_each_counts() {
        let write_requests = [
            write(1, "update", "leases", "berth", 200),
            write(3, "update", "leases", "berth", 409),
            write(4, "update", "leases", "berth", 200),
            write(6, "update", "leases", "berth", 200),
            write(5, "create", "reservations", "commitment-old-0", 201),
            write(7, "create", "reservations", "commitment-new-1", 201),
            write(6, "create", "reservations", "commitment-new-0", 201),
        ];
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = at("2026-03-01T12:00:02Z");
        assert_eq!(lease_taken(&write_requests, since).unwrap(), at("2026-03-01T12:00:04.5Z"));
        assert_eq!(first_slot(&write_requests, "commitment-new-", since).unwrap(), at("2026-03-01T12:00:06Z"));
        assert!(first_slot(&write_requests, "commitment-none-", since).is_err());
    }
}
