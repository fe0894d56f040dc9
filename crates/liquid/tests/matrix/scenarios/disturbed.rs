//! Something else happens while a change is open.

use futures::FutureExt as _;

use super::converting::conversion;
use crate::case::{Act, Case, When};
use crate::stage::*;
use crate::support::*;

const SLOTS: &[(&str, usize)] = &[(NEW, 3), (OLD, 0), (WAITING, 1)];
/// The commitment that releases capacity has been written.
const RELEASED: When = When::Written(OLD, "0");
/// The commitment that grows has been written.
const GROWN: When = When::Written(NEW, "1440Gi");

/// A conversion on a full host that would be accepted.
fn accepted() -> Case {
    Case::accepted(|| stage_with_waiting(4).boxed(), |_| conversion(3), SLOTS)
}

/// The same, but it is undone because of what happens.
fn undone() -> Case {
    Case::rejected(|| stage_with_waiting(4).boxed(), |_| conversion(3))
}

fn rejected() -> Case {
    Case::rejected(|| stage_with_waiting(4).boxed(), |_| conversion(5))
}

pub fn delete_open_change() -> Vec<Case> {
    [When::AtOnce, RELEASED, GROWN].map(|when| undone().meanwhile(when, Act::DeleteChange)).into()
}

/// A clock that is ahead ends the time of the change. One that is behind, or that is not trusted, changes nothing.
pub fn wrong_clock() -> Vec<Case> {
    vec![
        undone().meanwhile(RELEASED, Act::StepClock(1)),
        accepted().meanwhile(RELEASED, Act::StepClock(-1)),
        accepted().meanwhile(RELEASED, Act::DistrustClock),
        rejected().meanwhile(RELEASED, Act::DistrustClock),
    ]
}

pub fn client_gone() -> Vec<Case> {
    [When::AtOnce, RELEASED, GROWN].map(|when| undone().meanwhile(when, Act::DropCaller)).into()
}

pub fn take_over_in_a_change() -> Vec<Case> {
    [RELEASED, GROWN].map(|when| undone().meanwhile(when, Act::TakeOver)).into()
}

pub fn pause_in_a_change() -> Vec<Case> {
    vec![
        undone().meanwhile(RELEASED, Act::Pause(OLD)),
        undone().meanwhile(GROWN, Act::Pause(NEW)),
        rejected().meanwhile(RELEASED, Act::Pause(OLD)),
    ]
}

pub fn zone_cluster_away() -> Vec<Case> {
    [When::AtOnce, RELEASED, GROWN].map(|when| undone().meanwhile(when, Act::LoseZone)).into()
}
