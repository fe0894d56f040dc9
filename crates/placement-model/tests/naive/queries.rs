//! Random queries about candidates, of all microversions.

use berth_placement_model::Version;

use super::clouds::{AGGREGATES, CLASSES, TRAITS, uuid};
use super::random::Random;

/// The parameters of a query.
pub type Pairs = Vec<(String, String)>;

pub fn version(random: &mut Random) -> Version {
    let minor = 10 + random.below(30);
    // Mostly the newest version, which has the most rules.
    let minor = if random.chance(400) { 39 } else { minor };
    u8::try_from(minor).ok().and_then(Version::new).unwrap_or(Version::NEWEST)
}

pub fn query(random: &mut Random, version: Version) -> Pairs {
    let mut pairs = Pairs::new();
    let suffixes = suffixes(random, version);
    for suffix in &suffixes {
        group(random, version, suffix, &mut pairs);
    }
    let granular: Vec<&String> = suffixes.iter().filter(|suffix| !suffix.is_empty()).collect();
    if version.has(Version::GRANULAR_GROUPS) && (granular.len() > 1 || random.chance(100)) {
        pairs.push(("group_policy".into(), if random.chance(500) { "none" } else { "isolate" }.into()));
    }
    if version.has(Version::LIMIT) && random.chance(300) {
        pairs.push(("limit".into(), (1 + random.below(6)).to_string()));
    }
    if version.has(Version::ROOT_REQUIRED) && random.chance(150) {
        pairs.push(("root_required".into(), traits(random, true)));
    }
    if version.has(Version::SAME_SUBTREE) {
        same_subtree(random, &granular, &mut pairs);
    }
    pairs
}

fn suffixes(random: &mut Random, version: Version) -> Vec<String> {
    if !version.has(Version::GRANULAR_GROUPS) {
        return vec![String::new()];
    }
    let words = if version.has(Version::GROUP_NAMES) { ["", "_NIC", "b-2", "3"] } else { ["", "1", "2", "30"] };
    let mut some: Vec<String> = words.iter().filter(|_| random.chance(450)).map(ToString::to_string).collect();
    if some.is_empty() {
        some.push(words[random.below(4)].to_owned());
    }
    let first = random.below(some.len());
    some.rotate_left(first);
    some
}

fn group(random: &mut Random, version: Version, suffix: &str, pairs: &mut Pairs) {
    let is_bare = version.has(Version::SAME_SUBTREE) && !suffix.is_empty() && random.chance(250);
    let mut add = |family: &str, value: String| pairs.push((format!("{family}{suffix}"), value));
    if !is_bare {
        add("resources", resources(random));
    }
    let times = if version.has(Version::ANY_TRAITS) { 1 + random.below(2) } else { 1 };
    if version.has(Version::REQUIRED_TRAITS) && random.chance(if is_bare { 850 } else { 350 }) {
        for _ in 0..times {
            add("required", required(random, version));
        }
    }
    if version.has(Version::CANDIDATES_BY_AGGREGATE) && random.chance(250) {
        add("member_of", member_of(random, version));
        if version.has(Version::REPEATED_MEMBER_OF) && random.chance(400) {
            add("member_of", member_of(random, version));
        }
    }
    if version.has(Version::CANDIDATES_IN_TREE) && random.chance(120) {
        let number = u64::try_from(10 + random.below(12)).unwrap_or(10);
        add("in_tree", uuid(1, number));
    }
}

fn resources(random: &mut Random) -> String {
    let mut some: Vec<&str> = CLASSES.into_iter().filter(|_| random.chance(300)).collect();
    if some.is_empty() {
        some.push(CLASSES[random.below(4)]);
    }
    if random.chance(15) {
        some.push("CUSTOM_UNKNOWN");
    }
    let amount = |random: &mut Random| {
        if random.chance(5) { "99999999999999999999".to_owned() } else { (1 + random.below(5) / 2).to_string() }
    };
    let amounts: Vec<String> = some.into_iter().map(|class| format!("{class}:{}", amount(random))).collect();
    amounts.join(",")
}

fn traits(random: &mut Random, may_forbid: bool) -> String {
    let mut some = Vec::new();
    for name in TRAITS {
        if random.chance(180) {
            let sign = if may_forbid && random.chance(350) { "!" } else { "" };
            some.push(format!("{sign}{name}"));
        }
    }
    if some.is_empty() {
        some.push(TRAITS[1 + random.below(4)].to_owned());
    }
    if random.chance(15) {
        some.push("CUSTOM_UNKNOWN".to_owned());
    }
    some.join(",")
}

fn required(random: &mut Random, version: Version) -> String {
    if version.has(Version::ANY_TRAITS) && random.chance(400) {
        return format!("in:{}", traits(random, false));
    }
    traits(random, version.has(Version::FORBIDDEN_TRAITS))
}

fn member_of(random: &mut Random, version: Version) -> String {
    // The last one has no members.
    let end = usize::try_from(AGGREGATES).unwrap_or(0) + 1;
    let mut pick = || uuid(2, u64::try_from(random.below(end)).unwrap_or(0));
    let (one, other) = (pick(), pick());
    let sign = if version.has(Version::FORBIDDEN_AGGREGATES) && random.chance(350) { "!" } else { "" };
    if random.chance(400) { format!("{sign}in:{one},{other}") } else { format!("{sign}{one}") }
}

fn same_subtree(random: &mut Random, granular: &[&String], pairs: &mut Pairs) {
    let bare = |suffix: &&&String| !pairs.iter().any(|pair| pair.0 == format!("resources{suffix}"));
    let mut named: Vec<String> = granular.iter().filter(bare).map(ToString::to_string).collect();
    for suffix in granular {
        if random.chance(250) && !named.contains(suffix) {
            named.push((*suffix).clone());
        }
    }
    if !named.is_empty() {
        pairs.push(("same_subtree".into(), named.join(",")));
    }
}
