//! Endless work: commitments are created, grow, shrink and are deleted, hosts disappear and return, each in its own
//! task with its own seed. When the load is told to end, every task reports its desired state.
//!
//! There are two zones. In the tight one commitments wait for free capacity, often in vain, and in the end want exactly
//! what there is, which reveals wrong sums. In the roomy one there is free capacity for all commitments at any time,
//! also with a host less and a slot too many, and commitments allow rejection: every rejection is wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor};
use berth_testkit::Random;
use tokio::select;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::hands::Hands;
use crate::support::objects::{OTHER_ZONE, ZONE, host, in_zone, non_rejectable, rejectable};

const SLOTS_PER_HOST: u64 = 4;

const PAUSE: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(1500)];

/// How long a zone keeps all hosts, and how long a host is away: shorter and longer than the grace after which its
/// slots move.
const HOSTS_STAY: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(2)];
const HOSTS_LEAVE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(4)];

/// The final number of slots of each commitment, by UUID; 0 means no slots and no commitment.
pub type DesiredSlots = BTreeMap<String, u64>;

/// A zone with its hosts and commitments.
#[derive(Clone, Copy, Debug)]
pub struct District {
    zone: &'static str,
    hosts: u64,
    commitments: u64,
    most: u64,
    /// The final size of each commitment, if it is fixed.
    finally: Option<u64>,
}

/// Wants up to 48 slots of 32, and 32 in the end.
const TIGHT: District = District { zone: ZONE, hosts: 8, commitments: 8, most: 6, finally: Some(4) };

/// Wants up to 24 slots of 40.
const ROOMY: District = District { zone: OTHER_ZONE, hosts: 10, commitments: 6, most: 4, finally: None };

pub const DISTRICTS: [District; 2] = [TIGHT, ROOMY];

impl District {
    pub fn hosts(self) -> Vec<Hypervisor> {
        let name = |number| format!("{}-{number:02}", self.zone);
        (0..self.hosts).map(|number| in_zone(host(&name(number), SLOTS_PER_HOST), self.zone)).collect()
    }

    fn commitment(self, uuid: &str, slots: u64) -> CommittedResource {
        let may_be_rejected = self.finally.is_none();
        let mut commitment = if may_be_rejected { rejectable(uuid, slots) } else { non_rejectable(uuid, slots) };
        self.zone.clone_into(&mut commitment.spec.availability_zone);
        commitment
    }
}

/// The tasks of all commitments and hosts.
pub struct Load {
    end: watch::Sender<bool>,
    lives: JoinSet<Option<(String, u64)>>,
}

impl Load {
    pub fn begin(hands: &Hands, seed: u64) -> Self {
        let (end, ended) = watch::channel(false);
        let (mut lives, mut random) = (JoinSet::new(), Random::new(seed));
        for district in DISTRICTS {
            for number in 0..district.commitments {
                let uuid = format!("storm-{}-{number}", district.zone);
                let life = Life::new(hands, &mut random, &ended);
                lives.spawn(async move { Some(commitment(life, district, uuid).await) });
            }
            let life = Life::new(hands, &mut random, &ended);
            lives.spawn(async move {
                hosts(life, district).await;
                None
            });
        }
        Self { end, lives }
    }

    pub async fn end(self) -> DesiredSlots {
        self.end.send_replace(true);
        self.lives.join_all().await.into_iter().flatten().collect()
    }
}

struct Life {
    hands: Hands,
    random: Random,
    ended: watch::Receiver<bool>,
}

impl Life {
    fn new(hands: &Hands, random: &mut Random, ended: &watch::Receiver<bool>) -> Self {
        Self { hands: hands.clone(), random: Random::new(random.draw()), ended: ended.clone() }
    }

    /// Waits for some time. False when the load has to end.
    async fn goes_on(&mut self, [least, most]: [Duration; 2]) -> bool {
        let pause = sleep(self.random.duration(&(least..=most)));
        select! {
            () = pause => true,
            _ = self.ended.wait_for(|ended| *ended) => false,
        }
    }
}

async fn commitment(mut life: Life, district: District, uuid: String) -> (String, u64) {
    let mut slots = 0;
    while life.goes_on(PAUSE).await {
        let next = if slots > 0 && life.random.chance(250) { 0 } else { 1 + life.random.draw() % district.most };
        change(&life.hands, district, &uuid, slots, next).await;
        slots = next;
    }
    let finally = district.finally.unwrap_or(slots);
    change(&life.hands, district, &uuid, slots, finally).await;
    (uuid, finally)
}

async fn change(hands: &Hands, district: District, uuid: &str, before: u64, after: u64) {
    match (before, after) {
        (before, after) if before == after => {}
        (0, _) => hands.commits(&district.commitment(uuid, after)).await,
        (_, 0) => hands.ends(uuid).await,
        _ => hands.resizes(uuid, after).await,
    }
}

/// One host of a zone at a time is away.
async fn hosts(mut life: Life, district: District) {
    let hosts = district.hosts();
    while life.goes_on(HOSTS_STAY).await {
        let host = &hosts[life.random.below(hosts.len())];
        life.hands.takes_away(host.metadata.name.as_deref().unwrap_or_default()).await;
        life.goes_on(HOSTS_LEAVE).await;
        life.hands.sets_up(host).await;
    }
}
