//! Leadership and time: a leader is gone or suspended, and the clock is wrong.

use berth_crds::conditions::whole_seconds;
use berth_testkit::seeds;
use jiff::{SignedDuration, Timestamp};

use super::acts::{commit, hosts, resize, time_passes};
use super::ends::{accepted, holds, is_reported};
use super::scenario::{Deed, Kind, Scenario};
use super::stage::Stage;
use crate::world::BEGINNING;

pub fn scenarios() -> Vec<Scenario> {
    vec![take_over(), paused_leader(), clock_ahead_and_behind()]
}

/// The leader crashes while it places, and restarts when the other replica leads.
fn take_over() -> Scenario {
    Scenario::new("take-over")
        .of(Kind::Replicas)
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(10.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(60.0, resize("uuid-1", 5))
        .at(60.05, leader(Stage::crash))
        .at(70.0, commit(seeds::waiting_commitment("uuid-2", 2)))
        .at(120.0, all(Stage::start))
        .ends(accepted("uuid-1", 5))
        .ends(accepted("uuid-2", 2))
}

/// The leader notices that it has lost the leadership before it writes anything.
fn paused_leader() -> Scenario {
    Scenario::new("paused-leader")
        .of(Kind::Replicas)
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(10.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(60.0, resize("uuid-1", 5))
        .at(60.05, leader(Stage::pause))
        .at(100.0, commit(seeds::waiting_commitment("uuid-2", 2)))
        .at(130.0, all(Stage::resume))
        .ends(accepted("uuid-1", 5))
        .ends(accepted("uuid-2", 2))
}

/// A commitment with an end time ends at that time, at the latest when the clock is right again.
fn clock_ahead_and_behind() -> Scenario {
    let beginning: Timestamp = BEGINNING.parse().unwrap();
    let mut ending = seeds::waiting_commitment("uuid-1", 2);
    ending.spec.end_time = Some(whole_seconds(beginning + SignedDuration::from_mins(15)));
    Scenario::new("clock-ahead-and-behind")
        .with(hosts(&[("h1", 4)]))
        .at(1.0, commit(ending))
        .at(5.0, commit(seeds::waiting_commitment("uuid-2", 1)))
        .at(60.0, clock_is_set(10))
        .at(90.0, resize("uuid-2", 2))
        .at(120.0, clock_is_set(-20))
        .at(150.0, resize("uuid-2", 1))
        .at(180.0, clock_is_set(10))
        .at(900.0, time_passes())
        .ends(is_reported("uuid-1", "expired"))
        .ends(holds("uuid-1", 0))
        .ends(accepted("uuid-2", 1))
}

fn leader(what: fn(&mut Stage, usize)) -> Deed {
    Box::new(move |stage| {
        let Some(which) = stage.leader() else { return false };
        what(stage, which);
        true
    })
}

fn all(what: fn(&mut Stage)) -> Deed {
    Box::new(move |stage| {
        what(stage);
        true
    })
}

/// The clock of the operator is changed, by minutes.
fn clock_is_set(minutes: i64) -> Deed {
    Box::new(move |stage| {
        stage.world.clock.step(SignedDuration::from_mins(minutes));
        true
    })
}
