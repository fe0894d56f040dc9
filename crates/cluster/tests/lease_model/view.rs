//! The relevant part of a state: two states with the same view behave the same for ever. Times count only relative to
//! now, and not beyond the longest duration of the protocol; versions and marks only as far as they are compared; and
//! the replicas are interchangeable.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use berth_cluster::testing::lease::{LeaseRecord, ObservedLease, RenewTime};

use crate::World;
use crate::replica::{Answer, Call, Progress, Replica, renewed};

/// Times before this are not distinguished.
const LONG: Duration = Duration::from_secs(16);
/// Older versions are not distinguished; a replica compares only its last two.
const OLD: u32 = 8;

fn age(now: Duration, then: Duration) -> Duration {
    now.saturating_sub(then).min(LONG)
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.lease.as_ref().map(|lease| lease.tenure), self.written, self.started, self.lost).hash(state);
        self.left.hash(state);
        let mut replicas = [0, 1, 2].map(|which| self.view(&self.replicas[which]));
        replicas.sort_unstable();
        replicas.hash(state);
    }
}

impl World {
    /// How many versions ago. The versions of the model are counts; any other version counts as the oldest.
    fn version(&self, version: Option<&String>) -> Option<u32> {
        version.map(|version| (self.versions - version.parse().unwrap_or(0)).min(OLD))
    }

    /// How a replica and the other replicas interpret a record.
    fn record(&self, record: &LeaseRecord, replica: &Replica) -> impl Hash + use<> {
        let wall = replica.wall_error.map(|_| age(self.time, renewed(record)));
        let holder = holder(record, replica);
        (holder, self.version(Some(&record.version)), holder == Some(true) && is_own(record.renew_time, replica), wall)
    }

    fn view(&self, replica: &Replica) -> u64 {
        let mut state = DefaultHasher::new();
        (replica.ahead, replica.paused, replica.ended, replica.tenure, replica.wall_error).hash(&mut state);
        (replica.started, replica.sent.map(|sent| (age(self.time, sent.at), sent.tenure))).hash(&mut state);
        if let Some(zombie) = self.zombie.as_ref().filter(|zombie| zombie.me == replica.standing.me) {
            (self.version(zombie.base.as_ref()), is_own(Some(zombie.renew_time), replica)).hash(&mut state);
        }
        self.lease.as_ref().map(|lease| self.record(&lease.record, replica)).hash(&mut state);
        if !replica.ended {
            self.hash_standing(replica, &mut state);
            self.hash_call(replica, &mut state);
        }
        state.finish()
    }

    fn hash_standing(&self, replica: &Replica, state: &mut DefaultHasher) {
        let (standing, now) = (&replica.standing, self.time + replica.ahead);
        if let ObservedLease::There { record, since } = &standing.seen {
            (self.record(record, replica), age(now, *since)).hash(state);
        }
        std::mem::discriminant(&standing.seen).hash(state);
        (standing.stale, standing.lost.is_some(), standing.held.map(|sent| age(now, sent))).hash(state);
        standing.unanswered.map(|sent| age(now, sent.at)).hash(state);
        (standing.read_from.saturating_sub(now), standing.write_from.saturating_sub(now)).hash(state);
    }

    fn hash_call(&self, replica: &Replica, state: &mut DefaultHasher) {
        let Some((call, progress)) = &replica.call else { return };
        replica.deadline.saturating_sub(self.time + replica.ahead).hash(state);
        match call {
            Call::Read => 0.hash(state),
            Call::Write { base, .. } => (1, self.version(base.as_ref())).hash(state),
        }
        match progress {
            Progress::Sent => 0.hash(state),
            Progress::Done(Answer::Refused) => 1.hash(state),
            Progress::Done(Answer::Shows(None)) => 2.hash(state),
            Progress::Done(Answer::Shows(Some(object))) => {
                let record = &object.record;
                let known = matches!(&replica.standing.seen, ObservedLease::There { record: seen, .. } if seen.version == record.version);
                (3, self.record(record, replica), object.tenure, known).hash(state);
            }
        }
    }
}

fn holder(record: &LeaseRecord, replica: &Replica) -> Option<bool> {
    record.holder.as_ref().map(|holder| *holder == replica.standing.me)
}

/// Whether it belongs to the write whose answer the replica lacks.
fn is_own(renew_time: Option<RenewTime>, replica: &Replica) -> bool {
    renew_time.is_some() && renew_time == replica.standing.unanswered.map(|sent| sent.renew_time)
}
