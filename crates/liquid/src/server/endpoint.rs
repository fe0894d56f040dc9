//! The five endpoints: their methods and switches.

use axum::http::Method;

/// Which endpoints answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent keys of the configuration")]
pub struct Switches {
    pub change_commitments: bool,
    pub report_usage: bool,
    pub report_capacity: bool,
    pub quota: bool,
}

/// An endpoint of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Info,
    Capacity,
    Usage,
    Quota,
    Change,
}

impl Endpoint {
    pub(super) fn method(self) -> Method {
        match self {
            Self::Info => Method::GET,
            Self::Quota => Method::PUT,
            Self::Capacity | Self::Usage | Self::Change => Method::POST,
        }
    }

    /// Whether it changes nothing, whatever its method is.
    pub(super) fn is_read(self) -> bool {
        match self {
            Self::Info | Self::Capacity | Self::Usage => true,
            Self::Quota | Self::Change => false,
        }
    }

    /// The API by name if it is switched off. The info has no switch: a delegating liquid ends without it.
    pub(super) fn disabled_api(self, switches: Switches) -> Option<&'static str> {
        let (is_enabled, name) = match self {
            Self::Info => return None,
            Self::Capacity => (switches.report_capacity, "report-capacity"),
            Self::Usage => (switches.report_usage, "report-usage"),
            Self::Quota => (switches.quota, "Quota"),
            Self::Change => (switches.change_commitments, "change-commitments"),
        };
        (!is_enabled).then_some(name)
    }
}
