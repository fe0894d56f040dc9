//! What goes wrong, or happens in between, at which request. It decides which rule a request meets; what a fault means
//! for the answer is done in `service`.

use std::fmt;

use crate::Server;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all objects of a kind.
    List,
    /// Create an object.
    Create,
    /// Change an object besides its status.
    Patch,
    /// Change its status.
    PatchStatus,
    /// Delete it.
    Delete,
}

impl Verb {
    /// True if it can change something.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::PatchStatus => "status",
            Self::Delete => "delete",
        })
    }
}

/// What becomes of a request instead of a true answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 409: nothing is changed.
    Conflict,
    /// 403: nothing is changed.
    Forbidden,
    /// 500: nothing is changed, although the caller cannot know that.
    Internal,
    /// There is never an answer, and nothing is changed.
    Hang,
    /// It takes effect, and the connection breaks before the answer.
    LoseAnswer,
}

/// Which requests a rule is about: a verb and the beginning of the path, with the name also for a creation.
pub(crate) struct Which {
    pub(crate) verb: Verb,
    pub(crate) path: String,
}

impl Which {
    fn meets(&self, verb: Verb, path: &str) -> bool {
        self.verb == verb && path.starts_with(&self.path)
    }
}

pub(crate) type Hook = Box<dyn FnOnce(&Server) + Send>;

pub(crate) enum Action {
    Run(Hook),
    Once(Fault),
    Always(Fault),
}

struct Rule {
    which: Which,
    /// So many matching requests pass before it.
    pass: usize,
    action: Action,
}

/// All rules, in the order in which they were made.
#[derive(Default)]
pub(crate) struct Rules {
    all: Vec<Rule>,
}

impl Rules {
    /// A rule for the `nth` matching request from now on, counted from 1.
    pub(crate) fn add(&mut self, which: Which, nth: usize, action: Action) {
        self.all.push(Rule { which, pass: nth.saturating_sub(1), action });
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// What is to happen before this request, and what becomes of it. Rules for a single request are used up by it.
    pub(crate) fn meet(&mut self, verb: Verb, path: &str) -> (Vec<Hook>, Option<Fault>) {
        let (mut hooks, mut fault) = (Vec::new(), None);
        for mut rule in std::mem::take(&mut self.all) {
            if !rule.which.meets(verb, path) {
                self.all.push(rule);
            } else if rule.pass > 0 {
                rule.pass -= 1;
                self.all.push(rule);
            } else {
                match rule.action {
                    Action::Run(hook) => hooks.push(hook),
                    Action::Once(one) if fault.is_none() => fault = Some(one),
                    Action::Always(one) => {
                        fault = fault.or(Some(one));
                        self.all.push(rule);
                    }
                    Action::Once(_) => self.all.push(rule),
                }
            }
        }
        (hooks, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn which(path: &str) -> Which {
        Which { verb: Verb::Create, path: path.to_owned() }
    }

    fn fault(rules: &mut Rules, verb: Verb, path: &str) -> Option<Fault> {
        rules.meet(verb, path).1
    }

    #[test]
    fn a_rule_meets_the_nth_request_of_its_verb_and_path_once() {
        let mut rules = Rules::default();
        rules.add(which("/things/a"), 2, Action::Once(Fault::Conflict));
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-1"), None);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/b-1"), None);
        assert_eq!(fault(&mut rules, Verb::Delete, "/things/a-1"), None);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-2"), Some(Fault::Conflict));
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-3"), None);
    }

    #[test]
    fn two_rules_for_one_request_are_met_one_after_the_other_and_a_lasting_one_until_it_is_cleared() {
        let mut rules = Rules::default();
        rules.add(which("/things"), 1, Action::Once(Fault::Conflict));
        rules.add(which("/things"), 1, Action::Once(Fault::Hang));
        rules.add(which("/things"), 1, Action::Always(Fault::Internal));
        rules.add(which("/things"), 1, Action::Run(Box::new(|_| {})));
        assert_eq!(rules.meet(Verb::Create, "/things/a").0.len(), 1);
        let faults: Vec<_> = (0..3).map(|_| fault(&mut rules, Verb::Create, "/things/a")).collect();
        assert_eq!(faults, [Some(Fault::Hang), Some(Fault::Internal), Some(Fault::Internal)]);
        rules.clear();
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a"), None);
    }
}
