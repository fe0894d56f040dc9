//! Names of resources: `hw_version_<group>_ram`, `_cores` and `_instances`.

use thiserror::Error;

use crate::commitment::ResourceType;
use crate::ids::GroupName;

const PREFIX: &str = "hw_version_";

/// What a resource of a flavor group counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    Cores,
    Instances,
    Ram,
}

/// The resources whose commitments a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supported {
    RamAndCores,
    RamOnly,
}

/// A name that is not that of a resource with commitments.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    #[error("invalid resource name: {0} (missing prefix)")]
    MissingPrefix(String),
    #[error("invalid resource name: {0} (empty group name)")]
    EmptyGroup(String),
    #[error("invalid resource name: {0} (only _ram and _cores resources are supported for commitments)")]
    NeitherRamNorCores(String),
    #[error("invalid resource name: {0} (only _ram resources are supported for commitments)")]
    NotRam(String),
}

impl ResourceKind {
    pub const ALL: [Self; 3] = [Self::Cores, Self::Instances, Self::Ram];

    fn suffix(self) -> &'static str {
        match self {
            Self::Cores => "_cores",
            Self::Instances => "_instances",
            Self::Ram => "_ram",
        }
    }
}

impl From<ResourceType> for ResourceKind {
    fn from(resource: ResourceType) -> Self {
        match resource {
            ResourceType::Memory => Self::Ram,
            ResourceType::Cores => Self::Cores,
        }
    }
}

impl Supported {
    fn includes(self, kind: ResourceKind) -> Option<ResourceType> {
        match (kind, self) {
            (ResourceKind::Ram, _) => Some(ResourceType::Memory),
            (ResourceKind::Cores, Self::RamAndCores) => Some(ResourceType::Cores),
            _ => None,
        }
    }

    fn refuse(self, name: &str) -> NameError {
        match self {
            Self::RamAndCores => NameError::NeitherRamNorCores(name.to_owned()),
            Self::RamOnly => NameError::NotRam(name.to_owned()),
        }
    }
}

/// The name of a resource of the group.
pub fn resource_name(group: &GroupName, kind: ResourceKind) -> String {
    format!("{PREFIX}{group}{}", kind.suffix())
}

/// The group and the kind of a resource; `None` for names of other services.
pub fn parse_resource(name: &str) -> Option<(GroupName, ResourceKind)> {
    split(name.strip_prefix(PREFIX)?).filter(|(group, _)| !group.is_empty()).map(|(group, kind)| (group.into(), kind))
}

/// The group and the type of a resource that can have commitments.
pub fn parse_committed(name: &str, supported: Supported) -> Result<(GroupName, ResourceType), NameError> {
    let rest = name.strip_prefix(PREFIX).ok_or_else(|| NameError::MissingPrefix(name.to_owned()))?;
    let (group, kind) = split(rest).ok_or_else(|| supported.refuse(name))?;
    let resource = supported.includes(kind).ok_or_else(|| supported.refuse(name))?;
    if group.is_empty() {
        return Err(NameError::EmptyGroup(name.to_owned()));
    }
    Ok((group.into(), resource))
}

fn split(rest: &str) -> Option<(&str, ResourceKind)> {
    ResourceKind::ALL.into_iter().find_map(|kind| Some((rest.strip_suffix(kind.suffix())?, kind)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(name: &str, supported: Supported) -> Result<(String, ResourceType), String> {
        let parsed = parse_committed(name, supported).map_err(|error| error.to_string());
        parsed.map(|(group, resource)| (group.to_string(), resource))
    }

    #[test]
    fn names_of_committed_resources_are_read() {
        for (name, group, resource) in [
            ("hw_version_hana_v3_ram", "hana_v3", ResourceType::Memory),
            ("hw_version_a_ram_cores", "a_ram", ResourceType::Cores),
            ("hw_version_hw_version_x_ram", "hw_version_x", ResourceType::Memory),
        ] {
            assert_eq!(parsed(name, Supported::RamAndCores), Ok((group.to_owned(), resource)));
        }
    }

    #[test]
    fn an_error_says_what_is_wrong_with_the_name() {
        let unsupported = "only _ram and _cores resources are supported for commitments";
        for (name, reason) in [
            ("cores", "missing prefix"),
            ("", "missing prefix"),
            ("hw_version__ram", "empty group name"),
            ("hw_version__cores", "empty group name"),
            ("hw_version_ram", unsupported),
            ("hw_version_a_instances", unsupported),
            ("hw_version_", unsupported),
            ("hw_version_a_RAM", unsupported),
        ] {
            let text = format!("invalid resource name: {name} ({reason})");
            assert_eq!(parsed(name, Supported::RamAndCores), Err(text));
        }
    }

    #[test]
    fn the_stricter_reader_accepts_ram_only() {
        assert_eq!(parsed("hw_version_a_ram", Supported::RamOnly), Ok(("a".to_owned(), ResourceType::Memory)));
        for (name, reason) in [
            ("a_ram", "missing prefix"),
            ("hw_version__ram", "empty group name"),
            ("hw_version_a_cores", "only _ram resources are supported for commitments"),
            ("hw_version__cores", "only _ram resources are supported for commitments"),
        ] {
            assert_eq!(parsed(name, Supported::RamOnly), Err(format!("invalid resource name: {name} ({reason})")));
        }
    }

    #[test]
    fn resources_of_other_services_are_none_of_a_group() {
        assert_eq!(parse_resource("hw_version_a_instances"), Some(("a".into(), ResourceKind::Instances)));
        for name in ["ram", "hw_version__ram", "hw_version_a_disk"] {
            assert_eq!(parse_resource(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_made_name_is_read_as_the_same_resource(group in "[a-z_0-9]{1,12}", kind in 0..3_usize) {
            let (group, kind) = (GroupName::from(group), ResourceKind::ALL[kind]);
            prop_assert_eq!(parse_resource(&resource_name(&group, kind)), Some((group, kind)));
        }
    }
}
