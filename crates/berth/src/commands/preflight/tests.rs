//! What each fact means.

use berth_cluster::{Definition, DefinitionState, DryRun, Examination, Preflight};
use berth_core::ClusterName;
use berth_http::Address;
use berth_openstack::{OpenStackError, Secret};
use berth_placement::ledger::{Inspected, LedgerError};
use berth_telemetry::config::Severity;

use super::fact::{Fact, Listener, Login, LoginOutcome};
use super::findings::assess;
use super::report::{Finding, Report, State};
use crate::operator::AccessRemark;
use crate::wiring::VmDatabase;

fn assessed(fact: Fact) -> Vec<(State, String)> {
    assess(&[fact]).into_iter().map(|Finding { state, about, text }| (state, format!("{about}: {text}"))).collect()
}

/// The only finding of a fact begins and ends like this.
#[track_caller]
fn finds(fact: Fact, state: State, begin: &str, end: &str) {
    let found = assessed(fact);
    let [(is, text)] = found.as_slice() else { panic!("{found:#?}") };
    assert!(*is == state && text.starts_with(begin) && text.ends_with(end), "{is:?} {text}");
}

#[test]
fn the_configuration_is_as_bad_as_its_worst_line() {
    for (severity, state) in [
        (Severity::Error, State::Failure),
        (Severity::Warning, State::Warning),
        (Severity::Unknown, State::Warning),
        (Severity::Info, State::Ok),
    ] {
        finds(Fact::Configuration { severity, text: "a: b".to_owned() }, state, "configuration: a: b", "");
    }
    finds(Fact::Refused("no".to_owned()), State::Failure, "flags: no", "");
}

#[test]
fn who_can_call_is_a_warning_if_it_is_everyone() {
    let remark = |is_warning| Fact::Access(AccessRemark { is_warning, text: "all".to_owned() });
    finds(remark(true), State::Warning, "access: all", "");
    finds(remark(false), State::Ok, "access: all", "");
    finds(Fact::Tokens(Err("unreadable".to_owned())), State::Failure, "tokens: unreadable", "");
    finds(Fact::Tokens(Ok(true)), State::Ok, "tokens: ", "can be read");
    assert!(assessed(Fact::Tokens(Ok(false))).is_empty(), "there are none");
}

#[test]
fn a_certificate_that_expires_soon_is_a_warning_and_one_that_cannot_be_served_a_failure() {
    finds(Fact::Certificate(Ok(90)), State::Ok, "tls: ", "valid for 90 more days");
    finds(Fact::Certificate(Ok(6)), State::Warning, "tls: ", "valid for 6 more days; renew it");
    finds(Fact::Certificate(Ok(-1)), State::Failure, "tls: ", "has expired; renew it");
    finds(Fact::Certificate(Err("no key".to_owned())), State::Failure, "tls: no key", "");
}

fn listener(what: &'static str, address: &str, taken: Option<&str>) -> Fact {
    let address = Address::from_flag(address).map_err(|error| error.to_string());
    Fact::Listener(Listener { what, flag: what, address, taken: taken.map(str::to_owned) })
}

#[test]
fn an_address_is_free_or_taken_or_wrong() {
    finds(listener("probes", ":8081", None), State::Ok, "listeners: the probes can be opened at :8081", "");
    finds(listener("probes", "0", None), State::Ok, "listeners: the probes are switched off", "");
    finds(listener("probes", "nonsense", None), State::Failure, "listeners: ", "");
    finds(listener("probes", ":1", Some("taken")), State::Warning, "listeners: the probes cannot be opened: taken", "");
}

#[test]
fn two_flags_may_not_name_one_address() {
    let clash = |one: &str, other: &str| {
        let found = assess(&[listener("a", one, None), listener("b", other, None)]);
        found
            .iter()
            .filter(|finding| finding.state == State::Failure)
            .map(|finding| finding.text.clone())
            .collect::<Vec<_>>()
    };
    let none: Vec<String> = Vec::new();
    for (one, other) in [(":80", ":80"), (":80", "127.0.0.1:80"), ("[::]:80", "10.0.0.1:80"), ("a:80", "a:80")] {
        assert_eq!(clash(one, other), ["a and b both name port 80; give one of them another one"], "{one} {other}");
    }
    for (one, other) in [(":80", ":81"), ("127.0.0.1:80", "127.0.0.2:80"), (":0", ":0"), ("0", "0")] {
        assert_eq!(clash(one, other), none, "{one} {other}");
    }
}

fn cluster(name: &str, problems: Vec<Preflight>) -> Fact {
    let examination = Examination { fine: vec!["it answers".to_owned()], problems };
    Fact::Cluster { name: name.to_owned(), is_home: name == "home", examination }
}

#[test]
fn each_problem_of_a_cluster_is_a_failure_also_of_a_remote() {
    let old = |cluster: ClusterName| Preflight::Version { cluster, found: "v1.30.4".to_owned() };
    let text = "the API server has version v1.30.4; upgrade it to 1.31 or newer";
    assert_eq!(
        assessed(cluster("home", vec![old(ClusterName::home())])),
        [(State::Ok, "cluster home: it answers".to_owned()), (State::Failure, format!("cluster home: {text}"))]
    );
    let remote = assessed(cluster("b", vec![old(ClusterName::new("b"))]));
    assert_eq!(remote[1], (State::Failure, format!("cluster b: {text} (its zones wait until then)")));
    finds(Fact::NoHome("nothing".to_owned()), State::Failure, "cluster home: nothing", "");
}

fn definition(is_ours: bool, state: DefinitionState) -> Fact {
    let definition = Definition { cluster: ClusterName::home(), kind: "Reservation".to_owned(), state };
    Fact::Definition { is_ours, definition }
}

#[test]
fn a_crd_that_lacks_something_is_to_be_upgraded_by_its_owner() {
    let lacks = || DefinitionState::Installed(vec!["it has no field a".to_owned()]);
    let begin = "cluster home: the CRD of Reservation: it has no field a; ";
    finds(
        definition(true, lacks()),
        State::Failure,
        begin,
        "install the CRDs of this version (berth crds prints them)",
    );
    finds(definition(false, lacks()), State::Failure, begin, "upgrade the deployment that it belongs to");
    finds(
        definition(true, DefinitionState::Installed(vec![])),
        State::Ok,
        "cluster home: the CRD of Reservation has",
        "",
    );
    let unread = DefinitionState::Unread("silence".to_owned());
    finds(definition(true, unread), State::Warning, "cluster home: the CRD of Reservation could not", ": silence");
    assert!(assessed(definition(true, DefinitionState::Absent)).is_empty(), "what must be served is another fact");
}

#[test]
fn objects_that_could_not_be_created_are_failures() {
    let creation =
        |dry_run| Fact::Creation { what: "Lease", name: "berth".to_owned(), namespace: "n".to_owned(), dry_run };
    let begin = "cluster home: the Lease berth in namespace n ";
    finds(creation(DryRun::Succeeds), State::Ok, begin, "exists or can be created");
    finds(creation(DryRun::NoNamespace), State::Failure, begin, "create it, or run in another one");
    assert!(assessed(creation(DryRun::NotAllowed)).is_empty(), "the missing right is another fact");
    finds(creation(DryRun::Refused("quota".to_owned())), State::Failure, begin, "cannot be created: quota");
}

fn login(outcome: LoginOutcome) -> Fact {
    Fact::Login(Login { purpose: "callers", secrets: vec!["n/keystone".to_owned()], outcome })
}

#[test]
fn a_login_that_fails_says_what_to_correct() {
    let failed = |error| login(LoginOutcome::Failed(error));
    let secret = || Secret { namespace: "n".to_owned(), name: "keystone".to_owned() };
    finds(login(LoginOutcome::Succeeded), State::Ok, "keystone: login with the secret n/keystone works", "for callers");
    finds(
        login(LoginOutcome::NoCredentials),
        State::Failure,
        "keystone: there are no credentials for callers; set",
        "",
    );
    finds(login(LoginOutcome::Silent { seconds: 30 }), State::Failure, "keystone: no answer within 30 s", "network");
    for (error, end) in [
        (OpenStackError::MissingKey("password"), "missing password in auth secret; correct the secret n/keystone"),
        (OpenStackError::Refused("401".to_owned()), "refuses the credentials: 401; correct the secret n/keystone"),
        (OpenStackError::NoSecret(secret()), "create it or correct its name in the configuration"),
        (
            OpenStackError::Unreadable { secret: secret(), cause: "403".to_owned() },
            "needs a Role in namespace n that allows get on the secret keystone (secrets.readable of the chart)",
        ),
        (
            OpenStackError::Unanswered { url: "http://id".to_owned(), cause: "refused".to_owned() },
            "check the url in the secret n/keystone and the network",
        ),
    ] {
        finds(failed(error), State::Failure, "keystone: no login for callers: ", end);
    }
}

#[test]
fn limes_and_the_databases_can_be_read_or_not() {
    finds(Fact::Limes(Ok(3)), State::Ok, "limes: its lists can be read, of 3 projects", "");
    finds(Fact::Limes(Err("no".to_owned())), State::Failure, "limes: its lists cannot be read: no", "");
    let vms = Fact::VmDatabase;
    assert!(assessed(vms(VmDatabase::Absent)).is_empty());
    finds(vms(VmDatabase::Readable), State::Ok, "database of VMs: it can be read", "");
    finds(vms(VmDatabase::Unreadable("no".to_owned())), State::Failure, "database of VMs: it cannot be read: no", "");
    let none = VmDatabase::NoDatasource("d".to_owned());
    finds(vms(none), State::Failure, "database of VMs: there is no Datasource \"d\"", "correct datasourceName");
    let ledger = |state| Fact::Ledger { database: "a.db".to_owned(), state };
    for (state, end) in [
        (Inspected::Absent, "a.db will be created"),
        (Inspected::Empty, "its tables will be created"),
        (Inspected::UpToDate, "has the schema of this version"),
        (Inspected::Outdated { migrations: 2 }, "which the start changes in 2 steps"),
    ] {
        finds(ledger(Ok(state)), State::Ok, "database of Placement: ", end);
    }
    finds(ledger(Ok(Inspected::InMemory)), State::Warning, "database of Placement: it is in memory", "");
    let error = LedgerError::TooNew { version: 9, oldest_binary: 2, own: 1 };
    finds(ledger(Err(error)), State::Failure, "database of Placement: the database has schema 9", "");
}

#[test]
fn a_report_counts_and_shows_everything() {
    let finding = |state| Finding::new(state, "a", "b");
    let fine = Report::new(vec![finding(State::Ok), finding(State::Warning)]);
    assert_eq!(fine.text(), "ok       a: b\nwarning  a: b\nready to start: no failures, 1 warning\n");
    let bad = Report::new(vec![finding(State::Failure)]);
    assert_eq!(
        (bad.text().as_str(), bad.summary().as_str()),
        ("failure  a: b\n", "not ready to start: 1 failure, no warnings")
    );
    let json = serde_json::to_value(&bad).unwrap();
    let expected = serde_json::json!({
        "failures": 1, "warnings": 0, "findings": [{ "state": "failure", "about": "a", "text": "b" }],
    });
    assert_eq!(json, expected);
}
