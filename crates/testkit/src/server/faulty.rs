//! How tests let things go wrong.

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
    /// Before the `nth` matching request from now on, counted from 1, this happens once.
    pub fn before(&self, verb: Verb, path: &str, nth: usize, hook: impl FnOnce(&Self) + Send + 'static) {
        self.lock().rules.before(verb, path, nth, Box::new(hook));
    }

    /// The `nth` matching request from now on, counted from 1, meets this fault.
    pub fn fail(&self, verb: Verb, path: &str, nth: usize, fault: Fault) {
        self.rule(Rule::new(fault).verb(verb).path(path).nth(nth));
    }

    /// Every matching request meets this fault until [`Self::heal`].
    pub fn fail_always(&self, verb: Verb, path: &str, fault: Fault) {
        self.rule(Rule::new(fault).verb(verb).path(path).always());
    }

    /// Requests meet a fault by this rule. Of several rules the first one that applies decides.
    pub fn rule(&self, rule: Rule) {
        self.lock().rules.add(rule);
    }

    /// No request meets this fault any more.
    pub fn without(&self, fault: Fault) {
        self.lock().rules.remove(fault);
    }

    /// Begins the numbers anew that chances, latencies and delays are drawn from.
    pub fn seed(&self, seed: u64) {
        self.lock().random = Random::new(seed);
    }

    /// Every request takes so long until it takes effect, and so long again until it is answered. A request whose client
    /// has gone away in the meantime takes effect all the same.
    pub fn latency(&self, before: RangeInclusive<Duration>, after: RangeInclusive<Duration>) {
        self.lock().latency = Some(Latency { before, after });
    }

    /// Every watch that is opened from now on gets its events so much later.
    pub fn late_watches(&self, by: RangeInclusive<Duration>) {
        self.lock().lateness = Some(by);
    }

    /// All open watches of paths that begin so end in good order.
    pub fn end_watches(&self, path: &str) {
        self.cut_watches(path, End::Quietly);
    }

    /// The connections of all open watches of paths that begin so break.
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
        state.objects.wake("");
    }

    /// Nobody can connect any more, and open watches break.
    pub fn go_away(&self) {
        self.lock().away = true;
        self.break_watches("");
    }

    /// Connections are accepted again.
    pub fn come_back(&self) {
        self.lock().away = false;
    }

    /// Forgets all hooks, faults and delays, answers again after [`Self::stop_after`], and is back from being away.
    pub fn heal(&self) {
        let mut state = self.lock();
        state.rules.clear();
        state.stops.clear();
        (state.latency, state.lateness, state.away) = (None, None, false);
        state.objects.wake("");
    }

    /// After so many more writes have taken effect nothing is answered any more, not even the last of them: for the
    /// caller this is the end, see [`Self::stopped`].
    pub fn stop_after(&self, writes: usize) {
        self.stop(&Stop::after(writes));
    }

    /// The same for one client only.
    pub fn stop_client_after(&self, who: &str, writes: usize) {
        self.stop(&Stop::after(writes).of(who));
    }

    /// The `nth` write from now on, counted from 1, does not arrive, and nothing is answered any more; see
    /// [`Self::stopped`].
    pub fn stop_before(&self, nth: usize) {
        self.stop(&Stop::before(nth));
    }

    /// The same for one client only.
    pub fn stop_client_before(&self, who: &str, nth: usize) {
        self.stop(&Stop::before(nth).of(who));
    }

    /// Here, and at every other server that is told so, this is the end. Requests that are on their way then, see
    /// [`Self::latency`], still take effect or do not, as the generator of the server has it.
    pub fn stop(&self, stop: &Stop) {
        self.lock().stops.push(stop.clone());
    }

    /// Everybody is answered again.
    pub fn answer_again(&self) {
        self.lock().stops.clear();
    }

    /// Waits until a stop has come true.
    pub async fn stopped(&self) {
        loop {
            let notified = self.stopped.notified();
            if self.lock().stops.iter().any(Stop::has_come) {
                return;
            }
            notified.await;
        }
    }

    /// Nobody may do this: requests are answered with 403, and the question for the right with no. The resource has its
    /// subresource with it, as in `reservations/status`; the verb `*` is every verb.
    pub fn deny(&self, verb: &str, group: &str, resource: &str) {
        self.denied(None, verb, group, resource);
    }

    /// The same for one client.
    pub fn deny_client(&self, who: &str, verb: &str, group: &str, resource: &str) {
        self.denied(Some(who), verb, group, resource);
    }

    fn denied(&self, who: Option<&str>, verb: &str, group: &str, resource: &str) {
        let who = who.map(str::to_owned);
        let [verb, group, resource] = [verb, group, resource].map(str::to_owned);
        self.lock().denied.insert(Denied { who, verb, group, resource });
    }

    /// Everybody may do everything again.
    pub fn allow_all(&self) {
        self.lock().denied.clear();
    }

    /// How often each kind of fault has hit, by [`Fault::name`]; besides these `latency`, `away`, `stop` and `denied`.
    pub fn fault_counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().counts.clone()
    }
}
