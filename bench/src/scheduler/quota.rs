//! Measures what the filter of quota adds to a request of Nova: the same request runs through two pipelines, of which one
//! has the filter.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::{ClusterName, ProjectId};
use berth_scheduler::{
    BudgetChange, BuiltIn, Call, CommittedRam, GroupQuota, Options, Pipeline, PipelineSpec, Pipelines, Request,
    ResourceQuota, StepSpec, Stopwatch,
};
use fastrand::Rng;
use jiff::Timestamp;

use super::cloud;
use crate::error::Error;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const PROJECTS: u64 = 5_000;
const ZONES: [&str; 3] = ["eu-test-1a", "eu-test-1b", "eu-test-1c"];
const GROUPS: u64 = 10;
/// VMs that Nova was given hosts for and that have not appeared yet.
const CLAIMS: u64 = 1_000;
const MOST_MICROS: f64 = 5.0;

const FILTERS: [&str; 4] =
    ["filter_status_conditions", "filter_correct_az", "filter_has_enough_capacity", "filter_quota_enforcement"];

/// One row, with the same for a tenth of the projects.
pub fn measure(size: Size) -> Result<Row, Error> {
    let runs = size.pick(20_000, 2_000);
    let [many, few] = [PROJECTS, PROJECTS / 10].map(|projects| compared(projects, runs));
    let (many, few) = (many?, few?);
    let micros = |took: Duration| took.as_secs_f64() * 1e6;
    let added = micros(many.added());
    let found = format!("{added:.2} us ({:.1} to {:.1} us)", micros(many.with.median()), micros(many.without.median()));
    let goals = vec![
        Goal::wanted(format!("at most {MOST_MICROS} us more, by the medians"), found, added <= MOST_MICROS),
        Goal::new(format!("shown: with {} projects", PROJECTS / 10), format!("{:.2} us", micros(few.added()))),
    ];
    let what = format!("the filter of quota in a request of Nova, {PROJECTS} projects in 3 zones, {CLAIMS} claims");
    Ok(Row { letter: 'z', what, goals })
}

/// The times with and without the filter.
#[derive(Default)]
struct Compared {
    with: Times,
    without: Times,
}

impl Compared {
    fn added(&self) -> Duration {
        self.with.median().saturating_sub(self.without.median())
    }
}

fn compared(projects: u64, runs: u64) -> Result<Compared, Error> {
    let mut chance = Rng::with_seed(26);
    let (hosts, slots) = cloud::objects(cloud::HOSTS, &mut chance);
    let scheduler = cloud::scheduler(&hosts, &slots);
    scheduler.set_pipelines(pipelines());
    budgets(projects).for_each(|change| scheduler.budget_changed(change));
    for number in 0..CLAIMS {
        let request = request(runs + number, projects, &mut chance);
        let request = Request { pipeline: "with".to_owned(), options: Options::default(), ..request };
        answer(&scheduler, &request)?;
    }
    let mut compared = Compared::default();
    for number in 0..runs {
        let request = request(number, projects, &mut chance);
        // Each is the first one of every second pair.
        let mut sides = [("with", &mut compared.with), ("without", &mut compared.without)];
        if number % 2 == 1 {
            sides.reverse();
        }
        for (pipeline, times) in sides {
            let request = Request { pipeline: pipeline.to_owned(), ..request.clone() };
            times.add(answer(&scheduler, &request)?);
        }
    }
    Ok(compared)
}

fn answer(scheduler: &BuiltIn, request: &Request) -> Result<Duration, Error> {
    let watch = Watch(Instant::now());
    let call = Call { stopwatch: Some(&watch), ..Call::new(request, (Duration::ZERO, Timestamp::UNIX_EPOCH)) };
    let began = Instant::now();
    black_box(scheduler.answer(&call)?);
    Ok(began.elapsed())
}

/// A request of one of the projects, for the group of its commitments.
fn request(number: u64, projects: u64, chance: &mut Rng) -> Request {
    let of = chance.u64(..projects);
    let mut request = Request { project: project(of), ..cloud::vm_request(number, chance) };
    request.flavor.extra_specs.insert("quota:hw_version".to_owned(), committed_group(of));
    request
}

/// The group in which a project has commitments.
fn committed_group(project: u64) -> String {
    format!("g{}", project % GROUPS)
}

fn project(number: u64) -> ProjectId {
    format!("{number:032x}").into()
}

fn pipelines() -> Pipelines {
    let mut pipelines = Pipelines::default();
    for (name, filters) in [("with", &FILTERS[..]), ("without", &FILTERS[..3])] {
        let spec = PipelineSpec {
            name: name.to_owned(),
            ignore_preselection: true,
            filters: filters.iter().map(|filter| StepSpec::new(filter)).collect(),
            ..PipelineSpec::default()
        };
        Pipeline::load(&spec).pipeline.into_iter().for_each(|pipeline| pipelines.insert(pipeline));
    }
    pipelines
}

/// In each zone each project has a quota of all groups, and two commitments that are used up.
fn budgets(projects: u64) -> impl Iterator<Item = BudgetChange> {
    let places = (0..projects).flat_map(|number| ZONES.map(|zone| (number, zone)));
    places.flat_map(|(number, zone)| {
        let limit = |quota| ResourceQuota { quota: Some(quota), used: quota / 2 };
        let quota = GroupQuota { ram: limit(40_000), cores: limit(10_000), instances: limit(1_000) };
        let groups = (0..GROUPS).map(|group| (format!("g{group}").into(), quota)).collect();
        let commitment = move |at: u64| {
            let committed = CommittedRam {
                project: project(number),
                zone: zone.into(),
                group: committed_group(number).into(),
                amount_gib: 960,
                used_gib: 960,
                start: Some(Timestamp::UNIX_EPOCH),
                end: None,
            };
            let name: Arc<str> = format!("commitment-{number}-{zone}-{at}").into();
            BudgetChange::Commitment((ClusterName::home(), name), Some(committed))
        };
        [BudgetChange::Quota(project(number), zone.into(), Some(groups)), commitment(0), commitment(1)]
    })
}

#[derive(Debug)]
struct Watch(Instant);

impl Stopwatch for Watch {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
