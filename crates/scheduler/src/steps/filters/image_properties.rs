//! Keeps KVM hosts away from images made for another hypervisor.

use crate::candidates::CandidateHosts;
use crate::run::{Run, StepEvent};
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct ImageProperties;

impl Filter for ImageProperties {
    fn name(&self) -> FilterName {
        FilterName::new("filter_image_properties", "image")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        if run.is_for(&Intent::NOT_A_VM_OR_SLOT) {
            return Ok(Effect::Skipped);
        }
        match image_type(run).as_deref() {
            Some("kvm") => Ok(Effect::Skipped),
            Some("vmware" | "baremetal") => {
                field.known.clear();
                Ok(Effect::Done)
            }
            _ => {
                run.report(StepEvent {
                    step: self.name().step,
                    event: "image_properties_hv_type_undetermined",
                    label: Some(("intent", run.intent.map_or("unknown", Intent::as_str).to_owned())),
                });
                Ok(Effect::Skipped)
            }
        }
    }
}

/// The first property that exists decides, whatever it holds.
fn image_type(run: &Run<'_>) -> Option<String> {
    let properties = &run.request.image_properties;
    let value = properties.get("img_hv_type").or_else(|| properties.get("hypervisor_type"))?;
    value.as_str().map(str::to_lowercase)
}
