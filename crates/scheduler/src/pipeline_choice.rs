//! Which pipeline places the slots of a flavor group. Whether a pipeline of that name exists is found out when it is
//! asked.

use std::collections::BTreeMap;

use berth_core::GroupName;

/// The keys `flavorGroupPipelines` and `pipelineDefault` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineChoice {
    /// Pipeline per flavor group; `*` stands for every other group. An entry that exists wins, even an empty one.
    pub flavor_group_pipelines: BTreeMap<String, String>,
    /// The pipeline when no entry matches.
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
    fn document_21_section_6_3_pipeline() {
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
