//! Rows D and E: the usage of quota during an hour in which nothing changes ([`crate::rest`]), and its page of metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_cluster::{FlavorGroupsCache, Routes};
use berth_core::commitment::State;
use berth_core::liquid::units::RamUnit;
use berth_crds::{ProjectQuota, ProjectQuotaSpec, names, testing};
use berth_projects::ProjectSources;
use berth_quota::{Context, QuotaController, QuotaMetrics, Settings};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::vms::slot_flavor;
use berth_testkit::{Server, seeds};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use jiff::Timestamp;

use crate::error::Error;
use crate::pairs::per;
use crate::proc;
use crate::rest::{CountedClock, HOUR, Scene, create_hosts, project_name, refused, run_hour, vm_row};
use crate::size::Size;
use crate::table::{Goal, Row};

const ZONES: [&str; 3] = ["eu-test-1a", "eu-test-1b", "eu-test-1c"];
const VMS_PER_PLACE: usize = 2;
const PERIOD: Duration = Duration::from_secs(300);
/// Each object is refreshed once an hour, at its own minute.
const SETTLING: u64 = HOUR;
const COMPUTED_MILLIS: f64 = 200.0;
const PAGE_SECONDS: f64 = 1.0;
const PAGE_MIB: f64 = 32.0;

/// Both rows.
pub fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let projects = size.pick(5_000, 200);
    let metrics = Metrics::new(&BTreeMap::new())?;
    let shown = metrics.clone();
    let cost = run_hour(SETTLING, move || scene(projects, &metrics))?;
    let most = cost.writes.values().copied().max().unwrap_or_default();
    let (millis, percent) = (cost.again_seconds * 1e3, cost.cpu_seconds * 100.0 / per(HOUR, 1));
    println!("D: {} runs, {} objects written, {:.1} s", cost.runs, cost.writes.len(), cost.cpu_seconds);
    let goals = vec![
        Goal::budget("at most one write for each object", most.to_string(), most <= 1),
        Goal::wanted(
            format!("a full computation under {COMPUTED_MILLIS} ms"),
            format!("{millis:.0} ms"),
            millis < COMPUTED_MILLIS,
        ),
        Goal::new("shown: of a core, the double of the API server included", format!("{percent:.2} %")),
    ];
    let what = format!("usage of quota, {projects} projects in {} zones, without a change for an hour", ZONES.len());
    Ok(vec![Row { letter: 'D', what, goals }, page(&shown, projects)?])
}

/// Row E: pieces are dropped as soon as they are there, as a fast client takes them.
fn page(metrics: &Metrics, projects: usize) -> Result<Row, Error> {
    let me = std::process::id();
    proc::forget_peak(me)?;
    let before = proc::usage(me)?;
    let (begin, mut bytes, mut lines) = (Instant::now(), 0, 0);
    for piece in metrics.pieces() {
        bytes += piece.len();
        lines += piece.lines().filter(|line| !line.starts_with('#')).count();
    }
    let (seconds, after) = (begin.elapsed().as_secs_f64(), proc::usage(me)?);
    let grown = per(after.peak_kib.saturating_sub(before.resident_kib), 1024);
    let what =
        format!("/metrics with {projects} projects in {} zones: {lines} series, {} KiB", ZONES.len(), bytes >> 10);
    let goals = vec![
        Goal::wanted(format!("under {PAGE_SECONDS} s"), format!("{seconds:.2} s"), seconds < PAGE_SECONDS),
        Goal::wanted(format!("under {PAGE_MIB} MiB"), format!("{grown:.1} MiB"), grown < PAGE_MIB),
    ];
    Ok(Row { letter: 'E', what, goals })
}

fn scene(projects: usize, metrics: &Metrics) -> Result<Scene<QuotaController>, Error> {
    let clock = CountedClock::default();
    let server = Server::new(Arc::new(clock.clone()));
    fill(&server, projects, clock.now())?;
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    Scene::new((server, clock.clone()), |world, requests| {
        let source = VmSource::new(shared.clone(), Duration::from_secs(HOUR));
        source.set_configured(true);
        let stores = &world.stores;
        let controller = QuotaController::new(Context {
            quotas: world.writer(&stores.quotas),
            sources: ProjectSources::new(
                stores,
                FlavorGroupsCache::new(stores.knowledges.clone()),
                source.clone(),
                Routes::home_only(),
            ),
            unit_of: Arc::new(|_| RamUnit::default()),
            clock: shared,
            metrics: QuotaMetrics::register(metrics)?,
            requests,
            settings: Settings { period: PERIOD, states: vec![State::Confirmed], follows_hosts: true },
        });
        let read = move || {
            let rows = (0..projects * ZONES.len() * VMS_PER_PLACE).map(row).collect();
            source.publish(VmSnapshot::new(rows, vec![slot_flavor()], clock.now()));
        };
        Ok((controller, Box::new(read)))
    })
}

fn fill(server: &Server, projects: usize, now: Timestamp) -> Result<(), Error> {
    server.create(&seeds::flavor_groups_with_half(now)).map_err(refused)?;
    let vms = projects * ZONES.len() * VMS_PER_PLACE;
    create_hosts(server, vms)?;
    for project in 0..projects {
        for zone in ZONES {
            let spec = ProjectQuotaSpec {
                project_id: project_name(project),
                availability_zone: zone.to_owned(),
                quota: [(format!("hw_version_{}_ram", testing::GROUP), 4800)].into(),
                ..ProjectQuotaSpec::default()
            };
            let name = names::project_quota(&spec.project_id, zone);
            server.create(&ProjectQuota::new(&name, spec)).map_err(refused)?;
        }
    }
    Ok(())
}

fn row(number: usize) -> VmRow {
    let place = number / VMS_PER_PLACE;
    vm_row(number, project_name(place / ZONES.len()), ZONES[place % ZONES.len()])
}
