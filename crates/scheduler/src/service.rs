//! Which conditions keep a host out of service, for people. Whether it is in service at all is decided in
//! [`crate::row`].

use berth_core::host::{ConditionStatus, Host};

/// A condition that keeps a host out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// The type of the condition.
    pub condition: &'static str,
    /// What it says.
    pub status: ConditionStatus,
}

/// `Onboarding` counts only as long as there is no `Ready`.
pub(crate) fn hindrances(host: &Host) -> Vec<Hindrance> {
    let status = |condition: &'static str| Some((condition, *host.conditions.get(condition)?));
    let ready = match status("Ready") {
        Some(ready) => Some(ready).filter(|(_, status)| *status != ConditionStatus::True),
        None => status("Onboarding").filter(|(_, status)| *status != ConditionStatus::False),
    };
    let against = ["HypervisorDisabled", "Terminating"].into_iter().filter_map(status);
    let against = against.filter(|(_, status)| *status != ConditionStatus::False);
    ready.into_iter().chain(against).map(|(condition, status)| Hindrance { condition, status }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::in_service;

    #[test]
    fn a_host_is_out_of_service_exactly_when_something_hinders_it() {
        use ConditionStatus::{False, True, Unknown};
        let any = [None, Some(True), Some(False), Some(Unknown)];
        let names = ["Ready", "Onboarding", "HypervisorDisabled", "Terminating"];
        for code in 0..256_usize {
            let said = names
                .iter()
                .enumerate()
                .filter_map(|(at, name)| Some(((*name).to_owned(), any[code >> (2 * at) & 3]?)));
            let host = Host { conditions: said.collect(), ..Host::default() };
            assert_eq!(hindrances(&host).is_empty(), in_service(&host), "{:?}", host.conditions);
        }
    }
}
