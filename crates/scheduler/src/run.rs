//! The state that the steps of one run share: the request, the hosts, and the events to report.

use std::cell::RefCell;

use berth_capacity_view::Overlay;
use jiff::Timestamp;

use crate::fleet::Fleet;
use crate::quota_verdict::QuotaVerdict;
use crate::{Intent, Request};

/// Something that a step reports, for the metric of step events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEvent {
    pub step: &'static str,
    pub event: &'static str,
    /// A label of the event and its value.
    pub label: Option<(&'static str, String)>,
}

/// What a run decides on besides the request: the hosts, the capacity on them, and the time.
pub(crate) type Facts<'r> = (&'r Fleet, &'r Overlay<'r>, Option<Timestamp>);

pub(crate) struct Run<'r> {
    pub(crate) request: &'r Request,
    pub(crate) intent: Option<Intent>,
    pub(crate) fleet: &'r Fleet,
    /// The capacity on the hosts, as this decision counts it.
    pub(crate) overlay: &'r Overlay<'r>,
    /// The wall clock, for what begins and ends at a time; `None` if it is not known.
    pub(crate) time: Option<Timestamp>,
    events: RefCell<Vec<StepEvent>>,
    quota: RefCell<Option<QuotaVerdict>>,
}

impl<'r> Run<'r> {
    pub(crate) fn new(request: &'r Request, (fleet, overlay, time): Facts<'r>) -> Self {
        let (intent, events, quota) = (request.intent(), RefCell::default(), RefCell::default());
        Self { request, intent, fleet, overlay, time, events, quota }
    }

    pub(crate) fn report(&self, event: StepEvent) {
        self.events.borrow_mut().push(event);
    }

    pub(crate) fn note_quota(&self, verdict: QuotaVerdict) {
        self.quota.replace(Some(verdict));
    }

    /// What the filter of quota has decided, if the pipeline has it.
    pub(crate) fn take_quota(&self) -> Option<QuotaVerdict> {
        self.quota.take()
    }

    pub(crate) fn take_events(&self) -> Vec<StepEvent> {
        self.events.take()
    }

    /// True when the intent is one of these; never without an intent.
    pub(crate) fn is_for(&self, intents: &[Intent]) -> bool {
        self.intent.is_some_and(|intent| intents.contains(&intent))
    }

    pub(crate) fn extra_spec(&self, key: &str) -> Option<&'r str> {
        self.request.flavor.extra_specs.get(key).map(String::as_str)
    }
}
