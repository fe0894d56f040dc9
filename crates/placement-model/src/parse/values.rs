//! Parses the values of `resources`, `required`, `member_of` and `in_tree`, by microversion.

use std::collections::BTreeSet;

use crate::{ClassName, Key, Refusal, TraitName, Version, key};

/// Amounts by class, each class once at its first place with its last amount.
pub type Amounts = Vec<(ClassName, Option<u64>)>;
/// Required sets, and forbidden traits.
pub type Traits = (Vec<BTreeSet<TraitName>>, BTreeSet<TraitName>);
/// Sets of aggregates, and those that are forbidden.
pub type Aggregates = (Vec<BTreeSet<Key>>, BTreeSet<Key>);

pub fn resources(text: &str) -> Result<Amounts, Refusal> {
    if text.trim().is_empty() {
        return Err(badly_formed("empty string"));
    }
    let mut amounts: Amounts = Vec::new();
    for element in text.split(',') {
        let (class, amount) = element.split_once(':').ok_or_else(|| badly_formed(element))?;
        if amount.contains(':') {
            return Err(badly_formed(element));
        }
        let amount = positive(class, amount)?;
        match amounts.iter_mut().find(|known| known.0.as_str() == class) {
            Some(known) => known.1 = amount,
            None => amounts.push((ClassName::new(class), amount)),
        }
    }
    Ok(amounts)
}

fn badly_formed(got: &str) -> Refusal {
    Refusal::invalid(format!(
        "Badly formed resources parameter. Expected resources query string parameter in form: \
         ?resources=VCPU:2,MEMORY_MB:1024. Got: {got}."
    ))
}

/// An amount of at least 1; `None`: more than 64 bits.
fn positive(class: &str, text: &str) -> Result<Option<u64>, Refusal> {
    let (is_negative, digits) = integer(text).ok_or_else(|| {
        Refusal::invalid(format!("Requested resource {class} expected positive integer amount. Got: {text}."))
    })?;
    if is_negative || digits == "0" {
        let sign = if is_negative && digits != "0" { "-" } else { "" };
        let text = format!("Requested resource {class} requires amount >= 1. Got: {sign}{digits}.");
        return Err(Refusal::invalid(text));
    }
    Ok(digits.parse().ok())
}

/// Sign and digits, without leading zeros, of an integer in Python's spelling: blanks around it, underscores between digits.
fn integer(text: &str) -> Option<(bool, String)> {
    let text = text.trim();
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_grouped = bare.split('_').all(|part| !part.is_empty() && part.bytes().all(|one| one.is_ascii_digit()));
    let digits = bare.replace('_', "");
    let significant = digits.trim_start_matches('0');
    is_grouped.then(|| (text.starts_with('-'), if significant.is_empty() { "0" } else { significant }.to_owned()))
}

/// All values of `required` that count: before 1.39 the last one. All are checked.
pub fn required_of_all(texts: &[&str], version: Version) -> Result<Traits, Refusal> {
    let mut traits = Traits::default();
    for text in texts {
        add_required(&mut traits, text, version)?;
    }
    Ok(traits)
}

/// Adds a value of `required` to the present ones; before 1.39 it replaces them.
pub fn add_required(traits: &mut Traits, text: &str, version: Version) -> Result<(), Refusal> {
    let (required, forbidden) = required(text, version)?;
    if !version.has(Version::ANY_TRAITS) {
        *traits = Traits::default();
    }
    traits.0.extend(required);
    traits.1.extend(forbidden);
    Ok(())
}

fn required(text: &str, version: Version) -> Result<Traits, Refusal> {
    match text.strip_prefix("in:") {
        Some(alternatives) => Ok((vec![any_of(alternatives, text, version)?], BTreeSet::new())),
        None => all_of(text, version.has(Version::FORBIDDEN_TRAITS)),
    }
}

fn any_of(alternatives: &str, text: &str, version: Version) -> Result<BTreeSet<TraitName>, Refusal> {
    const FORM: &str = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC";
    let about = |what: &str| invalid(&format!("The format '{FORM}' {what}. Got: {text}"));
    if !version.has(Version::ANY_TRAITS) {
        return Err(about("only supported since microversion 1.39"));
    }
    let names: Vec<&str> = alternatives.split(',').map(str::trim).collect();
    if names.iter().any(|name| name.starts_with('!')) {
        return Err(about("does not support forbidden traits"));
    }
    if names.contains(&"") {
        return Err(empty_trait(FORM, text));
    }
    Ok(names.into_iter().map(TraitName::new).collect())
}

/// A comma list, as in `required` and `root_required`.
pub fn all_of(text: &str, may_forbid: bool) -> Result<Traits, Refusal> {
    let form = if may_forbid { "HW_CPU_X86_VMX,!CUSTOM_MAGIC" } else { "HW_CPU_X86_VMX,CUSTOM_MAGIC" };
    let mut traits = Traits::default();
    for element in text.split(',').map(str::trim) {
        let name = element.trim_start_matches('!');
        if name.is_empty() {
            return Err(empty_trait(form, text));
        }
        if name.len() == element.len() {
            traits.0.push(BTreeSet::from([TraitName::new(name)]));
        } else if may_forbid {
            traits.1.insert(TraitName::new(name));
        } else {
            return Err(invalid(&format!("Expected 'required' parameter value of the form: {form}. Got: {text}")));
        }
    }
    Ok(traits)
}

fn empty_trait(form: &str, text: &str) -> Refusal {
    invalid(&format!("Expected 'required' parameter value of the form: {form}. Got an empty trait in: {text}"))
}

fn invalid(text: &str) -> Refusal {
    Refusal::invalid(format!("Invalid query string parameters: {text}"))
}

/// All values of `member_of` followed by a suffix.
pub fn member_of(texts: &[&str], suffix: &str, version: Version) -> Result<Aggregates, Refusal> {
    if texts.len() > 1 && !version.has(Version::REPEATED_MEMBER_OF) {
        return Err(Refusal::invalid(format!("Multiple member_of{suffix} parameters are not supported")));
    }
    let mut aggregates = Aggregates::default();
    for text in texts {
        let (is_forbidden, keys) = aggregate_set(text)?;
        if is_forbidden && !version.has(Version::FORBIDDEN_AGGREGATES) {
            return Err(Refusal::invalid(format!(
                "Forbidden member_of{suffix} parameters are not supported in the specified microversion"
            )));
        }
        if is_forbidden {
            aggregates.1.extend(keys);
        } else {
            aggregates.0.push(keys);
        }
    }
    Ok(aggregates)
}

fn aggregate_set(text: &str) -> Result<(bool, BTreeSet<Key>), Refusal> {
    let bare = text.strip_prefix('!').unwrap_or(text);
    let is_forbidden = bare.len() < text.len();
    let keys: Vec<&str> = match bare.strip_prefix("in:") {
        Some(keys) => keys.split(',').collect(),
        None if bare.contains(',') => {
            return Err(Refusal::invalid(format!(
                "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid \
                 microversion. Got: {text}"
            )));
        }
        None => vec![bare],
    };
    if let Some(wrong) = keys.iter().find(|text| key::canonical(text).is_none()) {
        return Err(invalid(&format!("Expected 'member_of' parameter to contain valid UUID(s). Got: {wrong}")));
    }
    Ok((is_forbidden, keys.into_iter().map(Key::new).collect()))
}

/// A value of `in_tree` of a request group.
pub fn in_tree(text: &str) -> Result<Key, Refusal> {
    let text = text.trim();
    if key::canonical(text).is_none() {
        return Err(invalid(&format!("Expected 'in_tree' parameter to be a format of uuid. Got: {text}")));
    }
    Ok(Key::new(text))
}
