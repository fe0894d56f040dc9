//! The changes of a session, in their order, and what the service has to answer.

use crate::requests::{Item, Status};

/// So many times the sold amount is more than a zone has.
const FAR_TOO_MUCH: u64 = 1000;

/// A resource that can be sold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub name: String,
    /// As it is announced.
    pub unit: String,
    pub is_memory: bool,
    /// What the session sells of it, in units; even.
    pub amount: u64,
}

/// The answer that Limes expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Accepted,
    /// Rejected for lack of capacity.
    Rejected,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub items: Vec<Item>,
    pub expected: Expected,
}

/// Two projects, between which a commitment is transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projects {
    pub first: String,
    pub second: String,
}

/// All steps. Without another resource nothing is converted. `uuid` makes the ids of new commitments.
pub fn steps(sold: &Offer, other: Option<&Offer>, projects: &Projects, mut uuid: impl FnMut() -> String) -> Vec<Step> {
    let [whole, stays, moves, converted, refused] = [(); 5].map(|()| uuid());
    let (half, first) = (sold.amount / 2, Buyer { project: &projects.first, resource: &sold.name });
    let second = Buyer { project: &projects.second, ..first };
    let whole = first.holds(&whole, sold.amount);
    let (mut stays, from, to) = (first.holds(&stays, half), first.holds(&moves, half), second.holds(&moves, half));
    let too_much = first.holds(&refused, sold.amount.saturating_mul(FAR_TOO_MUCH));
    let mut replaced = vec![whole.forgotten()];
    let mut steps = vec![
        accepted("sell", vec![whole.created()]),
        accepted("split", vec![whole.superseded(), stays.created(), from.created()]),
    ];
    if let Some(other) = other {
        let new = Buyer { resource: &other.name, ..first }.holds(&converted, other.amount);
        steps.push(accepted("convert", vec![stays.superseded(), new.created()]));
        replaced.push(stays.forgotten());
        stays = new;
    }
    steps.push(accepted("transfer", vec![from.deleted(), to.created()]));
    steps.push(Step { name: "ask for far too much", items: vec![too_much.created()], expected: Expected::Rejected });
    replaced.extend([stays.deleted(), to.deleted()]);
    steps.push(accepted("delete", replaced));
    steps
}

fn accepted(name: &'static str, items: Vec<Item>) -> Step {
    Step { name, items, expected: Expected::Accepted }
}

/// A project and what it buys.
#[derive(Clone, Copy)]
struct Buyer<'a> {
    project: &'a str,
    resource: &'a str,
}

impl<'a> Buyer<'a> {
    fn holds(self, uuid: &'a str, amount: u64) -> Place<'a> {
        Place { project: self.project, resource: self.resource, uuid, amount }
    }
}

/// A commitment in a project and a resource.
#[derive(Clone, Copy)]
struct Place<'a> {
    project: &'a str,
    resource: &'a str,
    uuid: &'a str,
    amount: u64,
}

impl Place<'_> {
    fn created(self) -> Item {
        self.item(None, Some(Status::Confirmed))
    }

    fn superseded(self) -> Item {
        self.item(Some(Status::Confirmed), Some(Status::Superseded))
    }

    fn deleted(self) -> Item {
        self.item(Some(Status::Confirmed), None)
    }

    /// What was replaced holds nothing, and its record goes.
    fn forgotten(self) -> Item {
        self.item(Some(Status::Superseded), None)
    }

    fn item(self, old: Option<Status>, new: Option<Status>) -> Item {
        let Self { project, resource, uuid, amount } = self;
        Item { project: project.to_owned(), resource: resource.to_owned(), uuid: uuid.to_owned(), old, new, amount }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: &str, amount: u64) -> Offer {
        Offer { name: name.to_owned(), unit: "GiB".to_owned(), is_memory: true, amount }
    }

    fn names(other: Option<&Offer>) -> Vec<&'static str> {
        let projects = Projects { first: "p".to_owned(), second: "q".to_owned() };
        let mut number = 0;
        let uuid = || {
            number += 1;
            format!("commitment-{number}")
        };
        let steps = steps(&offer("a", 128), other, &projects, uuid);
        let mut confirmed = std::collections::BTreeMap::new();
        for item in steps.iter().filter(|step| step.expected == Expected::Accepted).flat_map(|step| &step.items) {
            let held: &mut i128 = confirmed.entry((item.project.clone(), item.resource.clone())).or_default();
            *held += if item.new == Some(Status::Confirmed) { i128::from(item.amount) } else { 0 };
            *held -= if item.old == Some(Status::Confirmed) { i128::from(item.amount) } else { 0 };
        }
        assert!(confirmed.values().all(|held| *held == 0), "{confirmed:?}");
        steps.into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn nothing_is_left_in_the_end_with_and_without_a_conversion() {
        let other = offer("b", 2);
        assert_eq!(names(Some(&other)), ["sell", "split", "convert", "transfer", "ask for far too much", "delete"]);
        assert_eq!(names(None), ["sell", "split", "transfer", "ask for far too much", "delete"]);
    }
}
