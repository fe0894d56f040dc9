//! Selects the pipeline for the slots of a flavor group. A request finds out whether a pipeline of that name exists.

use std::collections::BTreeMap;

use berth_core::GroupName;

/// The keys `flavorGroupPipelines` and `pipelineDefault` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineChoice {
    /// Pipeline per flavor group; `*` is the default of all other groups. An entry that exists wins, even an empty one.
    pub flavor_group_pipelines: BTreeMap<String, String>,
    pub default: String,
}

/// The pipeline for slots whose flavor was found in `group`; empty means that it is inferred from the flavor.
pub fn pipeline_for<'c>(group: &GroupName, choice: &'c PipelineChoice) -> &'c str {
    let pipelines = &choice.flavor_group_pipelines;
    pipelines.get(group.as_str()).or_else(|| pipelines.get("*")).unwrap_or(&choice.default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipeline_of_a_slot_follows_its_type() {
        for (pipelines, group, expected) in [
            (vec![("onyx", "p-pack"), ("*", "p-any")], "onyx", "p-pack"),
            (vec![("onyx", "p-pack"), ("*", "p-any")], "amber", "p-any"),
            (vec![("onyx", "p-pack")], "amber", "p-def"),
            (vec![("onyx", "")], "onyx", ""),
        ] {
            let flavor_group_pipelines =
                pipelines.iter().map(|(group, name)| ((*group).to_owned(), (*name).to_owned())).collect();
            let choice = PipelineChoice { flavor_group_pipelines, default: "p-def".to_owned() };
            assert_eq!(pipeline_for(&group.into(), &choice), expected, "{pipelines:?} {group}");
        }
    }
}
