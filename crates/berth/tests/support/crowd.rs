//! Work that takes a second or two, so that something can happen in the middle of it: commitments that want exactly the
//! available capacity. Half of them allow rejection, so a wrong sum, even for a moment, shows.

use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Reservation};
use futures::future::join_all;
use kube::api::ListParams;
use tokio::time::sleep;

use super::objects::{host, non_rejectable, rejectable};
use super::seen::{Seen, ready};
use super::waiting::so;
use super::world::World;

const SLOTS_EACH: usize = 8;
const SLOTS_PER_HOST: usize = 4;

/// The number of commitments and hosts.
#[derive(Clone, Copy)]
pub struct Crowd {
    pub commitments: usize,
}

impl Crowd {
    /// All slots, which equal all free capacity.
    pub fn slots(self) -> usize {
        self.commitments * SLOTS_EACH
    }

    pub async fn hosts(self, world: &World) {
        let number_of = self.slots() / SLOTS_PER_HOST;
        let hosts: Vec<Hypervisor> = (0..number_of).map(|number| host(&format!("node{number:02}"), 4)).collect();
        join_all(hosts.iter().map(|host| world.create(host))).await;
    }

    pub async fn arrives(self, world: &World) {
        let each = SLOTS_EACH as u64;
        let desired = |number| match number % 2 {
            0 => non_rejectable(&uuid(number), each),
            _ => rejectable(&uuid(number), each),
        };
        let commitments: Vec<CommittedResource> = (0..self.commitments).map(desired).collect();
        join_all(commitments.iter().map(|commitment| world.create(commitment))).await;
    }

    /// Waits until some slots exist, and not all; the window lasts about a second.
    pub async fn half_way(self, world: &World) {
        let slots = world.api::<Reservation>();
        loop {
            let count = slots.list_metadata(&ListParams::default()).await.unwrap().items.len();
            assert!(count < self.slots(), "the work was done before anything was checked");
            if count >= self.slots() / 10 {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until all commitments are accepted, with exactly their slots.
    pub async fn accepted(self, world: &World) {
        world.until("the crowd is accepted, with every slot once", |seen| self.is_served(seen)).await;
    }

    fn is_served(self, seen: &Seen) -> Result<(), String> {
        for number in 0..self.commitments {
            let uuid = uuid(number);
            let reported = seen.commitment(&uuid).and_then(ready);
            so(reported.is_some_and(|reported| reported.reason == "Accepted"), || format!("{uuid} has {reported:?}"))?;
        }
        let count = seen.slots().count();
        so(count == self.slots(), || format!("{count} slots instead of {}", self.slots()))
    }
}

fn uuid(number: usize) -> String {
    format!("crowd-{number:03}")
}
