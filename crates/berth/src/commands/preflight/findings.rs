//! What facts mean for a start.

use berth_cluster::{Definition, DefinitionState, DryRun, Examination, chain};
use berth_http::Address;
use berth_openstack::OpenStackError;
use berth_placement::ledger::{Inspected, LedgerError};
use berth_telemetry::config::Severity;

use super::fact::{Fact, Listener, Login, LoginOutcome};
use super::report::{Finding, State};
use crate::wiring::VmDatabase;

/// All findings, in the order of the facts.
pub(super) fn assess(facts: &[Fact]) -> Vec<Finding> {
    let mut all: Vec<_> = facts.iter().flat_map(findings_of).collect();
    let listeners: Vec<_> = facts.iter().filter_map(as_listener).collect();
    all.extend(shared_addresses(&listeners));
    all
}

fn as_listener(fact: &Fact) -> Option<&Listener> {
    if let Fact::Listener(listener) = fact { Some(listener) } else { None }
}

fn findings_of(fact: &Fact) -> Vec<Finding> {
    let one = |state, about: &str, text: String| vec![Finding::new(state, about, text)];
    match fact {
        Fact::Configuration { severity, text } => one(state_of(*severity), "configuration", text.clone()),
        Fact::Refused(why) => one(State::Failure, "flags", why.clone()),
        Fact::Access(remark) => {
            one(if remark.is_warning { State::Warning } else { State::Ok }, "access", remark.text.clone())
        }
        Fact::Tokens(Ok(true)) => one(State::Ok, "tokens", "the tokens of the scheduler API can be read".to_owned()),
        Fact::Tokens(Ok(false)) => Vec::new(),
        Fact::Tokens(Err(why)) => one(State::Failure, "tokens", why.clone()),
        Fact::Listener(listener) => of_listener(listener).into_iter().collect(),
        Fact::Certificate(certificate) => vec![of_certificate(certificate)],
        Fact::NoHome(why) => one(State::Failure, "cluster home", why.clone()),
        Fact::Cluster { name, is_home, examination } => of_cluster(name, *is_home, examination),
        Fact::Definition { is_ours, definition } => of_definition(*is_ours, definition),
        Fact::Creation { what, name, namespace, dry_run } => of_creation(what, name, namespace, dry_run),
        Fact::Login(login) => vec![of_login(login)],
        Fact::Limes(Ok(projects)) => one(State::Ok, "limes", format!("its lists can be read, of {projects} projects")),
        Fact::Limes(Err(why)) => {
            one(State::Failure, "limes", format!("its lists cannot be read: {why}; nothing is taken over from it"))
        }
        Fact::VmDatabase(database) => of_vm_database(database).into_iter().collect(),
        Fact::Ledger { database, state } => vec![of_ledger(database, state)],
    }
}

fn state_of(severity: Severity) -> State {
    match severity {
        Severity::Error => State::Failure,
        Severity::Unknown | Severity::Warning => State::Warning,
        Severity::Info => State::Ok,
    }
}

/// Days before it expires from which a certificate is warned about: those of the alert.
const RENEWED_BEFORE: i64 = 7;

fn of_certificate(certificate: &Result<i64, String>) -> Finding {
    let (state, text) = match certificate {
        Err(why) => (State::Failure, why.clone()),
        Ok(..0) => (State::Failure, "the certificate in tls.certFile has expired; renew it".to_owned()),
        Ok(days @ ..RENEWED_BEFORE) => {
            (State::Warning, format!("the certificate in tls.certFile is valid for {days} more days; renew it"))
        }
        Ok(days) => (State::Ok, format!("the certificate in tls.certFile is valid for {days} more days")),
    };
    Finding::new(state, "tls", text)
}

fn of_listener(Listener { what, address, taken, .. }: &Listener) -> Option<Finding> {
    let finding = |state, text| Some(Finding::new(state, "listeners", text));
    match (address, taken) {
        (Err(why), _) => finding(State::Failure, why.clone()),
        (Ok(None), _) => finding(State::Ok, format!("the {what} are switched off")),
        // Where a running process is asked about itself.
        (Ok(Some(_)), Some(why)) => finding(
            State::Warning,
            format!(
                "the {what} cannot be opened: {why}; unless that is the process that is to be replaced, end the other one"
            ),
        ),
        (Ok(Some(address)), None) => finding(State::Ok, format!("the {what} can be opened at {address}")),
    }
}

/// Flags that name one address, of which only the first could be opened.
fn shared_addresses(listeners: &[&Listener]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, one) in listeners.iter().enumerate() {
        for other in &listeners[index + 1..] {
            let (Ok(Some(here)), Ok(Some(there))) = (&one.address, &other.address) else { continue };
            if overlap(here, there) {
                let text = format!(
                    "{} and {} both name port {}; give one of them another one",
                    one.flag, other.flag, here.port
                );
                found.push(Finding::new(State::Failure, "listeners", text));
            }
        }
    }
    found
}

fn overlap(here: &Address, there: &Address) -> bool {
    let is_everywhere = |address: &Address| {
        address.host.as_deref().is_none_or(|host| host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_unspecified()))
    };
    let is_same = here.host == there.host || is_everywhere(here) || is_everywhere(there);
    here.port == there.port && here.port != 0 && is_same
}

fn of_cluster(name: &str, is_home: bool, Examination { fine, problems }: &Examination) -> Vec<Finding> {
    let about = format!("cluster {name}");
    let fine = fine.iter().map(|text| Finding::new(State::Ok, about.clone(), text.clone()));
    let problems = problems.iter().map(|problem| {
        let text = problem.to_string();
        // The heading names it.
        let text = text.strip_prefix(&format!("{about}: ")).unwrap_or(&text).to_owned();
        let text = if is_home { text } else { format!("{text} (its zones wait until then)") };
        Finding::new(State::Failure, about.clone(), text)
    });
    fine.chain(problems).collect()
}

fn of_definition(is_ours: bool, Definition { cluster, kind, state }: &Definition) -> Vec<Finding> {
    let finding = |state, text| Finding::new(state, format!("cluster {cluster}"), text);
    let advice = if is_ours {
        "install the CRDs of this version (berth crds prints them)"
    } else {
        "upgrade the deployment that it belongs to"
    };
    match state {
        DefinitionState::Installed(lacks) if lacks.is_empty() => {
            vec![finding(State::Ok, format!("the CRD of {kind} has what is needed"))]
        }
        DefinitionState::Installed(lacks) => {
            let line = |lack: &String| finding(State::Failure, format!("the CRD of {kind}: {lack}; {advice}"));
            lacks.iter().map(line).collect()
        }
        // Whether it must be served is another fact.
        DefinitionState::Absent => Vec::new(),
        DefinitionState::Unread(why) => {
            vec![finding(State::Warning, format!("the CRD of {kind} could not be compared: {why}"))]
        }
    }
}

fn of_creation(what: &str, name: &str, namespace: &str, dry_run: &DryRun) -> Vec<Finding> {
    let object = format!("the {what} {name} in namespace {namespace}");
    let (state, text) = match dry_run {
        // A fact about rights.
        DryRun::NotAllowed => return Vec::new(),
        DryRun::Succeeds => (State::Ok, format!("{object} exists or can be created")),
        DryRun::NoNamespace => (
            State::Failure,
            format!("{object} cannot be created: there is no such namespace; create it, or run in another one"),
        ),
        DryRun::Refused(why) | DryRun::Unanswered(why) => {
            (State::Failure, format!("{object} cannot be created: {why}"))
        }
    };
    vec![Finding::new(state, "cluster home", text)]
}

fn of_login(Login { purpose, secrets, outcome }: &Login) -> Finding {
    let by = match secrets.as_slice() {
        [] => "the credentials of the configuration".to_owned(),
        secrets => format!("the secret {}", secrets.join(" and the secret ")),
    };
    let (state, text) = match outcome {
        LoginOutcome::Succeeded => (State::Ok, format!("login with {by} works, for {purpose}")),
        LoginOutcome::NoCredentials => (
            State::Failure,
            format!(
                "there are no credentials for {purpose}; set keystoneSecretRef, or keystoneURL and the keys beside it"
            ),
        ),
        LoginOutcome::Silent { seconds } => (
            State::Failure,
            format!("no answer within {seconds} s, for {purpose}; check the url in {by} and the network"),
        ),
        LoginOutcome::Failed(error) => {
            (State::Failure, format!("no login for {purpose}: {error}{}", advice(error, &by)))
        }
    };
    Finding::new(state, "keystone", text)
}

/// What to do, unless the error says it.
fn advice(error: &OpenStackError, by: &str) -> String {
    match error {
        OpenStackError::Unreadable { secret, .. } => format!(
            "; the account needs a Role in namespace {} that allows get on the secret {} (secrets.readable of the chart)",
            secret.namespace, secret.name
        ),
        OpenStackError::Unanswered { .. } | OpenStackError::Busy { .. } => {
            format!("; check the url in {by} and the network")
        }
        OpenStackError::NoSecret(_) | OpenStackError::MayNotValidate => String::new(),
        _ => format!("; correct {by}"),
    }
}

fn of_vm_database(database: &VmDatabase) -> Option<Finding> {
    let finding = |state, text: String| Some(Finding::new(state, "database of VMs", text));
    match database {
        VmDatabase::Absent => None,
        VmDatabase::Readable => finding(State::Ok, "it can be read".to_owned()),
        VmDatabase::NoDatasource(name) => finding(
            State::Failure,
            format!("there is no Datasource {name:?} in the home cluster; create it, or correct datasourceName"),
        ),
        VmDatabase::Unreadable(why) => {
            finding(State::Failure, format!("it cannot be read: {why}; usage stays unknown until then"))
        }
    }
}

fn of_ledger(database: &str, state: &Result<Inspected, LedgerError>) -> Finding {
    let about = "database of Placement";
    let fine = |text: String| Finding::new(State::Ok, about, text);
    match state {
        Ok(Inspected::InMemory) => Finding::new(
            State::Warning,
            about,
            "it is in memory, and everything in it is lost when the process ends; name a file or a PostgreSQL database",
        ),
        Ok(Inspected::Absent) => fine(format!("{database} will be created")),
        Ok(Inspected::Empty) => fine(format!("{database} can be reached, and its tables will be created")),
        Ok(Inspected::UpToDate) => fine(format!("{database} can be reached and has the schema of this version")),
        Ok(Inspected::Outdated { migrations }) => fine(format!(
            "{database} can be reached and has an older schema, which the start changes in {migrations} steps"
        )),
        Err(error) => Finding::new(State::Failure, about, chain(error)),
    }
}
