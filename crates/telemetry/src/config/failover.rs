//! Keys of the failover controller, which is not ours: they are checked and have no effect.

use std::time::Duration;

use super::section::{Section, Zero};

const SECONDS_30: Duration = Duration::from_secs(30);
const REQUIREMENTS: &str =
    "Number of failover slots per VM, by pattern of the flavor's name; the highest match counts.";
const NOT_APPLIED: &str = "At most one new slot per host and run.";

pub(super) fn check(s: &mut Section<'_>) {
    requirements(s);
    let short = Duration::from_millis(100);
    let any = i64::from(i32::MIN)..=i64::from(i32::MAX);
    s.duration("reconcileInterval", SECONDS_30, Zero::Default, "Period of a run.");
    s.duration("shortReconcileInterval", short, Zero::Default, "Period while VMs are waiting for their turn.");
    s.integer("maxVMsToProcess", 30, any.clone(), "VMs per run; 0 = default, negative = all.");
    s.integer("minSuccessForShortInterval", 1, any.clone(), "Fewest successes of a run for the short period.");
    s.integer("maxFailuresForShortInterval", 99, any.clone(), "Most failures of a run for the short period.");
    s.integer("vmSelectionRotationInterval", 4, any, "Every n-th run begins at a random VM; 0 = never.");
    s.flag("trustHypervisorLocation", false, "Take the location of VMs from Hypervisor objects.");
    s.duration("revalidationInterval", 60 * SECONDS_30, Zero::Default, "Period in which slots are validated again.");
    s.flag("limitOneNewReservationPerHypervisor", false, NOT_APPLIED);
    s.flag("useFlavorGroupResources", false, "Size slots after the largest flavor of the group.");
    s.text("creator", "cortex-failover-controller", "Label on the slots of that controller.");
}

/// Patterns that cannot match are skipped by that controller, so they are worth a warning and no more.
fn requirements(s: &mut Section<'_>) {
    const KEY: &str = "flavorFailoverRequirements";
    for (pattern, number) in s.numbers(KEY, "`{\"*\": 2}`", REQUIREMENTS).unwrap_or_default() {
        let path = format!("{KEY}.{pattern}");
        if !is_pattern(&pattern) {
            s.unknown(&path, "is not a pattern and is skipped; correct the brackets or the backslash".to_owned());
        }
        if number < 0 {
            s.error(&path, format!("{number} is negative; write 0 or more"));
        }
    }
}

/// Whether a text is a pattern of `*`, `?`, `[a-z]`, `[^a]`, `\x`.
fn is_pattern(text: &str) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let fits = match c {
            '\\' => rest.next().is_some(),
            '[' => class(&mut rest),
            _ => true,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Reads the rest of `[...]`: at least one character or range, none of them a bare `-` or `]`.
fn class(rest: &mut std::str::Chars<'_>) -> bool {
    if rest.as_str().starts_with('^') {
        rest.next();
    }
    for count in 0.. {
        if count > 0 && rest.as_str().starts_with(']') {
            rest.next();
            return true;
        }
        if !literal(rest) {
            return false;
        }
        if rest.as_str().starts_with('-') && !(rest.next().is_some() && literal(rest)) {
            return false;
        }
    }
    false
}

fn literal(rest: &mut std::str::Chars<'_>) -> bool {
    match rest.next() {
        Some('\\') => rest.next().is_some(),
        Some(c) => c != '-' && c != ']',
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_pattern;

    #[test]
    fn patterns() {
        for good in ["*", "mem_*", "mem_v4_c60_*", "[a-z]?", "[^a]x", r"\[", r"[\]-a]", "", "a]b"] {
            assert!(is_pattern(good), "{good}");
        }
        for bad in ["[", "[]", "[a", "[a-]", "[-a]", "a\\", "[^]"] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
