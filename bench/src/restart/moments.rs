//! When something was written, by the journal of the API server.

use berth_control_plane::WriteRequest;
use jiff::Timestamp;

use crate::error::Error;

/// When the creation of the first slot with this beginning of its name was received.
pub fn first_slot(journal: &[WriteRequest], prefix: &str, since: Timestamp) -> Result<Timestamp, Error> {
    let is_slot = |write: &&WriteRequest| {
        (write.verb.as_str(), write.resource.as_str()) == ("create", "reservations") && write.name.starts_with(prefix)
    };
    first(journal, since, is_slot, |write| &write.received).ok_or(Error::Journal("the creation of a slot"))
}

/// When the Lease was written for the first time: whoever waits for it only reads.
pub fn lease_taken(journal: &[WriteRequest], since: Timestamp) -> Result<Timestamp, Error> {
    let is_lease = |write: &&WriteRequest| write.resource == "leases" && write.succeeded();
    first(journal, since, is_lease, |write| &write.answered).ok_or(Error::Journal("the taking of the Lease"))
}

fn first(
    journal: &[WriteRequest],
    since: Timestamp,
    which: impl Fn(&&WriteRequest) -> bool,
    when: impl Fn(&WriteRequest) -> &String,
) -> Option<Timestamp> {
    let moments = journal.iter().filter(which).filter_map(|write| when(write).parse::<Timestamp>().ok());
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
        let journal = [
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
        assert_eq!(lease_taken(&journal, since).unwrap(), at("2026-03-01T12:00:04.5Z"));
        assert_eq!(first_slot(&journal, "commitment-new-", since).unwrap(), at("2026-03-01T12:00:06Z"));
        assert!(first_slot(&journal, "commitment-none-", since).is_err());
    }
}
