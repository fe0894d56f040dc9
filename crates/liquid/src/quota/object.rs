//! The object of a zone, as the domain sees it.

use berth_core::liquid::quota::ZoneQuota;
use berth_core::{ProjectId, Zone};
use berth_crds::{ProjectQuota, ProjectQuotaSpec, names};

/// What the object says besides project and zone.
pub(super) fn zone_quota(object: &ProjectQuota) -> ZoneQuota {
    let ProjectQuotaSpec { project_name, domain_id, domain_name, quota, .. } = object.spec.clone();
    ZoneQuota {
        project_name: project_name.unwrap_or_default(),
        domain: domain_id.into(),
        domain_name: domain_name.unwrap_or_default(),
        quota,
    }
}

/// The name alone does not tell: project `a-b` in zone `c` has the same one as project `a` in zone `b-c`.
pub(super) fn is_quota_of(object: &ProjectQuota, project: &ProjectId, zone: &Zone) -> bool {
    object.spec.project_id == project.as_str() && object.spec.availability_zone == zone.as_str()
}

pub(super) fn new_object(project: &ProjectId, zone: &Zone, content: ZoneQuota) -> ProjectQuota {
    let name = names::project_quota(project.as_str(), zone.as_str());
    let spec = ProjectQuotaSpec {
        project_id: project.to_string(),
        availability_zone: zone.to_string(),
        ..ProjectQuotaSpec::default()
    };
    ProjectQuota::new(&name, with_content(spec, content))
}

/// The object with this content. Nothing else changes.
pub(super) fn changed_object(object: &ProjectQuota, content: ZoneQuota) -> ProjectQuota {
    ProjectQuota { spec: with_content(object.spec.clone(), content), ..object.clone() }
}

fn with_content(spec: ProjectQuotaSpec, content: ZoneQuota) -> ProjectQuotaSpec {
    let ZoneQuota { project_name, domain, domain_name, quota } = content;
    let named = |name: String| (!name.is_empty()).then_some(name);
    ProjectQuotaSpec {
        project_name: named(project_name),
        domain_id: domain.to_string(),
        domain_name: named(domain_name),
        quota,
        ..spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_content_that_it_was_given() {
        let quota = [("hw_version_a_ram".to_owned(), 80)].into();
        let content =
            ZoneQuota { project_name: "prod".to_owned(), domain: "d".into(), domain_name: "corp".to_owned(), quota };
        let object = new_object(&"p".into(), &"az-1".into(), content.clone());
        assert_eq!(object.metadata.name.as_deref(), Some("quota-p-az-1"));
        assert_eq!((&*object.spec.project_id, &*object.spec.availability_zone), ("p", "az-1"));
        assert_eq!(zone_quota(&object), content);
        let empty = changed_object(&object, ZoneQuota::default());
        assert_eq!((zone_quota(&empty), empty.spec.project_name.clone()), (ZoneQuota::default(), None));
        assert_eq!(changed_object(&empty, content), object);
    }
}
