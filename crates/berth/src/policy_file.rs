//! Reads policy files, which all APIs may share.

use std::collections::BTreeSet;
use std::path::Path;

use berth_liquid::server::default_policies;
use berth_openstack::policy::Policies;
use berth_placement::policy;

use crate::error::Error;

/// The rules of one API, and names of the file that no API uses: they have no effect.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    pub(crate) policies: Policies,
    pub(crate) unknown: BTreeSet<String>,
}

/// The rules of a file in place of the defaults, or the defaults without a file. Unknown names are logged.
pub(crate) fn read(defaults: Policies, file: Option<&Path>) -> Result<Policies, Error> {
    let Some(path) = file else { return Ok(defaults) };
    let PolicyFile { policies, unknown } = decode(defaults, path)?;
    for rule in unknown {
        tracing::warn!(rule, "policy file has an unknown rule, which has no effect");
    }
    Ok(policies)
}

/// The rules of a file in place of the defaults.
pub(crate) fn decode(defaults: Policies, path: &Path) -> Result<PolicyFile, Error> {
    let wrong = |why: String| Error::Policies { path: path.to_owned(), why };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let policies = defaults.with_file(&text).map_err(|error| wrong(error.to_string()))?;
    let unknown = unknown_rules(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(PolicyFile { policies, unknown })
}

fn unknown_rules(text: &str) -> Result<BTreeSet<String>, berth_openstack::policy::PolicyError> {
    let of_liquid = default_policies().unknown_rules(text)?;
    let of_placement = policy::defaults(true).unknown_rules(text)?;
    Ok(of_liquid.intersection(&of_placement).cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::NamedTempFile;

    use super::*;

    fn file(text: &str) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_name_that_no_api_uses_is_unknown_in_a_file_that_both_share() {
        let shared =
            file("liquid:get_info: rule:mine\nmine: '@'\nadmin_api: '@'\nplacement:usages: '@'\nliquid:get_inf: '@'\n");
        for defaults in [default_policies(), policy::defaults(true)] {
            let read = decode(defaults, shared.path()).unwrap();
            assert_eq!(read.unknown, ["liquid:get_inf".to_owned()].into());
        }
    }

    #[test]
    fn an_error_names_the_file_and_what_is_wrong_in_it() {
        let wrong = file("liquid:get_info: role:x or\n");
        let error = decode(default_policies(), wrong.path()).unwrap_err().to_string();
        let start = format!("the policy file {} cannot be used: rule \"liquid:get_info\"", wrong.path().display());
        assert!(error.starts_with(&start), "{error}");
        let missing = decode(default_policies(), Path::new("/does/not/exist")).unwrap_err().to_string();
        assert!(missing.starts_with("the policy file /does/not/exist cannot be used: No such file"), "{missing}");
        assert!(read(default_policies(), None).is_ok());
    }
}
