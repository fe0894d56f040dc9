//! Classes of reservations. A request ignores or unlocks whole classes, apart from its own slots, so per-host totals
//! answer it without reading single reservations.

use berth_core::reservation::{Reservation, ReservationKind};
use strum::VariantArray;

/// The class of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Class {
    /// A ready slot of a commitment; a request of its project and group may unlock it.
    Committed,
    /// A ready slot without a flavor group: unlocked for all requests.
    Ungrouped,
    /// A slot of a commitment that is not ready: placed, and never unlocked.
    CommittedUnready,
    Failover,
    FailoverUnready,
    InFlight,
    /// A type that this version does not know.
    Other,
    /// The assume list: entries of slots, and claims.
    Assumed,
}

impl Class {
    pub(crate) const COUNT: usize = Self::VARIANTS.len();

    /// The class of a reservation.
    pub fn of(reservation: &Reservation) -> Self {
        match (&reservation.kind, reservation.ready) {
            (ReservationKind::Committed(_), true) if reservation.group.is_empty() => Self::Ungrouped,
            (ReservationKind::Committed(_), true) => Self::Committed,
            (ReservationKind::Committed(_), false) => Self::CommittedUnready,
            (ReservationKind::Failover(_), true) => Self::Failover,
            (ReservationKind::Failover(_), false) => Self::FailoverUnready,
            (ReservationKind::InFlight(_), _) => Self::InFlight,
            (ReservationKind::Other, _) => Self::Other,
        }
    }
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassSet(u8);

impl ClassSet {
    pub const ALL: Self = Self(u8::MAX);
    pub const NONE: Self = Self(0);
    pub const COMMITTED: Self = Self::of(&[Class::Committed, Class::Ungrouped, Class::CommittedUnready]);
    pub const FAILOVER: Self = Self::of(&[Class::Failover, Class::FailoverUnready]);
    pub const IN_FLIGHT: Self = Self::of(&[Class::InFlight, Class::Assumed]);

    pub const fn of(classes: &[Class]) -> Self {
        let (mut bits, mut next) = (0, 0);
        while next < classes.len() {
            bits |= 1 << classes[next] as u8;
            next += 1;
        }
        Self(bits)
    }

    /// True when the class is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The classes of this set that are not in the other.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::VARIANTS.iter().copied().filter(move |class| self.has(*class))
    }
}

impl FromIterator<Class> for ClassSet {
    fn from_iter<T: IntoIterator<Item = Class>>(classes: T) -> Self {
        classes.into_iter().fold(Self::NONE, |all, class| all.and(Self::of(&[class])))
    }
}
