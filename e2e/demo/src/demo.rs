//! The demonstration: what happens in which order, and when it goes on.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use kube::Client;
use tokio::time::sleep;

use crate::{
    apply::Applier,
    arguments::Arguments,
    client::client,
    crds,
    documents::{self, File},
    end_state,
    error::Error,
    expectation, hints, invariants,
    operator::{self, Operator},
    processes::Processes,
    samples::{self, Labels, Sample},
    screen::Screen,
    snapshot, steady,
    table::{self, Table},
    world::World,
};

/// How long nothing may change before a commitment counts as steady.
const QUIET: Duration = Duration::from_secs(1);
/// How long a commitment may take until then.
const STEADY_WITHIN: Duration = Duration::from_secs(60);
/// How often is looked whether everything still runs, and whether it is quiet.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// All that is needed from files, looked for before anything is started.
struct Script {
    operator: PathBuf,
    rbac: Vec<File>,
    cloud: Vec<File>,
    samples: Vec<Sample>,
    labels: Labels,
}

impl Script {
    fn read(arguments: &Arguments) -> Result<Self, Error> {
        let samples = samples::read(&arguments.commitments())?;
        Ok(Self {
            operator: operator::program()?,
            rbac: documents::folder(&arguments.rbac())?,
            cloud: documents::folder(&arguments.cloud())?,
            labels: samples::labels(&samples),
            samples,
        })
    }
}

/// Runs the demonstration; without `--once` until a signal ends it.
pub async fn run(arguments: &Arguments, screen: &mut Screen, processes: &mut Processes) -> Result<(), Error> {
    let begin = Instant::now();
    let script = Script::read(arguments)?;
    let (client, mut applier) = prepare(&script, screen, processes).await?;
    let mut stage = Stage { world: World::follow(&client), labels: &script.labels, screen, processes };
    for sample in &script.samples {
        stage.commit(sample, &mut applier).await?;
    }
    if arguments.once {
        return stage.judge(arguments, &client, begin).await;
    }
    stage.go_on().await
}

/// Everything up to a running operator in a cloud without commitments.
async fn prepare(script: &Script, screen: &mut Screen, processes: &mut Processes) -> Result<(Client, Applier), Error> {
    let begin = Instant::now();
    let client = client(processes.start_control_plane().await?).await?;
    screen.done("control plane: etcd and kube-apiserver are ready", begin);
    let begin = Instant::now();
    let count = crds::install(&client).await?;
    let mut applier = Applier::new(client.clone());
    apply(&script.rbac, &mut applier).await?;
    screen.done(&format!("{count} CRDs and the roles of the operator"), begin);
    let begin = Instant::now();
    let count = apply(&script.cloud, &mut applier).await?;
    screen.done(&format!("cloud: {count} objects, hosts and flavor groups"), begin);
    let begin = Instant::now();
    processes.start_operator(&script.operator).await?;
    screen.done("operator: ready, as service account berth-system/berth", begin);
    if let Some(log) = processes.operator().map(Operator::log) {
        screen.say(&format!("  its log: {}\n", log.display()));
    }
    Ok((client, applier))
}

async fn apply(files: &[File], applier: &mut Applier) -> Result<usize, Error> {
    let objects: Vec<_> = files.iter().flat_map(|file| &file.objects).collect();
    for object in &objects {
        applier.apply(object).await?;
    }
    Ok(objects.len())
}

/// The running cloud and those who watch it.
struct Stage<'a> {
    world: World,
    labels: &'a Labels,
    screen: &'a mut Screen,
    processes: &'a mut Processes,
}

impl Stage<'_> {
    /// Applies a commitment, and waits until it has come to rest.
    async fn commit(&mut self, sample: &Sample, applier: &mut Applier) -> Result<(), Error> {
        let begin = Instant::now();
        applier.apply(&sample.object).await?;
        while let Some(why) = self.restless(sample) {
            if begin.elapsed() > STEADY_WITHIN {
                let (seconds, log) = (STEADY_WITHIN.as_secs(), self.processes.log_tail());
                return Err(Error::NotSteady { commitment: sample.label.clone(), seconds, why, log });
            }
            self.watch().await?;
        }
        let outcome = self.outcome(sample);
        self.screen.done(&format!("{}: {outcome}", sample.label), begin);
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
    async fn watch(&mut self) -> Result<(), Error> {
        self.processes.check()?;
        self.screen.show(Table::new(&self.world.snapshot(), self.labels));
        tokio::select! {
            () = self.world.changed() => {}
            () = self.screen.resized() => {}
            () = sleep(LOOK_EVERY) => {}
        }
        Ok(())
    }

    /// Compares the end state with the committed one, or writes that anew.
    async fn judge(&mut self, arguments: &Arguments, client: &Client, begin: Instant) -> Result<(), Error> {
        let state = end_state::read(client, self.labels).await?;
        invariants::check(&state)?;
        let path = arguments.end_state();
        if arguments.update {
            expectation::update(&state, &path)?;
            self.screen.done(&format!("the end state is sound, and written to {}", path.display()), begin);
        } else {
            expectation::compare(&state, &path)?;
            self.screen.done(&format!("the end state is sound, and that of {}", path.display()), begin);
        }
        Ok(())
    }

    /// Says what to try, and shows what comes of it.
    async fn go_on(&mut self) -> Result<(), Error> {
        let snapshot = self.world.snapshot();
        let text = self.processes.places(|places| hints::text(&snapshot, self.labels, places));
        self.screen.say(&text.unwrap_or_default());
        loop {
            self.watch().await?;
        }
    }
}
