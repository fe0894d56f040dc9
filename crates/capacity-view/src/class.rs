//! Reservations in classes: what a request may ignore or unlock is a set of classes, apart from its own slots, so
//! that the per-host totals of document 60 section 13.2 answer it without looking at single reservations.

use berth_core::reservation::{Reservation, ReservationKind};
use strum::VariantArray;

/// The class of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Class {
    /// A ready slot of a commitment; a request of its project and group may unlock it.
    Committed,
    /// A ready slot without a flavor group: unlocked for everybody.
    Ungrouped,
    /// A slot of a commitment that is not ready: placed, and never unlocked.
    CommittedUnready,
    /// A ready fail-over reservation.
    Failover,
    /// A fail-over reservation that is not ready.
    FailoverUnready,
    /// An in-flight reservation, ready or not.
    InFlight,
    /// A type that this version does not know.
    Other,
    /// The assume list: entries of slots, and claims.
    Assumed,
}

impl Class {
    pub(crate) const COUNT: usize = Self::VARIANTS.len();

    /// The class of a reservation as it stands.
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
    /// Every class.
    pub const ALL: Self = Self(u8::MAX);
    /// No class.
    pub const NONE: Self = Self(0);
    /// `CommittedResourceReservation`.
    pub const COMMITTED: Self = Self::of(&[Class::Committed, Class::Ungrouped, Class::CommittedUnready]);
    /// `FailoverReservation`.
    pub const FAILOVER: Self = Self::of(&[Class::Failover, Class::FailoverUnready]);
    /// `InFlightReservation` and the assume list.
    pub const IN_FLIGHT: Self = Self::of(&[Class::InFlight, Class::Assumed]);

    /// These classes.
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

    /// The classes of either set.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The classes of this set that are not in the other.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The classes in the set.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::VARIANTS.iter().copied().filter(move |class| self.has(*class))
    }
}

impl FromIterator<Class> for ClassSet {
    fn from_iter<T: IntoIterator<Item = Class>>(classes: T) -> Self {
        classes.into_iter().fold(Self::NONE, |all, class| all.and(Self::of(&[class])))
    }
}
