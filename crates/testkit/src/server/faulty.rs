//! The methods with which tests inject faults.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Latency, Server};
use crate::discovery::Denied;
use crate::faults::{Fault, Rule};
use crate::random::Random;
use crate::stop::Stop;
use crate::verb::Verb;
use crate::watch::End;

impl Server {
    /// Runs a hook once, before the `nth` matching request from now on, counted from 1.
    pub fn before(&self, verb: Verb, path: &str, nth: usize, hook: impl FnOnce(&Self) + Send + 'static) {
        self.lock().rules.before(verb, path, nth, Box::new(hook));
    }

    /// The `nth` matching request from now on, counted from 1, gets this fault.
    pub fn fail(&self, verb: Verb, path: &str, nth: usize, fault: Fault) {
        self.rule(Rule::new(fault).verb(verb).path(path).nth(nth));
    }

    /// Every matching request gets this fault until [`Self::heal`].
    pub fn fail_always(&self, verb: Verb, path: &str, fault: Fault) {
        self.rule(Rule::new(fault).verb(verb).path(path).always());
    }

    /// Adds a rule for faults. Of several rules the first one that applies decides.
    pub fn rule(&self, rule: Rule) {
        self.lock().rules.add(rule);
    }

    pub fn without(&self, fault: Fault) {
        self.lock().rules.remove(fault);
    }

    /// Restarts the generator of chances, latencies and delays with this seed.
    pub fn seed(&self, seed: u64) {
        self.lock().random = Random::new(seed);
    }

    /// Every request takes this long until it takes effect, and this long again until it is answered. A request whose
    /// client has disconnected in the meantime takes effect all the same.
    pub fn latency(&self, before: RangeInclusive<Duration>, after: RangeInclusive<Duration>) {
        self.lock().latency = Some(Latency { before, after });
    }

    /// Every watch that is opened from now on gets its events with this delay.
    pub fn late_watches(&self, by: RangeInclusive<Duration>) {
        self.lock().lateness = Some(by);
    }

    /// Ends all open watches of paths with this prefix regularly.
    pub fn end_watches(&self, path: &str) {
        self.cut_watches(path, End::Quietly);
    }

    /// Breaks the connections of all open watches of paths with this prefix.
    pub fn break_watches(&self, path: &str) {
        self.cut_watches(path, End::Broken);
    }

    fn cut_watches(&self, path: &str, end: End) {
        let mut state = self.lock();
        let mut cut = 0;
        for open in state.open.values_mut().filter(|open| open.path.starts_with(path)) {
            open.end = Some(end);
            cut += 1;
        }
        let what = if end == End::Quietly { "watch ended" } else { "watch broken" };
        *state.counts.entry(what).or_default() += cut;
        state.objects.notify_watches("");
    }

    /// Refuses all connections from now on, and breaks open watches.
    pub fn go_away(&self) {
        self.lock().away = true;
        self.break_watches("");
    }

    pub fn come_back(&self) {
        self.lock().away = false;
    }

    /// Removes all hooks, faults and delays, and answers again after [`Self::stop_after`] and [`Self::go_away`].
    pub fn heal(&self) {
        let mut state = self.lock();
        state.rules.clear();
        state.stops.clear();
        (state.latency, state.lateness, state.away) = (None, None, false);
        state.objects.notify_watches("");
    }

    /// Answers nothing any more after this many more writes have taken effect, not even the last of them: for the
    /// client this is the end, see [`Self::stopped`].
    pub fn stop_after(&self, writes: usize) {
        self.stop(&Stop::after(writes));
    }

    /// Like [`Self::stop_after`], for one client only.
    pub fn stop_client_after(&self, who: &str, writes: usize) {
        self.stop(&Stop::after(writes).of(who));
    }

    /// Drops the `nth` write from now on, counted from 1, and answers nothing any more; see [`Self::stopped`].
    pub fn stop_before(&self, nth: usize) {
        self.stop(&Stop::before(nth));
    }

    /// Like [`Self::stop_before`], for one client only.
    pub fn stop_client_before(&self, who: &str, nth: usize) {
        self.stop(&Stop::before(nth).of(who));
    }

    /// Applies this stop to the server, and to every other server that gets it. Requests that are on their way then,
    /// see [`Self::latency`], still take effect or not, as the generator of the server decides.
    pub fn stop(&self, stop: &Stop) {
        self.lock().stops.push(stop.clone());
    }

    pub fn answer_again(&self) {
        self.lock().stops.clear();
    }

    /// Waits until a stop has been reached.
    pub async fn stopped(&self) {
        loop {
            let notified = self.stopped.notified();
            if self.lock().stops.iter().any(Stop::has_come) {
                return;
            }
            notified.await;
        }
    }

    /// Denies this right to all clients: requests are answered with 403, and access reviews with no. The resource
    /// includes its subresource, as in `reservations/status`; the verb `*` is every verb.
    pub fn deny(&self, verb: &str, group: &str, resource: &str) {
        self.denied(None, verb, group, resource);
    }

    pub fn deny_client(&self, who: &str, verb: &str, group: &str, resource: &str) {
        self.denied(Some(who), verb, group, resource);
    }

    fn denied(&self, who: Option<&str>, verb: &str, group: &str, resource: &str) {
        let who = who.map(str::to_owned);
        let [verb, group, resource] = [verb, group, resource].map(str::to_owned);
        self.lock().denied.insert(Denied { who, verb, group, resource });
    }

    pub fn allow_all(&self) {
        self.lock().denied.clear();
    }

    /// How often each kind of fault has occurred, by [`Fault::name`]; besides these `latency`, `away`, `stop` and
    /// `denied`.
    pub fn fault_counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().counts.clone()
    }
}
