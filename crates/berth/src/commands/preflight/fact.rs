//! What is known before a start. `findings` decides what each fact means.

use berth_cluster::{Definition, DryRun, Examination};
use berth_http::Address;
use berth_openstack::OpenStackError;
use berth_placement::ledger::{Inspected, LedgerError};
use berth_telemetry::config::Severity;

use crate::operator::AccessRemark;
use crate::wiring::VmDatabase;

/// One thing that was asked, with its answer.
pub(super) enum Fact {
    /// A line about the configuration.
    Configuration {
        severity: Severity,
        text: String,
    },
    /// What flags and configuration together do not allow, and the reason.
    Refused(String),
    /// Who can call the APIs.
    Access(AccessRemark),
    Tokens(Result<bool, String>),
    Listener(Listener),
    /// The certificate of the listeners: how many days it is valid for, less than zero once it has expired.
    Certificate(Result<i64, String>),
    /// There is no way to the home cluster, or it does not answer.
    NoHome(String),
    Cluster {
        name: String,
        is_home: bool,
        examination: Examination,
    },
    Definition {
        is_ours: bool,
        definition: Definition,
    },
    /// An object that is created in the own namespace.
    Creation {
        what: &'static str,
        name: String,
        namespace: String,
        dry_run: DryRun,
    },
    Login(Login),
    /// The lists of Limes: the number of projects.
    Limes(Result<usize, String>),
    VmDatabase(VmDatabase),
    Ledger {
        database: String,
        state: Result<Inspected, LedgerError>,
    },
}

/// A flag with an address.
pub(super) struct Listener {
    /// `metrics` for example.
    pub(super) what: &'static str,
    pub(super) flag: &'static str,
    /// `None`: switched off.
    pub(super) address: Result<Option<Address>, String>,
    /// Why it could not be opened, if it was tried.
    pub(super) taken: Option<String>,
}

/// A login to Keystone.
pub(super) struct Login {
    pub(super) purpose: &'static str,
    /// As `namespace/name`.
    pub(super) secrets: Vec<String>,
    pub(super) outcome: LoginOutcome,
}

pub(super) enum LoginOutcome {
    Succeeded,
    Failed(OpenStackError),
    NoCredentials,
    Silent { seconds: u64 },
}
