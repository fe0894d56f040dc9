//! Answers to requests from outside (document 60 sections 2.5, 10.3 and 14.1): the run, which of its hosts are answered
//! in which order, and the claim that keeps the first one. The run is the engine's, the slot is chosen in `booking`.

use std::{borrow::Cow, time::Duration};

use berth_capacity_view::{Claim, Overlay};
use berth_core::HostName;
use fastrand::Rng;

use super::{AnswerSettings, inner::Inner};
use crate::{
    Answer, Booking, Call, Candidates, Decision, Explanation, Intent, Options, Request, SchedulerError, booking,
    coverage, engine::Scope, name_set::NameSet,
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
        let hosts = shortlist(request, &self.settings.answers, &decision, call.chance);
        let guest = call.guest.filter(|_| decision.failed.is_none());
        let everywhere = self.settings.pipelines.get(request.pipeline_name()?)?.ignore_preselection;
        let coverage = guest.and_then(|guest| coverage::coverage(&self.fleet.view, request, guest, &hosts, everywhere));
        let booking = if request.options.read_only { None } else { self.hold(call, hosts.first()) };
        Ok(Answer { hosts, decision, booking, coverage, explanation })
    }

    /// The view without the slot that a request is about: it would be in its own way (document 22 section 12 no. 16).
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
        let decision = self.timed(&overlay, &untrimmed, Scope::Request, call.stopwatch)?;
        let explanation = call.explain.then(|| self.explain(&overlay, request)).transpose()?;
        Ok((decision, explanation))
    }

    /// Keeps the first host for the instance, in place of what was kept for it before; without a host nothing is.
    fn hold(&mut self, call: &Call<'_>, host: Option<&HostName>) -> Option<Booking> {
        let request = call.request;
        let view = &mut self.fleet.view;
        let Some(host) = host else {
            let freed = view.unclaim(&request.instance);
            self.serve(freed);
            return None;
        };
        let booking = call.guest.and_then(|guest| booking::book(view, request, guest, host));
        let seat =
            booking.as_ref().map(|booking| &booking.slot).or_else(|| booking::seat(view, &request.instance, host));
        let claim = Claim {
            instance: request.instance.clone(),
            host: host.clone(),
            size: request.need(),
            expires: call.now.saturating_add(time_to_live(request, &self.settings.answers)),
            slot: seat.cloned(),
        };
        let freed = view.claim(claim);
        self.serve(freed);
        booking
    }

    pub(super) fn expire(&mut self, now: Duration) {
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

/// The hosts that an answer may hold, when it is limited to those of the request.
fn limit<'r>(request: &'r Request, settings: &AnswerSettings) -> Option<&'r [(HostName, f64)]> {
    match &request.candidates {
        Candidates::Listed(hosts) if settings.limit_to_request => Some(hosts),
        _ => None,
    }
}

/// An answer that is limited is trimmed after that (U6), so its run gives all hosts.
fn untrimmed<'r>(request: &'r Request, settings: &AnswerSettings) -> Cow<'r, Request> {
    if request.options.max_candidates == 0 || limit(request, settings).is_none() {
        return Cow::Borrowed(request);
    }
    let options = Options { max_candidates: 0, ..request.options.clone() };
    Cow::Owned(Request { options, ..request.clone() })
}

/// The answer: limited, trimmed, and for an evacuation with a mixed head, which stays inside the first tier (B15).
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
