//! Writes VMs into the slots that were booked for them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Guard, ObjectKey, Right, Verb, WriteError, Writer, Written, chain};
use berth_core::{SlotKey, VmId};
use berth_crds::Reservation;
use berth_scheduler::Booking;
use berth_telemetry::clock::Clock;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{BookingMetrics, Edit, enter, leave};
use crate::bounded_queue::{self, BoundedQueue};

/// Bookings that may wait to be written.
const QUEUE: usize = 1024;
/// Bookings that are written at the same time.
const AT_ONCE: usize = 8;
const DEADLINE: Duration = Duration::from_secs(20);
/// Between two tries, times the number of the try.
const PAUSE: Duration = Duration::from_millis(100);
const ATTEMPTS: u32 = 6;

/// Hears of a VM whose booking is not written and will not be.
pub type GiveBack = Arc<dyn Fn(&VmId) + Send + Sync>;

/// The dependencies for writing bookings.
pub struct BookingParts {
    pub reservations: Writer<Reservation>,
    pub give_back: GiveBack,
    pub clock: Arc<dyn Clock>,
    pub metrics: BookingMetrics,
}

/// Takes bookings. Clones share the queue.
#[derive(Clone)]
pub struct Bookings {
    queue: BoundedQueue<Booking>,
    parts: Arc<BookingParts>,
}

impl Bookings {
    pub fn rights() -> Vec<Right> {
        vec![
            Right::kind::<Reservation>(&[Verb::Get, Verb::Patch])
                .because("VMs that the scheduler has placed are written into slots."),
        ]
    }

    /// The place to leave bookings at, and the work behind it, which runs until `stop`.
    pub fn new(parts: BookingParts, stop: CancellationToken) -> (Self, impl Future<Output = ()> + Send) {
        let (queue, waiting) = BoundedQueue::new(QUEUE);
        let parts = Arc::new(parts);
        let ours = parts.clone();
        let work = bounded_queue::work(waiting, AT_ONCE, stop, move |booking: Booking| {
            let parts = ours.clone();
            async move { parts.take(&booking).await }
        });
        (Self { queue, parts }, work)
    }

    /// Takes a booking. Never waits; a booking that does not fit into the queue is undone in the scheduler.
    pub fn take(&self, booking: &Booking) {
        if self.queue.put(booking.clone()).is_err() {
            self.parts.metrics.booking("queue_full");
            (self.parts.give_back)(&booking.vm);
        }
    }
}

/// The result of writing one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotWrite {
    Written,
    Nothing,
    Gone,
}

/// Why a slot could not be written.
#[derive(Debug, thiserror::Error)]
enum BookingError {
    #[error("its outcome is not known after {} s", DEADLINE.as_secs())]
    Late,
    #[error("it changes faster than it can be written")]
    Contended,
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl BookingParts {
    /// First the slot that the VM goes into, then those that it leaves: if this ends in between, the VM is expected twice
    /// for a while, rather than nowhere.
    async fn take(&self, booking: &Booking) {
        let now = self.clock.now();
        let entered = self.write(&booking.slot, |slot| enter(slot, &booking.vm, booking.size, now)).await;
        let outcome = match &entered {
            Ok(SlotWrite::Written) => "written",
            Ok(SlotWrite::Nothing) => "there_already",
            Ok(SlotWrite::Gone) => "slot_gone",
            Err(BookingError::Write(WriteError::NotLeader { .. })) => "not_leader",
            Err(_) => "failed",
        };
        self.metrics.booking(outcome);
        if let Err(error) = &entered {
            let (slot, vm) = (&booking.slot, &booking.vm);
            warn!(%slot, %vm, error = chain(error), "VM not written into its slot; it is counted beside the slot");
        }
        if !matches!(entered, Ok(SlotWrite::Written | SlotWrite::Nothing)) {
            (self.give_back)(&booking.vm);
            return;
        }
        for slot in &booking.leaves {
            self.leave(slot, booking).await;
        }
    }

    async fn leave(&self, slot: &SlotKey, booking: &Booking) {
        let left = self.write(slot, |slot| leave(slot, &booking.vm)).await;
        self.metrics.removal(match &left {
            Ok(SlotWrite::Written) => "written",
            Ok(SlotWrite::Nothing | SlotWrite::Gone) => "not_needed",
            Err(_) => "failed",
        });
        if let Err(error) = left {
            debug!(%slot, vm = %booking.vm, error = chain(&error), "VM stays in its former slot until the slot is reconciled");
        }
    }

    async fn write(&self, slot: &SlotKey, edit: impl Fn(&Reservation) -> Edit) -> Result<SlotWrite, BookingError> {
        let key = ObjectKey::new(slot.cluster.clone(), slot.name.as_str());
        timeout(DEADLINE, self.tries(&key, edit)).await.unwrap_or(Err(BookingError::Late))
    }

    /// Each try rests on the object as it is then: no other VM is overwritten, and a slot that has become something else
    /// is left alone.
    async fn tries(&self, key: &ObjectKey, edit: impl Fn(&Reservation) -> Edit) -> Result<SlotWrite, BookingError> {
        let mut last = BookingError::Contended;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE * attempt).await;
                if let Err(error) = self.reservations.settle(key).await {
                    last = error.into();
                    continue;
                }
            }
            let Some(old) = self.reservations.store().get(key) else { return Ok(SlotWrite::Gone) };
            let new = match edit(&old) {
                Edit::Nothing => return Ok(SlotWrite::Nothing),
                Edit::Gone => return Ok(SlotWrite::Gone),
                Edit::Write(new) => new,
            };
            match self.reservations.patch(key, &old, &new, Guard::Version).await {
                Ok(Written::Changed(_)) => return Ok(SlotWrite::Written),
                Ok(Written::Unchanged) => return Ok(SlotWrite::Nothing),
                Ok(Written::Gone) => return Ok(SlotWrite::Gone),
                Err(WriteError::Conflict { .. }) => last = BookingError::Contended,
                Err(error @ (WriteError::Unknown { .. } | WriteError::Unavailable { .. })) => last = error.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(last)
    }
}
