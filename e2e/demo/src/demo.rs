//! The steps of the demonstration, and when it continues.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use tokio::time::sleep;

use crate::arguments::Arguments;
use crate::client::client;
use crate::documents::{self, File};
use crate::error::Error;
use crate::operator::Operator;
use crate::outage::{self, Story, Versions};
use crate::processes::Processes;
use crate::program::Program;
use crate::samples::{self, Labels, Sample};
use crate::screen::Screen;
use crate::sites::{REMOTE_ZONE, Site, Sites};
use crate::snapshot::{self, Snapshot};
use crate::table::{self, Table};
use crate::world::World;
use crate::{asking, end_state, expectation, hints, invariants, limes, numbers, steady, vms};

/// How long nothing may change before a commitment counts as steady.
const QUIET: Duration = Duration::from_secs(1);
/// How long a commitment may take until then.
const STEADY_WITHIN: Duration = Duration::from_secs(60);
/// How often it is checked whether everything runs and is quiet.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// All data from files, read before anything is started.
struct Script {
    operator: Program,
    rbac: Vec<File>,
    /// The roles in the other cluster.
    remote_rbac: Vec<File>,
    cloud: Vec<File>,
    samples: Vec<Sample>,
    /// The steps after the samples, when there are two clusters.
    outage: Option<Story>,
    labels: Labels,
}

impl Script {
    fn read(arguments: &Arguments) -> Result<Self, Error> {
        let samples = samples::read(&arguments.commitments())?;
        let outage = arguments.has_remote().then(|| Story::read(&arguments.outage())).transpose()?;
        let all = samples.iter().chain(outage.iter().flat_map(Story::samples));
        Ok(Self {
            operator: Program::find(arguments.operator.as_deref(), arguments.empty_root)?,
            rbac: documents::folder(&arguments.rbac())?,
            remote_rbac: documents::folder(&arguments.rbac().join("remote"))?,
            cloud: documents::folder(&arguments.cloud())?,
            labels: samples::labels(all),
            outage,
            samples,
        })
    }
}

/// Runs the demonstration; without `--once` until a signal ends it.
pub async fn run(arguments: &Arguments, screen: &mut Screen, processes: &mut Processes) -> Result<(), Error> {
    let begin = Instant::now();
    let script = Script::read(arguments)?;
    let mut sites = prepare(arguments, &script, screen, processes).await?;
    let mut stage = Stage { world: World::follow(&sites.clients()), labels: &script.labels, screen, processes };
    if arguments.checks {
        return limes::check(&mut stage, true).await;
    }
    limes::show_missed_call(&mut stage, &sites.home.client).await?;
    for (number, sample) in script.samples.iter().enumerate() {
        stage.commit(sample, &mut sites).await?;
        if number == 0 {
            vms::show_usage(&mut stage, &sites, sample).await?;
        }
    }
    stage.ask(arguments).await?;
    limes::play(&mut stage).await?;
    if let Some(story) = &script.outage {
        story.show(&mut stage, &mut sites).await?;
    }
    if arguments.once {
        limes::check(&mut stage, false).await?;
        return stage.check_end_state(arguments, &sites, begin).await;
    }
    stage.go_on().await
}

/// Everything up to a running operator in a cloud without commitments.
async fn prepare(
    arguments: &Arguments,
    script: &Script,
    screen: &mut Screen,
    processes: &mut Processes,
) -> Result<Sites, Error> {
    let mut sites = start(arguments, screen, processes).await?;
    let begin = Instant::now();
    let count = sites.home.prepare(&script.rbac).await?;
    if let Some(remote) = &mut sites.remote {
        remote.prepare(&script.remote_rbac).await?;
    }
    screen.done(&format!("{count} CRDs and the roles of the operator"), begin);
    let begin = Instant::now();
    let objects: Vec<_> = script.cloud.iter().flat_map(|file| &file.objects).collect();
    for object in &objects {
        sites.apply(object).await?;
    }
    screen.done(&format!("cloud: {} objects, hosts and flavor groups", objects.len()), begin);
    if arguments.auth {
        let begin = Instant::now();
        processes.start_keystone().await?;
        screen.done("a double of keystone; callers of the operator show its tokens", begin);
    } else if !arguments.checks {
        let begin = Instant::now();
        limes::list_missed(processes).await?;
        screen.done("a list of Limes with one commitment, whose call was missed", begin);
    }
    let begin = Instant::now();
    processes.start_operator(&script.operator).await?;
    let place = if arguments.empty_root { ", in an empty root file system" } else { "" };
    screen.done(&format!("operator: ready, as service account berth-system/berth{place}"), begin);
    let begin = Instant::now();
    numbers::await_capacities(&sites).await?;
    screen.done("capacity: counted for each flavor group and zone", begin);
    if let Some(log) = processes.operator().map(Operator::log) {
        screen.print(&format!("  its log: {}\n", log.display()));
    }
    Ok(sites)
}

async fn start(arguments: &Arguments, screen: &mut Screen, processes: &mut Processes) -> Result<Sites, Error> {
    let begin = Instant::now();
    let home = Site::new(client(processes.start_home().await?).await?);
    screen.done("control plane: etcd and kube-apiserver are ready", begin);
    if !arguments.has_remote() {
        return Ok(Sites { home, remote: None });
    }
    let begin = Instant::now();
    let remote = Site::new(client(processes.start_remote().await?).await?);
    screen.done(&format!("a second control plane, for the zone {REMOTE_ZONE}"), begin);
    Ok(Sites { home, remote: Some(remote) })
}

/// The running cloud and its watches.
pub struct Stage<'a> {
    world: World,
    labels: &'a Labels,
    pub screen: &'a mut Screen,
    pub processes: &'a mut Processes,
}

impl Stage<'_> {
    /// Applies a commitment, and waits until it has settled.
    pub async fn commit(&mut self, sample: &Sample, sites: &mut Sites) -> Result<(), Error> {
        let begin = Instant::now();
        sites.apply(&sample.object).await?;
        while let Some(why) = self.restless(sample) {
            self.wait(begin, STEADY_WITHIN, &sample.label, &why).await?;
        }
        let outcome = self.outcome(sample);
        self.screen.done(&format!("{}: {outcome}", sample.label), begin);
        Ok(())
    }

    async fn ask(&mut self, arguments: &Arguments) -> Result<(), Error> {
        let begin = Instant::now();
        if let Some(scheduler) = self.processes.operator().map(Operator::scheduler) {
            let answer = asking::ask(scheduler, &arguments.request()).await?;
            self.screen.done(&format!("Nova asks for a host for a VM of 01's project: {answer}"), begin);
        }
        Ok(())
    }

    /// The name of a commitment that is no sample, if there is one.
    pub fn unlabelled(&self) -> Option<String> {
        let snapshot = self.world.snapshot();
        let mut names = snapshot.commitments.iter().map(|commitment| commitment.name_any());
        names.find(|name| !self.labels.contains_key(name))
    }

    pub fn snapshot(&self) -> Snapshot {
        self.world.snapshot()
    }

    /// Shows the table for a moment; fails when the awaited state takes too long.
    pub async fn wait(&mut self, since: Instant, within: Duration, commitment: &str, why: &str) -> Result<(), Error> {
        if since.elapsed() <= within {
            return self.watch().await;
        }
        let (commitment, why) = (commitment.to_owned(), why.to_owned());
        Err(Error::NotSteady { commitment, seconds: within.as_secs(), why, log: self.processes.log_tail() })
    }

    /// Fails unless every earlier object still has the same version.
    pub fn left_alone(&mut self, before: &Versions, after: &Versions) -> Result<(), Error> {
        let touched = outage::touched(before, after);
        if !touched.is_empty() {
            return Err(Error::Touched(touched));
        }
        self.screen.print(&format!("✓ {} objects of cluster {REMOTE_ZONE} were left alone all the time", before.len()));
        Ok(())
    }

    fn restless(&self, sample: &Sample) -> Option<String> {
        let noisy = || (self.world.quiet_for() < QUIET).then(|| "objects keep changing".to_owned());
        steady::unsettled(self.world.snapshot().commitment(&sample.name())).or_else(noisy)
    }

    fn outcome(&self, sample: &Sample) -> String {
        let snapshot = self.world.snapshot();
        let Some(commitment) = snapshot.commitment(&sample.name()) else { return "gone".to_owned() };
        let reason = snapshot::ready(commitment).map_or("", |ready| ready.reason.as_str());
        format!("{reason}, {} slots", table::slots(commitment, &snapshot))
    }

    /// Shows the table for a moment, or until something changes.
    pub async fn watch(&mut self) -> Result<(), Error> {
        self.processes.check()?;
        self.screen.show(Table::new(&self.world.snapshot(), self.labels));
        tokio::select! {
            () = self.world.changed() => {}
            () = self.screen.resized() => {}
            () = sleep(POLL_INTERVAL) => {}
        }
        Ok(())
    }

    /// Compares the end state with the committed one, or updates that.
    async fn check_end_state(&mut self, arguments: &Arguments, sites: &Sites, begin: Instant) -> Result<(), Error> {
        let path = arguments.end_state();
        let home = end_state::read(&sites.home.client, self.labels).await?;
        invariants::check(&home)?;
        let outcome = match &sites.remote {
            None => expectation::compare(&home, &path, arguments.update)?,
            Some(remote) => {
                let remote = end_state::read(&remote.client, self.labels).await?;
                invariants::check(&remote)?;
                expectation::compare(&BTreeMap::from([("home", home), (REMOTE_ZONE, remote)]), &path, arguments.update)?
            }
        };
        self.screen.done(&format!("the end state is sound, and {outcome} {}", path.display()), begin);
        Ok(())
    }

    /// Prints commands to try, and shows their effects.
    async fn go_on(&mut self) -> Result<(), Error> {
        let snapshot = self.world.snapshot();
        let propose = |places: hints::Places<'_>| {
            // The proposed commands are for home.
            let home = if places.remote.is_some() { snapshot.without_zone(REMOTE_ZONE) } else { snapshot };
            hints::text(&home, self.labels, places)
        };
        let text = self.processes.places(propose);
        self.screen.print(&text.unwrap_or_default());
        loop {
            self.watch().await?;
        }
    }
}
