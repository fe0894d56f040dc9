//! The configuration of the server for a fixture. The worker creates its data over HTTP.

use std::fs;
use std::path::Path;

use berth_control_plane::FromRefused as _;

use crate::Error;

/// The origin and the headers of the CORS tests.
const CORS: [&str; 2] = ["--cors-origin=http://valid.example.com", "--cors-headers=openstack-api-version"];
/// This rule keeps requiring an administrator.
const KEPT_RULE: &str = "admin_api";

/// The flags, besides address, database and authentication.
pub(crate) fn arguments(fixture: &str, rules: &[String], folder: &Path) -> Result<Vec<String>, Error> {
    let enforce = fixture == "SecureRBACPolicyFixture";
    let mut arguments = vec![format!("--enforce-new-defaults={enforce}")];
    match fixture {
        "CORSFixture" => arguments.extend(CORS.map(str::to_owned)),
        "OpenPolicyFixture" => arguments.push(open_policy(rules, folder)?),
        _ => {}
    }
    Ok(arguments)
}

/// Writes a policy that allows everything to every user.
fn open_policy(rules: &[String], folder: &Path) -> Result<String, Error> {
    let open = rules.iter().filter(|rule| *rule != KEPT_RULE);
    let text = open.map(|rule| format!("\"{rule}\": \"@\"\n")).collect::<Vec<_>>().concat();
    let file = folder.join("policy.yaml");
    fs::write(&file, text).map_err(Error::path("write", &file))?;
    Ok(format!("--policy-file={}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let rules = ["admin_api", "service_api", "placement:usages"].map(str::to_owned);
        let of = |fixture| arguments(fixture, &rules, folder.path()).unwrap();
        assert_eq!(of("APIFixture"), ["--enforce-new-defaults=false"]);
        assert_eq!(of("LegacyRBACPolicyFixture"), of("APIFixture"));
        assert_eq!(of("SecureRBACPolicyFixture"), ["--enforce-new-defaults=true"]);
        assert_eq!(of("CORSFixture").len(), 3);

        let open = of("OpenPolicyFixture");
        let file = open[1].strip_prefix("--policy-file=").unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "\"service_api\": \"@\"\n\"placement:usages\": \"@\"\n");
    }
}
