//! Custom classes and traits (document 51 sections 6 and 7). It decides that standard names stay as they are, that names are
//! unique, and that nothing that is used is deleted.

use super::{
    decision::Decision,
    view::{View, no_such_class},
};
use crate::{Changes, ClassName, Outcome, Refusal, TraitName, changes::NameChange, names::is_custom, standard};

pub(super) fn ensure_trait(view: &View<'_>, name: &TraitName) -> Decision {
    if !is_custom(name.as_str()) {
        return Err(Refusal::invalid(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \
             \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        ));
    }
    if view.has_trait(name) {
        return Ok((Changes::default(), Outcome::Existed));
    }
    Ok((of_trait(NameChange::Create(name.clone())), Outcome::Created))
}

pub(super) fn delete_trait(view: &View<'_>, name: &TraitName) -> Decision {
    if !view.has_trait(name) {
        return Err(Refusal::not_found(format!("No such trait(s): {name}.")));
    }
    if standard::is_standard_trait(name.as_str()) {
        return Err(Refusal::invalid(format!("Cannot delete standard trait {name}.")));
    }
    if view.facts.used_traits.contains(name) {
        return Err(Refusal::conflict(format!("The trait {name} is in use by a resource provider.")));
    }
    Ok((of_trait(NameChange::Delete(name.clone())), Outcome::Done))
}

pub(super) fn create_class(view: &View<'_>, name: &ClassName) -> Decision {
    if view.has_class(name) {
        return Err(Refusal::conflict(format!("Conflicting resource class already exists: {name}")));
    }
    ensure_class(view, name)
}

pub(super) fn ensure_class(view: &View<'_>, name: &ClassName) -> Decision {
    if view.has_class(name) {
        return Ok((Changes::default(), Outcome::Existed));
    }
    check_custom(name)?;
    Ok((of_class(NameChange::Create(name.clone())), Outcome::Created))
}

pub(super) fn rename_class(view: &View<'_>, from: &ClassName, to: &ClassName) -> Decision {
    check_exists(view, from)?;
    if standard::is_standard_class(from.as_str()) {
        return Err(Refusal::invalid(format!("Cannot update standard resource class {from}")));
    }
    if from == to {
        return Ok((Changes::default(), Outcome::Done));
    }
    if view.has_class(to) {
        return Err(Refusal::conflict(format!("Resource class already exists: {to}")));
    }
    check_custom(to)?;
    Ok((of_class(NameChange::Rename { from: from.clone(), to: to.clone() }), Outcome::Done))
}

pub(super) fn delete_class(view: &View<'_>, name: &ClassName) -> Decision {
    check_exists(view, name)?;
    let refused = |cause: &str| format!("Error in delete resource class: Cannot delete {cause}");
    if standard::is_standard_class(name.as_str()) {
        return Err(Refusal::invalid(refused(&format!("standard resource class {name}."))));
    }
    if view.facts.used_classes.contains(name) {
        return Err(Refusal::conflict(refused(&format!("resource class {name}. Class is in use in inventory."))));
    }
    Ok((of_class(NameChange::Delete(name.clone())), Outcome::Done))
}

fn check_exists(view: &View<'_>, name: &ClassName) -> Result<(), Refusal> {
    if view.has_class(name) { Ok(()) } else { Err(Refusal::not_found(no_such_class(name))) }
}

/// The protocol validates names with the words of its schemas; here only nothing else may ever be stored.
fn check_custom(name: &ClassName) -> Result<(), Refusal> {
    if is_custom(name.as_str()) {
        return Ok(());
    }
    let text = format!(
        "The resource class {name} is invalid: it must start with CUSTOM_, use A-Z, 0-9 and _, and have at most 255 \
         characters"
    );
    Err(Refusal::invalid(text))
}

fn of_class(change: NameChange<ClassName>) -> Changes {
    Changes { classes: vec![change], ..Changes::default() }
}

fn of_trait(change: NameChange<TraitName>) -> Changes {
    Changes { traits: vec![change], ..Changes::default() }
}
