//! Work that takes a second or two, to have something happen in the middle of it: commitments that want exactly the
//! room that there is. Half of them may be rejected, so whoever counts wrong, even for a moment, is found out.

use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Reservation};
use futures::future::join_all;
use kube::api::ListParams;
use tokio::time::sleep;

use super::objects::{host, patient, rejectable};
use super::seen::{Seen, ready};
use super::waiting::so;
use super::world::World;

const SLOTS_EACH: usize = 8;
const SLOTS_PER_HOST: usize = 4;

/// So many commitments, and the hosts for them.
#[derive(Clone, Copy)]
pub struct Crowd {
    pub commitments: usize,
}

impl Crowd {
    /// All slots, which is also all room.
    pub fn slots(self) -> usize {
        self.commitments * SLOTS_EACH
    }

    /// Creates the hosts.
    pub async fn hosts(self, world: &World) {
        let number_of = self.slots() / SLOTS_PER_HOST;
        let hosts: Vec<Hypervisor> = (0..number_of).map(|number| host(&format!("node{number:02}"), 4)).collect();
        join_all(hosts.iter().map(|host| world.create(host))).await;
    }

    /// Creates the commitments.
    pub async fn arrives(self, world: &World) {
        let each = SLOTS_EACH as u64;
        let wish = |number| match number % 2 {
            0 => patient(&uuid(number), each),
            _ => rejectable(&uuid(number), each),
        };
        let commitments: Vec<CommittedResource> = (0..self.commitments).map(wish).collect();
        join_all(commitments.iter().map(|commitment| world.create(commitment))).await;
    }

    /// Waits until some slots are there, and not all: a matter of a second.
    pub async fn half_way(self, world: &World) {
        let slots = world.api::<Reservation>();
        loop {
            let count = slots.list_metadata(&ListParams::default()).await.unwrap().items.len();
            assert!(count < self.slots(), "the work is done before anybody has looked");
            if count >= self.slots() / 10 {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until all commitments are accepted, with their slots and no others.
    pub async fn accepted(self, world: &World) {
        world.until("the crowd is accepted, with every slot once", |seen| self.is_served(seen)).await;
    }

    fn is_served(self, seen: &Seen) -> Result<(), String> {
        for number in 0..self.commitments {
            let uuid = uuid(number);
            let said = seen.commitment(&uuid).and_then(ready);
            so(said.is_some_and(|said| said.reason == "Accepted"), || format!("{uuid} says {said:?}"))?;
        }
        let count = seen.slots().count();
        so(count == self.slots(), || format!("{count} slots instead of {}", self.slots()))
    }
}

fn uuid(number: usize) -> String {
    format!("crowd-{number:03}")
}
