//! Names of objects.

use crate::text::cut;

/// Name of the Knowledge object that holds the flavor groups.
pub const FLAVOR_GROUPS: &str = "flavor-groups";

/// Longest name that the API server takes, in bytes.
const MAX_NAME: usize = 253;

/// Longest readable part of a name that ends in a hash, in bytes.
const MAX_PREFIX: usize = 56;

/// Name of the CommittedResource of a commitment. Object names are lower case, UUIDs need not be.
pub fn commitment(uuid: &str) -> String {
    format!("commitment-{}", uuid.to_ascii_lowercase())
}

/// Name of slot `number` of the CommittedResource `commitment`.
pub fn slot(commitment: &str, number: u64) -> String {
    format!("{commitment}-{number}")
}

/// Name of the FlavorGroupCapacity of a flavor group in a zone.
///
/// Each byte that a label cannot have becomes `-`. The readable part may be the same for two pairs; the hash of the original
/// spelling tells them apart.
pub fn flavor_group_capacity(group: &str, zone: &str) -> String {
    let lower = format!("{group}-{zone}").to_ascii_lowercase();
    let readable: String = lower.bytes().map(|byte| sanitised(char::from(byte))).collect();
    // A name begins with a letter or a digit.
    let readable = readable.trim_start_matches('-');
    format!("{}-{}", cut(readable, MAX_PREFIX), hash(&[group, zone])).trim_start_matches('-').to_owned()
}

/// Name of the ProjectQuota of a project in a zone.
///
/// Where the plain name is not a valid object name (a zone in upper case, say) it is made one: other characters become
/// `-`, and a hash of the original spelling is appended, so that a push of such a quota does not fail.
pub fn project_quota(project: &str, zone: &str) -> String {
    let plain = format!("quota-{project}-{zone}");
    if is_valid(&plain) {
        return plain;
    }
    let readable: String = plain.to_ascii_lowercase().chars().map(sanitised).take(MAX_PREFIX).collect();
    format!("{readable}-{}", hash(&[project, zone]))
}

/// Name of the History of a workload of Nova; `None` if its id cannot be part of an object name.
pub fn history(resource_id: &str) -> Option<String> {
    Some(format!("nova-{resource_id}")).filter(|name| !resource_id.is_empty() && is_valid(name))
}

/// Name of a CommitmentChange, from 16 random characters of `a-z2-7` ([`random_text`]).
pub fn commitment_change(random: &str) -> String {
    format!("change-{random}")
}

/// Ten random bytes as 16 characters of `a-z2-7`, five bits each.
pub fn random_text(bytes: [u8; 10]) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bits = bytes.into_iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(byte));
    (0..16).rev().map(|place| char::from(DIGITS[(bits >> (5 * place) & 31) as usize])).collect()
}

fn sanitised(character: char) -> char {
    if character.is_ascii_lowercase() || character.is_ascii_digit() { character } else { '-' }
}

/// True for what the API server takes as the name of a custom resource: labels of lower case letters, digits and inner
/// hyphens, joined by dots.
fn is_valid(name: &str) -> bool {
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
}

/// Six hexadecimal digits of FNV-1a (32 bit) over the parts, which are separated by NUL.
pub(crate) fn hash(parts: &[&str]) -> String {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(PRIME);
    format!("{:06x}", parts.join("\0").bytes().fold(OFFSET, step) & 0x00ff_ffff)
}

#[cfg(test)]
mod tests {
    use super::{commitment, commitment_change, flavor_group_capacity, history, project_quota, random_text};

    const COMMITMENT: &str = "commitment-6b0f3a52-9d41-4c7e-8a15-2f60c1d7e904";

    #[test]
    fn a_commitment_is_named_after_its_uuid_in_lower_case() {
        assert_eq!(commitment("6B0F3A52-9d41-4c7e-8a15-2f60c1d7e904"), COMMITMENT);
        assert_eq!(commitment("dryrun-ab12cd34-0"), "commitment-dryrun-ab12cd34-0");
    }

    #[test]
    fn a_change_is_named_after_random_characters() {
        assert_eq!(commitment_change(&random_text([0; 10])), "change-aaaaaaaaaaaaaaaa");
        assert_eq!(random_text([0xff; 10]), "7".repeat(16));
        assert_eq!(random_text(*b"0123456789"), "gaytemzugu3doobz", "base32 in lower case");
        assert!(super::is_valid(&commitment_change(&random_text(*b"\x00\x44\x32\x14\xc7\x42\x54\xb6\x35\xcf"))));
    }

    #[test]
    fn history_is_named_after_its_workload() {
        assert_eq!(history("6b0f3a52-9d41").as_deref(), Some("nova-6b0f3a52-9d41"));
        for bad in ["", "Upper", "with space", "ends-", "a/b", &"x".repeat(250)] {
            assert_eq!(history(bad), None, "{bad}");
        }
    }

    #[test]
    fn capacities_are_named_after_group_and_zone() {
        let long = "gp_v4_general_purpose_with_a_rather_long_group_name_end";
        let table = [
            ("mem_v4", "eu-test-1a", "mem-v4-eu-test-1a-f5fe35"),
            ("mem.v4", "eu-test-1a", "mem-v4-eu-test-1a-ef2e3c"),
            ("MEM_V4", "eu-test-1a", "mem-v4-eu-test-1a-bc0b35"),
            ("x-y", "z", "x-y-z-ac5b1f"),
            ("x", "y-z", "x-y-z-d0a573"),
            ("3107", "eu-test-1b", "3107-eu-test-1b-09999b"),
            (long, "eu-test-1b", "gp-v4-general-purpose-with-a-rather-long-group-name-end--04eff5"),
            ("kvm_v2_hana_s", "eu-nl-1a", "kvm-v2-hana-s-eu-nl-1a-829f33"),
            ("2101", "eu-nl-1b", "2101-eu-nl-1b-e10024"),
            ("gp.small", "Zone_A", "gp-small-zone-a-d850d7"),
            ("gp-small", "zone-a", "gp-small-zone-a-c6ab5c"),
            (
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "very-long-availability-zone-name-1a",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-very-long-avail-3f1974",
            ),
        ];
        for (group, zone, name) in table {
            assert_eq!(flavor_group_capacity(group, zone), name);
        }
    }

    #[test]
    fn a_capacity_of_a_group_or_zone_that_is_no_name_gets_a_valid_one() {
        let long = "\u{f6}".repeat(60);
        for (group, zone) in [("a b", "z/1"), ("gr\u{f6}\u{df}e", "z"), ("_g", "z"), ("\u{f6}", "\u{f6}"), (&long, "z")]
        {
            let name = flavor_group_capacity(group, zone);
            assert!(super::is_valid(&name) && name.len() <= 63, "{group} {zone}: {name}");
        }
        assert!(flavor_group_capacity("gr\u{f6}\u{df}e", "z").starts_with("gr----e-z-"), "each byte");
        assert_ne!(flavor_group_capacity("a b", "z"), flavor_group_capacity("a/b", "z"));
    }

    #[test]
    fn a_quota_is_named_after_project_and_zone() {
        let project = "5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40";
        assert_eq!(project_quota(project, "eu-test-1a"), format!("quota-{project}-eu-test-1a"));
        assert_eq!(project_quota("p", "zone.7"), "quota-p-zone.7");
    }

    #[test]
    fn a_quota_of_a_zone_that_is_no_name_gets_one_with_a_hash() {
        let long = "z".repeat(300);
        for zone in ["EU-NL-3B", "zone_7", "zone-", "a..b", "zöne", long.as_str()] {
            let name = project_quota("p", zone);
            assert!(super::is_valid(&name) && name.starts_with("quota-p-"), "{zone}: {name}");
        }
        assert_ne!(project_quota("p", "EU"), project_quota("p", "eu"));
        assert_ne!(project_quota("p", "a_b"), project_quota("p", "A_B"));
    }
}
