//! Row x: the usage reconciler during an hour in which nothing changes, over a whole cloud ([`crate::rest`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{FlavorGroupsCache, Routes};
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommittedResourceStatus, names, testing};
use berth_projects::ProjectSources;
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::vms::slot_flavor;
use berth_testkit::{Server, seeds};
use berth_usage::{Context, Settings, UsageController, UsageMetrics};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use jiff::Timestamp;

use crate::error::Error;
use crate::pairs::per;
use crate::rest::{CountedClock, HOUR, Scene, create_hosts, project_name, refused, run_hour, vm_row};
use crate::size::Size;
use crate::table::{Goal, Row};

const PERIOD: Duration = Duration::from_secs(300);
const PER_PROJECT: usize = 20;
const SLOTS_PER_COMMITMENT: usize = 5;
const PERCENT: f64 = 1.0;

pub fn measure(size: Size) -> Result<Row, Error> {
    let vms = size.pick(100_000, 2_000);
    let cost = run_hour(PERIOD.as_secs(), move || scene(vms))?;
    let commitments = vms / SLOTS_PER_COMMITMENT;
    let most = cost.writes.values().copied().max().unwrap_or_default();
    let percent = cost.cpu_seconds * 100.0 / per(HOUR, 1);
    println!("x, {vms} VMs: {} runs, {} written, {:.1} s", cost.runs, cost.writes.len(), cost.cpu_seconds);
    let what = format!("usage of {vms} VMs in {commitments} commitments, without a change for an hour");
    let goals = vec![
        Goal::budget("at most one write for each commitment", most.to_string(), most <= 1),
        Goal::wanted(
            format!("under {PERCENT} % of a core, the double of the API server included"),
            format!("{percent:.2} %"),
            percent < PERCENT,
        ),
    ];
    Ok(Row { letter: 'x', what, goals })
}

fn scene(vms: usize) -> Result<Scene<UsageController>, Error> {
    let clock = CountedClock::default();
    let server = Server::new(Arc::new(clock.clone()));
    fill(&server, vms, clock.now())?;
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    Scene::new((server, clock.clone()), |world, requests| {
        let source = VmSource::new(shared.clone(), Duration::from_secs(HOUR));
        let metrics = Metrics::new(&BTreeMap::new())?;
        let controller = UsageController::new(Context {
            commitments: world.writer(&world.stores.commitments),
            sources: ProjectSources::new(
                &world.stores,
                FlavorGroupsCache::new(world.stores.knowledges.clone()),
                source.clone(),
                Routes::home_only(),
            ),
            clock: shared,
            metrics: UsageMetrics::register(&metrics)?,
            requests,
            settings: Settings { period: PERIOD },
        });
        // A complete read, without the database.
        let read = move || {
            let rows = (0..vms).map(row).collect();
            source.publish(VmSnapshot::new(rows, vec![slot_flavor()], clock.now()));
        };
        Ok((controller, Box::new(read)))
    })
}

fn fill(server: &Server, vms: usize, now: Timestamp) -> Result<(), Error> {
    server.create(&seeds::flavor_groups_with_half(now)).map_err(refused)?;
    create_hosts(server, vms)?;
    for number in 0..vms / SLOTS_PER_COMMITMENT {
        let mut object = testing::commitment(&format!("uuid-{number:06}"), &seeds::slots(SLOTS_PER_COMMITMENT as u64));
        object.spec.project_id = project_of(number * SLOTS_PER_COMMITMENT);
        let ready = ready_condition(Status::True, "Accepted", "", Some(1), now);
        object.status = Some(CommittedResourceStatus {
            accepted_spec: Some(object.spec.clone()),
            conditions: vec![ready],
            ..CommittedResourceStatus::default()
        });
        server.create(&object).map_err(refused)?;
        let status = serde_json::json!({ "status": object.status });
        let name = names::commitment(&object.spec.commitment_uuid);
        server.edit_status::<berth_crds::CommittedResource>(&name, &status).map_err(refused)?;
    }
    Ok(())
}

fn row(number: usize) -> VmRow {
    vm_row(number, project_of(number), testing::ZONE)
}

fn project_of(vm: usize) -> String {
    project_name(vm / PER_PROJECT)
}
