//! Which conditions keep a host out of service, for users. [`crate::row`] decides whether it is in service.

use berth_core::host::{ConditionStatus, Host};

/// A condition that keeps a host out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfService {
    pub condition: &'static str,
    pub status: ConditionStatus,
}

/// `Onboarding` counts only as long as there is no `Ready`.
pub(crate) fn out_of_service_reasons(host: &Host) -> Vec<OutOfService> {
    let status = |condition: &'static str| Some((condition, *host.conditions.get(condition)?));
    let ready = match status("Ready") {
        Some(ready) => Some(ready).filter(|(_, status)| *status != ConditionStatus::True),
        None => status("Onboarding").filter(|(_, status)| *status != ConditionStatus::False),
    };
    let against = ["HypervisorDisabled", "Terminating"].into_iter().filter_map(status);
    let against = against.filter(|(_, status)| *status != ConditionStatus::False);
    ready.into_iter().chain(against).map(|(condition, status)| OutOfService { condition, status }).collect()
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
            let text = names
                .iter()
                .enumerate()
                .filter_map(|(at, name)| Some(((*name).to_owned(), any[code >> (2 * at) & 3]?)));
            let host = Host { conditions: text.collect(), ..Host::default() };
            assert_eq!(out_of_service_reasons(&host).is_empty(), in_service(&host), "{:?}", host.conditions);
        }
    }
}
