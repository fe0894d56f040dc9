//! A case of a scenario: the world, the change, what others do meanwhile, and how it ends.

use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommittedResource, CommittedResourceSpec, names};
use berth_testkit::Server;
use futures::future::BoxFuture;

use crate::stage::Stage;

/// The commitments of a change with their specs after it; `None` deletes one.
pub type Items = Vec<(&'static str, Option<CommittedResourceSpec>)>;

pub struct Case {
    pub start: fn() -> BoxFuture<'static, Stage>,
    pub items: fn(&Stage) -> Items,
    pub requires_confirmation: bool,
    pub meanwhile: Option<Meanwhile>,
    /// How it ends without a fault.
    pub outcome: ChangePhase,
    /// A part of the reason, without a fault.
    pub message: &'static str,
    /// The slots with a host of each commitment when the change is in force.
    pub slots: &'static [(&'static str, usize)],
    /// What else must hold when the change is in force.
    pub check: fn(&Stage),
    /// Whether slots may have other names and hosts after a roll-back.
    pub may_move: bool,
}

impl Case {
    /// A change that needs confirmation and is accepted.
    pub fn accepted(
        start: fn() -> BoxFuture<'static, Stage>,
        items: fn(&Stage) -> Items,
        slots: &'static [(&'static str, usize)],
    ) -> Self {
        let outcome = ChangePhase::Accepted;
        Self {
            start,
            items,
            requires_confirmation: true,
            meanwhile: None,
            outcome,
            slots,
            check: |_| {},
            may_move: false,
            message: "",
        }
    }

    /// A change that needs confirmation and is rejected.
    pub fn rejected(start: fn() -> BoxFuture<'static, Stage>, items: fn(&Stage) -> Items) -> Self {
        Self { outcome: ChangePhase::RolledBack, ..Self::accepted(start, items, &[]) }
    }

    pub fn without_confirmation(self) -> Self {
        Self { requires_confirmation: false, ..self }
    }

    pub fn because(self, message: &'static str) -> Self {
        Self { message, ..self }
    }

    pub fn and(self, check: fn(&Stage)) -> Self {
        Self { check, ..self }
    }

    pub fn meanwhile(self, when: When, act: Act) -> Self {
        Self { meanwhile: Some(Meanwhile { when, act }), ..self }
    }
}

/// What others do while the change is open.
#[derive(Clone, Copy)]
pub struct Meanwhile {
    pub when: When,
    pub act: Act,
}

/// When it happens.
#[derive(Clone, Copy)]
pub enum When {
    /// Before the first reconciliation.
    AtOnce,
    /// When the commitment has this amount.
    Written(&'static str, &'static str),
}

impl When {
    pub fn has_come(self, server: &Server) -> bool {
        match self {
            Self::AtOnce => true,
            Self::Written(uuid, amount) => server
                .get::<CommittedResource>(&names::commitment(uuid))
                .is_ok_and(|object| object.spec.amount.as_str() == amount),
        }
    }
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A person deletes the change.
    DeleteChange,
    /// The caller goes away.
    DropCaller,
    /// The clock goes forward or back by so many hours.
    StepClock(i64),
    /// The clock is not trusted any more.
    DistrustClock,
    /// The process ends, and another one takes over.
    TakeOver,
    /// A person pauses this commitment.
    Pause(&'static str),
    /// Commitments and slots can neither be read nor written, and changes can.
    LoseZone,
}
