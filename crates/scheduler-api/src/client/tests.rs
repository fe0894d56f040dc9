//! The client against scripted servers.

mod answers;
mod slots;
mod token;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::flavor::Flavor;
use berth_core::host::Host;
use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey};
use berth_scheduler::{BuiltIn, Options, Request, Scheduler, SchedulerError, Settings, SlotRequest, WaitingRank};
use berth_testkit::stub::{Reply, Stub};

use super::External;

/// Long enough for every expected answer.
const LONG: Duration = Duration::from_secs(30);
/// For answers that must not come.
const SHORT: Duration = Duration::from_millis(200);

fn gib(cpu: i64, gib: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn host(name: &str) -> Host {
    Host {
        name: name.into(),
        zone: "az-west-2".into(),
        capacity: gib(16, 128).into(),
        effective_capacity: gib(16, 128).into(),
        allocation: Resources::ZERO.into(),
        ..Host::default()
    }
}

fn view(hosts: &[&str]) -> Arc<BuiltIn> {
    let view = BuiltIn::new(Settings::default(), Box::new(|_| {}));
    for name in hosts {
        view.host_changed(&(*name).into(), Some(host(name)));
    }
    Arc::new(view)
}

fn flavor() -> Flavor {
    let specs = [("capabilities:hypervisor_type", "CH"), ("quota:hw_version", "amber")];
    let extra_specs: BTreeMap<String, String> = specs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Flavor { name: "amber_l".into(), vcpus: 10, memory_mib: 30720, disk_gib: 0, extra_specs }
}

fn slot() -> SlotRequest {
    SlotRequest {
        key: SlotKey::new(ClusterName::home(), "commitment-3b1e-0"),
        rank: WaitingRank { created_unix: 1, commitment: "3b1e".into(), number: 0 },
        project: "7d3f0c".into(),
        zone: "az-west-2".into(),
        flavor: flavor(),
        size: flavor().size(),
        vms: [].into(),
        domain_name: Some("acme".to_owned()),
        pipeline: "kvm-general-purpose-load-balancing".to_owned(),
        prefer: None,
        request_id: "committed-resource-5f0c".to_owned(),
    }
}

fn question() -> Request {
    let options = Options::read_only();
    Request { pipeline: "p".to_owned(), options, ..Request::new("capacity-amber_l", flavor()) }
}

fn external(stub: &Stub, view: Arc<BuiltIn>) -> External {
    External::with_timeout(&stub.url(crate::wire::PATH), Some("berth/1.0"), view, LONG).unwrap()
}

/// The result of a probe of a server with these replies.
async fn probe(timeout: Duration, replies: impl IntoIterator<Item = Reply>) -> (Result<Vec<HostName>, String>, Stub) {
    let stub = Stub::start(replies).await;
    let scheduler = External::with_timeout(&stub.url(crate::wire::PATH), None, view(&["a"]), timeout).unwrap();
    let answer = scheduler.probe(&question(), "").await;
    (answer.map_err(|error| text(&error)), stub)
}

/// The text of an error of the external scheduler.
fn text(error: &SchedulerError) -> String {
    assert!(matches!(error, SchedulerError::External(_)), "{error:?}");
    error.to_string()
}

fn names(names: &[&str]) -> Vec<HostName> {
    names.iter().map(|name| (*name).into()).collect()
}
