//! The state that the steps of one run share: the request, the hosts, and the events to report.

use std::cell::RefCell;

use berth_capacity_view::Overlay;

use crate::fleet::Fleet;
use crate::{Intent, Request};

/// Something that a step reports, for the metric of step events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEvent {
    pub step: &'static str,
    pub event: &'static str,
    /// A label of the event and its value.
    pub label: Option<(&'static str, String)>,
}

pub(crate) struct Run<'r> {
    pub(crate) request: &'r Request,
    pub(crate) intent: Option<Intent>,
    pub(crate) fleet: &'r Fleet,
    /// The capacity on the hosts, as this decision counts it.
    pub(crate) overlay: &'r Overlay<'r>,
    events: RefCell<Vec<StepEvent>>,
}

impl<'r> Run<'r> {
    pub(crate) fn new(request: &'r Request, fleet: &'r Fleet, overlay: &'r Overlay<'r>) -> Self {
        Self { request, intent: request.intent(), fleet, overlay, events: RefCell::default() }
    }

    pub(crate) fn report(&self, event: StepEvent) {
        self.events.borrow_mut().push(event);
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
