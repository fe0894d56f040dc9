//! Answers to requests from outside: the run, which of its hosts are answered in which order, and the claim that keeps
//! the first one. The run is the engine's, the slot is chosen in `booking`.

use std::borrow::Cow;
use std::time::Duration;

use berth_capacity_view::{Claim, Overlay};
use berth_core::HostName;
use berth_core::host::Amounts;
use fastrand::Rng;
use jiff::Timestamp;

use super::AnswerSettings;
use super::claim_limits::{self, ClaimRefusal};
use super::inner::Inner;
use crate::order::hash;
use crate::quota_check::claimed_quota;
use crate::{
    Answer, Booking, Call, Candidates, Decision, Explanation, Intent, Options, Request, SchedulerError, booking,
    coverage,
};

impl Inner {
    pub(super) fn answer(&mut self, call: &Call<'_>) -> Result<Answer, SchedulerError> {
        let request = call.request;
        request.options.validate()?;
        self.expire(call.now);
        let (decision, explanation) = self.consider(call)?;
        if let Some(error) = decision.failed.as_ref().filter(|_| request.intent().is_some_and(Intent::is_internal)) {
            return Err(error.clone());
        }
        let mut hosts = shortlist(request, &self.settings.answers, &decision, call.chance);
        let guest = call.guest.filter(|_| decision.failed.is_none());
        let everywhere = self.settings.pipelines.get(request.pipeline_name()?)?.ignore_preselection;
        let mut coverage =
            guest.and_then(|guest| coverage::coverage(&self.fleet.view, request, guest, &hosts, everywhere));
        let held = if request.options.read_only { Ok(None) } else { self.hold(call, hosts.first()) };
        let (booking, refused) = held.map_or_else(|refused| (None, Some(refused)), |booking| (booking, None));
        if refused.is_some() {
            hosts.clear();
            coverage = None;
        }
        Ok(Answer { hosts, decision, refused, booking, coverage, explanation })
    }

    /// The view without the slot that a request is about: it would be in its own way.
    pub(super) fn without_own_slot(&self, request: &Request) -> Overlay<'_> {
        let view = &self.fleet.view;
        let mut overlay = view.overlay();
        if request.intent() == Some(Intent::ReserveForCommittedResource) {
            view.reservations_named(request.instance.as_str()).for_each(|own| overlay.release(own));
        }
        overlay
    }

    fn consider(&self, call: &Call<'_>) -> Result<(Decision, Option<Explanation>), SchedulerError> {
        let request = call.request;
        let overlay = self.without_own_slot(request);
        let untrimmed = untrimmed(request, &self.settings.answers);
        let decision = self.timed(&overlay, &untrimmed, call.trusted_time, call.stopwatch)?;
        let explanation = call.explain.then(|| self.explain(&overlay, request, call.trusted_time)).transpose()?;
        Ok((decision, explanation))
    }

    /// Claims the first host for the instance, in place of its former claim; without a host, and beyond the limits of its
    /// project, it claims nothing.
    fn hold(&mut self, call: &Call<'_>, host: Option<&HostName>) -> Result<Option<Booking>, ClaimRefusal> {
        let request = call.request;
        let view = &mut self.fleet.view;
        let Some(host) = host else {
            let freed = view.unclaim(&request.instance);
            self.serve(freed);
            return Ok(None);
        };
        let mut booking = call.guest.and_then(|guest| booking::book(view, request, guest, host));
        let seat =
            booking.as_ref().map(|booking| &booking.slot).or_else(|| booking::seat(view, &request.instance, host));
        let time_to_live = time_to_live(request, &self.settings.answers);
        let mut claim = Claim {
            instance: request.instance.clone(),
            project: request.project.clone(),
            host: host.clone(),
            size: request.need(),
            expires: call.now.saturating_add(time_to_live),
            until: last_second(call.time, time_to_live),
            slot: seat.cloned(),
            quota: claimed_quota(request),
        };
        let mut freed = view.unclaim(&request.instance);
        let before = view.free(host);
        freed.extend(view.claim(claim.clone()));
        let mut after = view.free(host);
        // A pipeline without a filter of capacity names hosts that have none: the VM must not fill a slot for that.
        if booking.is_some() && after != before && after.is_some_and(Amounts::overbooked) {
            view.unbook(&request.instance);
            (booking, claim.slot, after) = (None, None, view.free(host));
        }
        let size = claim_limits::cut(claim.size, before, after);
        if size != claim.size {
            claim.size = size;
            freed.extend(view.claim(claim.clone()));
        }
        let refused = self.settings.answers.claim_limits.and_then(|limits| limits.exceeded_by(view, &claim));
        if refused.is_some() {
            freed.extend(view.unclaim(&request.instance));
        }
        self.serve(freed);
        refused.map_or(Ok(booking), Err)
    }

    pub(super) fn expire(&mut self, now: Duration) {
        self.fleet.budgets.expire(now);
        let freed = self.fleet.view.expire(now);
        self.serve(freed);
    }
}

fn time_to_live(request: &Request, settings: &AnswerSettings) -> Duration {
    if request.intent() == Some(Intent::ReserveForCommittedResource) {
        settings.slot_ttl
    } else {
        settings.instance_ttl
    }
}

/// The whole second in which something has certainly ended.
fn last_second(from: Timestamp, after: Duration) -> Timestamp {
    let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX).saturating_add(1);
    Timestamp::from_second(from.as_second().saturating_add(seconds)).unwrap_or(Timestamp::MAX)
}

/// The hosts that an answer may hold, when it is limited to those of the request.
fn limit<'r>(request: &'r Request, settings: &AnswerSettings) -> Option<&'r [(HostName, f64)]> {
    match &request.candidates {
        Candidates::Listed(hosts) if settings.limit_to_request => Some(hosts),
        _ => None,
    }
}

/// An answer that is limited is trimmed after that, so its run gives all hosts.
fn untrimmed<'r>(request: &'r Request, settings: &AnswerSettings) -> Cow<'r, Request> {
    if request.options.max_candidates == 0 || limit(request, settings).is_none() {
        return Cow::Borrowed(request);
    }
    let options = Options { max_candidates: 0, ..request.options.clone() };
    Cow::Owned(Request { options, ..request.clone() })
}

/// The answer: limited, trimmed, and for an evacuation with a mixed head, which stays inside the first tier.
fn shortlist(request: &Request, settings: &AnswerSettings, decision: &Decision, chance: u64) -> Vec<HostName> {
    let allowed = limit(request, settings).map(|hosts| hosts.iter().map(|(host, _)| host).collect::<NameSet<'_>>());
    let most = Some(request.options.max_candidates).filter(|most| *most > 0).unwrap_or(usize::MAX);
    let places = decision.hosts.iter().enumerate();
    let kept = places.filter(|(_, host)| allowed.as_ref().is_none_or(|allowed| allowed.has(host))).take(most);
    let (places, mut hosts): (Vec<usize>, Vec<HostName>) = kept.map(|(place, host)| (place, host.clone())).unzip();
    if request.intent() == Some(Intent::Evacuate) {
        let first = places.iter().filter(|place| **place < decision.first_tier).count();
        let among = if first > 0 { first } else { hosts.len() };
        Rng::with_seed(chance).shuffle(&mut hosts[..among.min(settings.shuffle_first)]);
    }
    hosts
}

// Names of hosts to be read again often, for one request: thousands of names are compared with thousands of others.
// They are sorted by a hash, whose order is not visible, so that names are read only where they are almost certainly
// equal.

const PLACE_BITS: u32 = 32;

/// A set of names.
pub(crate) struct NameSet<'n> {
    names: Vec<&'n HostName>,
    /// The upper half of the hash, then the place of the name. Equal halves only cost time.
    keys: Vec<u64>,
}

impl<'n> FromIterator<&'n HostName> for NameSet<'n> {
    fn from_iter<T: IntoIterator<Item = &'n HostName>>(names: T) -> Self {
        let names: Vec<&HostName> = names.into_iter().collect();
        let mut keys: Vec<u64> = names.iter().zip(0_u64..).map(|(name, place)| first(name) | place).collect();
        keys.sort_unstable();
        Self { names, keys }
    }
}

impl NameSet<'_> {
    pub(crate) fn has(&self, name: &HostName) -> bool {
        let first = first(name);
        let from = self.keys.partition_point(|key| *key < first);
        let alike = self.keys[from..].iter().take_while(|key| *key >> PLACE_BITS == first >> PLACE_BITS);
        alike.filter_map(|key| self.names.get(place(*key))).any(|found| *found == name)
    }
}

/// The least key that a name can have.
fn first(name: &HostName) -> u64 {
    hash(name.as_str()) >> PLACE_BITS << PLACE_BITS
}

fn place(key: u64) -> usize {
    usize::try_from(key & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_has_what_a_set_has(
            names in prop::collection::vec("[ab]{0,3}", 0..20),
            asked in prop::collection::vec("[ab]{0,3}", 0..20),
        ) {
            let names: Vec<HostName> = names.into_iter().map(HostName::from).collect();
            let (set, expected) = (names.iter().collect::<NameSet<'_>>(), names.iter().collect::<BTreeSet<_>>());
            for name in asked.into_iter().map(HostName::from) {
                prop_assert_eq!(set.has(&name), expected.contains(&name));
            }
        }
    }

    #[test]
    fn names_with_the_same_key_are_reported_apart() {
        let names = ["a", "b", "c"].map(HostName::from);
        let set = NameSet { names: names.iter().take(2).collect(), keys: vec![first(&names[2]), first(&names[2]) | 1] };
        assert!(!set.has(&names[2]));
        let set =
            NameSet { names: names.iter().collect(), keys: (0..3).map(|place| first(&names[2]) | place).collect() };
        assert!(set.has(&names[2]));
    }
}
