//! Which key is looked at next: never one that is being looked at, no wake-up lost, the earliest of several appointments
//! counts. First come, first served, unless somebody picks. What a look is, and what its outcome means, is not known here.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    pin::{Pin, pin},
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ObjectKey;

/// Chooses one of so many waiting keys, by its place among them; places beyond the end count from the start again.
pub type Pick = Box<dyn FnMut(usize) -> usize + Send>;

pub(super) struct Queue {
    waiting: Waiting,
    appointments: Appointments,
    busy: BTreeSet<ObjectKey>,
    /// Those of them that were woken meanwhile.
    again: BTreeSet<ObjectKey>,
    concurrency: usize,
}

impl Queue {
    /// Nobody waits. At most so many keys are looked at at a time.
    pub fn new(concurrency: u16, pick: Option<Pick>) -> Self {
        let waiting = Waiting { keys: BTreeSet::new(), came: VecDeque::new(), pick };
        let concurrency = concurrency.max(1).into();
        let (appointments, busy, again) = (Appointments::default(), BTreeSet::new(), BTreeSet::new());
        Self { waiting, appointments, busy, again, concurrency }
    }

    /// Looks at whoever is `woken` until `stop`, and after it until what is under way has ended. A look gives its key back
    /// and after which time it wants to be repeated; `settled` hears of those that do not.
    pub async fn work<R>(
        mut self,
        woken: impl Stream<Item = ObjectKey>,
        look: impl Fn(ObjectKey) -> R,
        settled: impl Fn(&ObjectKey),
        stop: &CancellationToken,
    ) where
        R: Future<Output = (ObjectKey, Option<Duration>)> + Send,
    {
        let mut woken = pin!(woken);
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = _> + Send + '_>>> = FuturesUnordered::new();
        while !(stop.is_cancelled() && running.is_empty()) {
            // All who wait take part in the choice.
            while let Some(Some(key)) = woken.next().now_or_never() {
                self.wake(key);
            }
            while let Some(key) = self.next().filter(|_| !stop.is_cancelled()) {
                running.push(Box::pin(look(key)));
            }
            let appointment = self.appointments.first();
            tokio::select! {
                biased;
                Some((key, again)) = running.next() => {
                    if again.is_none() {
                        settled(&key);
                    }
                    self.ended(&key, again);
                }
                Some(key) = woken.next() => self.wake(key),
                () = sleep_until(appointment.unwrap_or_else(Instant::now)), if appointment.is_some() => self.keep_appointments(),
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
    }

    /// One that is being looked at has to wait until that is over.
    fn wake(&mut self, key: ObjectKey) {
        self.appointments.cancel(&key);
        if self.busy.contains(&key) {
            self.again.insert(key);
        } else {
            self.waiting.enter(key);
        }
    }

    fn keep_appointments(&mut self) {
        let now = Instant::now();
        while let Some(key) = self.appointments.due(now) {
            self.wake(key);
        }
    }

    /// Who is looked at next.
    fn next(&mut self) -> Option<ObjectKey> {
        if self.busy.len() >= self.concurrency {
            return None;
        }
        let key = self.waiting.next()?;
        self.busy.insert(key.clone());
        Some(key)
    }

    fn ended(&mut self, key: &ObjectKey, again: Option<Duration>) {
        self.busy.remove(key);
        if let Some(key) = self.again.take(key) {
            self.waiting.enter(key);
        } else if let Some(pause) = again {
            self.appointments.make(key.clone(), Instant::now() + pause);
        }
    }
}

/// Keys that could be looked at.
struct Waiting {
    keys: BTreeSet<ObjectKey>,
    /// The same in the order in which they came, unless somebody picks.
    came: VecDeque<ObjectKey>,
    pick: Option<Pick>,
}

impl Waiting {
    fn enter(&mut self, key: ObjectKey) {
        if self.keys.insert(key.clone()) && self.pick.is_none() {
            self.came.push_back(key);
        }
    }

    fn next(&mut self) -> Option<ObjectKey> {
        let key = match &mut self.pick {
            None => self.came.pop_front()?,
            Some(_) if self.keys.is_empty() => return None,
            Some(pick) => self.keys.iter().nth(pick(self.keys.len()) % self.keys.len())?.clone(),
        };
        self.keys.remove(&key);
        Some(key)
    }
}

/// When keys are looked at without having been woken: one time each.
#[derive(Default)]
struct Appointments {
    by_key: BTreeMap<ObjectKey, Instant>,
    by_time: BTreeSet<(Instant, ObjectKey)>,
}

impl Appointments {
    fn make(&mut self, key: ObjectKey, at: Instant) {
        self.cancel(&key);
        self.by_key.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    fn cancel(&mut self, key: &ObjectKey) {
        if let Some(appointment) = self.by_key.remove_entry(key).map(|(key, at)| (at, key)) {
            self.by_time.remove(&appointment);
        }
    }

    fn first(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn due(&mut self, now: Instant) -> Option<ObjectKey> {
        let (_, key) = self.by_time.first().filter(|(at, _)| *at <= now)?.clone();
        self.cancel(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    fn key(number: usize) -> ObjectKey {
        ObjectKey::new(ClusterName::home(), format!("key-{number}"))
    }

    /// Everything that is kept about keys.
    fn kept(queue: &Queue) -> [usize; 6] {
        let Queue { waiting, appointments, busy, again, .. } = queue;
        let (keys, came) = (waiting.keys.len(), waiting.came.len());
        [keys, came, appointments.by_key.len(), appointments.by_time.len(), busy.len(), again.len()]
    }

    /// In the order of coming, and as somebody else picks.
    fn orders() -> [Option<Pick>; 2] {
        [None, Some(Box::new(|_| 0))]
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_of_keys_that_have_settled() {
        for pick in orders() {
            let mut queue = Queue::new(4, pick);
            (0..100).for_each(|number| queue.wake(key(number)));
            (0..100).for_each(|number| queue.wake(key(number)));
            while let Some(key) = queue.next() {
                queue.ended(&key, None);
            }
            assert_eq!(kept(&queue), [0; 6]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_woken_often_is_kept_once() {
        for pick in orders() {
            let came = usize::from(pick.is_none());
            let mut queue = Queue::new(4, pick);
            for _ in 0..100 {
                (0..3).for_each(|_| queue.wake(key(1)));
                assert_eq!(kept(&queue), [1, came, 0, 0, 0, 0], "it waits");
                assert_eq!(queue.next(), Some(key(1)));
                (0..3).for_each(|_| queue.wake(key(1)));
                assert_eq!(kept(&queue), [0, 0, 0, 0, 1, 1], "it is looked at, and then again");
                queue.ended(&key(1), Some(Duration::from_secs(1)));
                assert_eq!(queue.next(), Some(key(1)));
                queue.ended(&key(1), Some(Duration::from_secs(1)));
                assert_eq!(kept(&queue), [0, 0, 1, 1, 0, 0], "it has an appointment");
            }
        }
    }
}
