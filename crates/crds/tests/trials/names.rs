//! The property of `names`, for the fuzzer and for a test of `berth-crds`: the lines of the input are used as UUID,
//! group and zone. Every derived name is accepted by the API server, and parsed back into its parts.

use berth_core::{SlotName, slot};
use berth_crds::names;

/// The longest name that the API server accepts, in bytes.
const NAME: usize = 253;

pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (one, two, digits) = (next(), next(), next());
    slots(one, digits.parse().unwrap_or_default());
    slot_numbers(one, two);
    commitments(one, two);
    capacities(one, two);
    quotas(one, two);
    histories(one);
}

/// The name of a slot contains its number.
fn slots(uuid: &str, number: u64) {
    let commitment = names::commitment(uuid);
    let name = SlotName::from(names::slot(&commitment, number));
    let prefix = format!("{commitment}-");
    assert_eq!(slot::number(&name, &prefix), Some(number), "{name}");
    assert_eq!(slot::number(&commitment.as_str().into(), &prefix), None);
    // Slots are planned only for UUIDs of this form.
    let plain = uuid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if plain && (6..=40).contains(&uuid.len()) {
        assert!(is_name(name.as_str()), "{name}");
    }
}

/// A parsed number has the digits of the name, without leading zeros.
fn slot_numbers(name: &str, prefix: &str) {
    for name in [name.to_owned(), format!("{prefix}{name}")] {
        if let Some(number) = slot::number(&name.as_str().into(), prefix) {
            let digits = name.strip_prefix(prefix).map(|digits| digits.trim_start_matches('0')).unwrap_or_default();
            assert_eq!(digits, if number == 0 { String::new() } else { number.to_string() }, "{name:?} {prefix:?}");
        }
    }
}

/// Two commitments have the same name exactly when their UUIDs differ only in case.
fn commitments(one: &str, other: &str) {
    assert_eq!(names::commitment(one) == names::commitment(other), one.eq_ignore_ascii_case(other));
    assert_eq!(names::commitment(&one.to_ascii_uppercase()), names::commitment(one));
}

fn capacities(group: &str, zone: &str) {
    let name = names::flavor_group_capacity(group, zone);
    assert!(name.len() <= 63, "{name:?}");
    assert_eq!(name, names::flavor_group_capacity(group, zone));
    let usual = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if usual(group) && usual(zone) && group.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        assert!(is_name(&name), "{group:?} {zone:?}: {name:?}");
    }
}

fn quotas(project: &str, zone: &str) {
    let (name, plain) = (names::project_quota(project, zone), format!("quota-{project}-{zone}"));
    assert!(is_name(&name), "{project:?} {zone:?}: {name:?}");
    assert_eq!(name == plain, is_name(&plain), "{name:?}");
}

fn histories(resource: &str) {
    let plain = format!("nova-{resource}");
    let good = !resource.is_empty() && is_name(&plain);
    assert_eq!(names::history(resource), good.then_some(plain));
}

/// Whether the API server accepts it as the name of an object, according to RFC 1123.
fn is_name(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let labels = name.split('.').map(str::as_bytes);
    let inner = |label: &[u8]| label.iter().all(|byte| edge(Some(byte)) || *byte == b'-');
    name.len() <= NAME && labels.into_iter().all(|label| edge(label.first()) && edge(label.last()) && inner(label))
}
