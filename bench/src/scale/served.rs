//! One cloud: from the moment when the stores of an operator are synced until it has created all slots of the
//! commitments.

use std::fmt;

use berth_crds::{CommittedResource, names};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use tokio::time::{Duration, Instant, sleep};

use crate::cloud;
use crate::error::Error;
use crate::fill::{all, create};
use crate::floor::scene::with_hosts;
use crate::floor::watching::Watching;
use crate::operator::Operator;
use crate::pairs::per;
use crate::plane::Plane;
use crate::proc::Usage;
use crate::requests::Requests;

const ELECT: &[&str] = &["--leader-elect"];
const SLOTS_EACH: usize = 10;
const PER_HOST: usize = 20;
/// Commitments of one slot that are served and deleted before the memory counts as empty, because serving many at once
/// allocates memory that stays, such as for connections. The memory of their slots is reused, so they are few beside
/// those measured.
const FIRST: usize = 40;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const SETTLES: Duration = Duration::from_secs(3);

/// The costs of serving.
#[derive(Clone, Debug)]
pub struct Served {
    pub slots: usize,
    pub seconds: f64,
    pub usage: Usage,
    /// The resident memory of an operator with the hosts alone.
    pub empty_kib: u64,
    pub requests: Requests,
}

/// Serves this many slots. The plane and the operator keep running.
pub async fn serve(slots: usize) -> Result<(Plane, Operator, Served), Error> {
    let plane = with_hosts(slots / PER_HOST).await?;
    let empty_kib = empty(&plane).await?;
    let commitments = slots / SLOTS_EACH;
    create_commitments(&plane, commitments, SLOTS_EACH).await?;
    plane.rest().await?;
    let (requests, mut watching) = (plane.requests().await?, Watching::begin(plane.admin()).await?);
    let mut operator = Operator::start_with(&plane, ELECT).await?;
    operator.synced().await?;
    let (began, idle) = (Instant::now(), operator.usage()?);
    watching.ready(commitments).await?;
    let (seconds, busy) = (began.elapsed().as_secs_f64(), operator.usage()?.since(idle));
    // Events and metrics follow a little later.
    plane.rest().await?;
    sleep(SETTLES).await;
    let usage = Usage { cpu_seconds: busy.cpu_seconds, ..operator.usage()? };
    let requests = plane.requests().await?.since(&requests);
    Ok((plane, operator, Served { slots, seconds, usage, empty_kib, requests }))
}

/// The resident memory with the hosts alone, after some commitments were created and deleted.
async fn empty(plane: &Plane) -> Result<u64, Error> {
    let commitments: Api<CommittedResource> = Api::all(plane.admin().clone());
    let mut watching = Watching::begin(plane.admin()).await?;
    create_commitments(plane, FIRST, 1).await?;
    let mut operator = Operator::start_with(plane, ELECT).await?;
    watching.ready(FIRST).await?;
    all(0..FIRST, async |number| {
        let name = names::commitment(&cloud::uuid(number));
        commitments.delete(&name, &DeleteParams::default()).await.map(drop).map_err(Error::from)
    })
    .await?;
    while !commitments.list_metadata(&ListParams::default()).await?.items.is_empty() {
        sleep(POLL_INTERVAL).await;
    }
    sleep(SETTLES).await;
    let resident = operator.usage()?.resident_kib;
    operator.check()?;
    operator.stop().await?;
    Ok(resident)
}

/// Creates this many commitments of this many slots each.
async fn create_commitments(plane: &Plane, commitments: usize, slots_each: usize) -> Result<(), Error> {
    all(0..commitments, async |number| {
        let desired = cloud::commitment_in(&cloud::uuid(number), slots_each, number);
        create(plane.admin(), &desired).await.map(drop)
    })
    .await
}

impl Served {
    fn commitments(&self) -> usize {
        self.slots / SLOTS_EACH
    }

    /// The processor time of the operator, in milliseconds.
    pub fn cpu_millis(&self) -> f64 {
        self.usage.cpu_seconds * per(1000, self.slots)
    }

    pub fn writes_per_slot(&self) -> f64 {
        per(self.requests.writes_of(&["reservations"]), self.slots)
    }

    pub fn writes_per_commitment(&self) -> f64 {
        per(self.requests.writes_of(&["committedresources", "events"]), self.commitments())
    }

    pub fn kib(&self) -> f64 {
        per(self.usage.resident_kib.saturating_sub(self.empty_kib), self.slots)
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slots, seconds, usage: Usage { cpu_seconds, resident_kib, peak_kib }, empty_kib, requests } = self;
        let (cpu, kib) = (self.cpu_millis(), self.kib());
        write!(
            f,
            "{slots} slots: {seconds:.1} s, CPU {cpu_seconds:.2} s = {cpu:.3} ms each; memory {kib:.2} KiB each \
             (empty {empty_kib}, now {resident_kib}, peak {peak_kib} KiB); {requests}"
        )
    }
}
