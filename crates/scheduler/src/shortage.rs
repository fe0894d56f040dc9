//! Why no host was found, as numbers that end up in conditions, events and answers. Each removed host counts for the
//! first filter that removed it.

use std::fmt;

use berth_core::HostName;

/// At most so many hosts with unreadable capacity are named.
pub(crate) const NAMED: usize = 2;

/// A reason to remove a host: the name of the step in a pipeline and the short name for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterName {
    /// The name in Pipeline objects and metrics, for example `filter_correct_az`.
    pub step: &'static str,
    /// The name in texts, for example `zone`.
    pub short: &'static str,
}

impl FilterName {
    pub(crate) const fn new(step: &'static str, short: &'static str) -> Self {
        Self { step, short }
    }

    /// Not a step: the host's capacity cannot be read, so it is not offered.
    pub const UNREADABLE: Self = Self { step: "unreadable_capacity", short: "unreadable capacity" };
    /// Not a step: the host's cluster has not been observed for too long.
    pub const WITHHELD: Self = Self { step: "withheld_cluster", short: "cluster not reachable" };
}

impl fmt::Display for FilterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.short)
    }
}

/// Why a request found no host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    pub hosts: usize,
    /// No host is in the wanted zone, whichever filter removed the hosts.
    pub zone_is_empty: bool,
    /// How many hosts each filter removed, in the order of the pipeline; filters that removed nothing are left out.
    pub removed: Vec<(FilterName, usize)>,
    /// The first hosts, by name, whose capacity is invalid, with the field and its value; at most two.
    pub unreadable: Vec<(HostName, String)>,
}

impl fmt::Display for Shortage {
    /// For example `24 hosts; zone 16, capacity 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hosts, if self.hosts == 1 { "host" } else { "hosts" })?;
        for (number, (name, count)) in self.removed.iter().enumerate() {
            write!(f, "{} {name} {count}", if number == 0 { ";" } else { "," })?;
            if *name == FilterName::UNREADABLE {
                self.name_unreadable(f)?;
            }
        }
        Ok(())
    }
}

impl Shortage {
    fn name_unreadable(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (host, text)) in self.unreadable.iter().enumerate() {
            write!(f, "{}{host}: {text}", if number == 0 { " (" } else { "; " })?;
        }
        f.write_str(if self.unreadable.is_empty() { "" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: FilterName = FilterName { step: "filter_correct_az", short: "zone" };
    const CAPACITY: FilterName = FilterName { step: "filter_has_enough_capacity", short: "capacity" };

    #[test]
    fn counts_in_a_line() {
        let shortage = Shortage { hosts: 24, removed: vec![(ZONE, 16), (CAPACITY, 8)], ..Shortage::default() };
        assert_eq!(shortage.to_string(), "24 hosts; zone 16, capacity 8");
        assert_eq!(Shortage::default().to_string(), "0 hosts");
        let one = Shortage { hosts: 1, removed: vec![(ZONE, 1)], ..Shortage::default() };
        assert_eq!(one.to_string(), "1 host; zone 1");
    }

    #[test]
    fn unreadable_hosts_are_named() {
        let text = "status.effectiveCapacity.memory is \"-5Gi\"".to_owned();
        let mut shortage = Shortage {
            hosts: 24,
            removed: vec![(ZONE, 16), (CAPACITY, 7), (FilterName::UNREADABLE, 1)],
            unreadable: vec![("node-7".into(), text.clone())],
            ..Shortage::default()
        };
        assert_eq!(
            shortage.to_string(),
            "24 hosts; zone 16, capacity 7, unreadable capacity 1 (node-7: status.effectiveCapacity.memory is \"-5Gi\")"
        );
        shortage.unreadable.push(("node-8".into(), text));
        assert!(shortage.to_string().ends_with("\"-5Gi\"; node-8: status.effectiveCapacity.memory is \"-5Gi\")"));
    }
}
