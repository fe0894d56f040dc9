//! Faults and hooks at chosen requests.

use std::time::Duration;

use crate::Verb;
use crate::random::Random;

/// A fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 401: nothing is changed.
    Unauthorized,
    /// 403: nothing is changed.
    Forbidden,
    /// 409: nothing is changed.
    Conflict,
    /// 410: the requested version is too old.
    Gone,
    /// 429 with Retry-After: nothing is changed.
    TooMany {
        /// The seconds until the next attempt.
        retry_after: u32,
    },
    /// 500: nothing is changed, although the client cannot know that.
    Internal,
    /// 503: nothing is changed.
    Unavailable,
    /// 504: nothing is changed, although the client cannot know that.
    Timeout,
    /// The request takes effect, and the answer is 504.
    TimeoutAfterwards,
    /// There is never an answer, and nothing is changed. After 70 s the client considers the connection dead.
    Hang,
    CutBefore,
    /// The request takes effect, and the connection breaks before the answer.
    LoseAnswer,
    /// The connection breaks at once, and the request takes effect after this delay. It has no effect if the object was deleted
    /// meanwhile: an API server does not execute it after the later writes that created and deleted the object.
    Late {
        by: Duration,
    },
    /// The request takes effect after a delay, and the answer comes after another one.
    Slow {
        before: Duration,
        after: Duration,
    },
    /// A list or a get is answered from the state this many versions ago.
    Stale {
        versions: u64,
    },
    /// The watch ends regularly after this many events.
    EndWatch {
        after: usize,
    },
    /// The connection of the watch breaks after this many events.
    BreakWatch {
        after: usize,
    },
    /// Each event of the watch arrives with this delay.
    LateWatch {
        by: Duration,
    },
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::Unauthorized => "401",
            Self::Forbidden => "403",
            Self::Conflict => "409",
            Self::Gone => "410",
            Self::TooMany { .. } => "429",
            Self::Internal => "500",
            Self::Unavailable => "503",
            Self::Timeout => "504",
            Self::TimeoutAfterwards => "504 afterwards",
            Self::Hang => "hang",
            Self::CutBefore => "cut before",
            Self::LoseAnswer => "answer lost",
            Self::Late { .. } => "late",
            Self::Slow { .. } => "slow",
            Self::Stale { .. } => "stale",
            Self::EndWatch { .. } => "watch ended",
            Self::BreakWatch { .. } => "watch broken",
            Self::LateWatch { .. } => "watch late",
        }
    }

    /// Whether it applies to a request of this kind.
    fn suits(self, verb: Verb) -> bool {
        match self {
            Self::EndWatch { .. } | Self::BreakWatch { .. } | Self::LateWatch { .. } => verb == Verb::Watch,
            Self::Stale { .. } => matches!(verb, Verb::List | Verb::Get),
            Self::Conflict | Self::TimeoutAfterwards | Self::Late { .. } => verb.is_write(),
            _ => true,
        }
    }
}

/// How often a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Often {
    /// Once, after this many matching requests.
    Once(usize),
    Always,
    PerMille(u32),
}

/// The requests that get a fault. By default every request matches, once.
#[derive(Clone, Debug)]
pub struct Rule {
    which: Which,
    often: Often,
    fault: Fault,
}

impl Rule {
    pub fn new(fault: Fault) -> Self {
        Self { which: Which::default(), often: Often::Once(0), fault }
    }

    /// All that can happen to a write, each to this many of a thousand.
    pub fn faults_of_writes(per_mille: u32) -> [Self; 6] {
        let faults = [
            Fault::Conflict,
            Fault::Internal,
            Fault::Unavailable,
            Fault::CutBefore,
            Fault::LoseAnswer,
            Fault::TimeoutAfterwards,
        ];
        faults.map(|fault| Self::new(fault).writes().per_mille(per_mille))
    }

    /// Only requests with this verb.
    pub fn verb(mut self, verb: Verb) -> Self {
        self.which.verb = Some(verb);
        self
    }

    /// Only writes.
    pub fn writes(mut self) -> Self {
        self.which.writes = true;
        self
    }

    /// Only requests whose path has this prefix; see [`crate::path_of`].
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.which.path = path.into();
        self
    }

    /// Only requests of this client.
    pub fn who(mut self, who: impl Into<String>) -> Self {
        self.which.who = Some(who.into());
        self
    }

    /// Only the `nth` matching request from now on, counted from 1.
    pub fn nth(mut self, nth: usize) -> Self {
        self.often = Often::Once(nth.saturating_sub(1));
        self
    }

    /// Every matching request until the server is healed.
    pub fn always(mut self) -> Self {
        self.often = Often::Always;
        self
    }

    /// This many of a thousand matching requests, by the generator of the server.
    pub fn per_mille(mut self, per_mille: u32) -> Self {
        self.often = Often::PerMille(per_mille);
        self
    }
}

/// The requests that a rule matches.
#[derive(Clone, Debug, Default)]
struct Which {
    verb: Option<Verb>,
    writes: bool,
    path: String,
    who: Option<String>,
}

impl Which {
    fn meets(&self, who: &str, verb: Verb, path: &str) -> bool {
        self.verb.is_none_or(|wanted| wanted == verb)
            && (!self.writes || verb.is_write())
            && self.who.as_deref().is_none_or(|wanted| wanted == who)
            && path.starts_with(&self.path)
    }
}

pub(crate) type Hook<S> = Box<dyn FnOnce(&S) + Send>;

struct Planned<S> {
    which: Which,
    pass: usize,
    hook: Hook<S>,
}

/// All rules, in the order of their creation.
pub(crate) struct Rules<S> {
    rules: Vec<Rule>,
    hooks: Vec<Planned<S>>,
}

impl<S> Default for Rules<S> {
    fn default() -> Self {
        Self { rules: Vec::new(), hooks: Vec::new() }
    }
}

impl<S> Rules<S> {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Adds a hook that runs before the `nth` matching request from now on, counted from 1.
    pub(crate) fn before(&mut self, verb: Verb, path: &str, nth: usize, hook: Hook<S>) {
        let which = Which { verb: Some(verb), path: path.to_owned(), ..Which::default() };
        self.hooks.push(Planned { which, pass: nth.saturating_sub(1), hook });
    }

    pub(crate) fn remove(&mut self, fault: Fault) {
        self.rules.retain(|rule| rule.fault != fault);
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
        self.hooks.clear();
    }

    /// The hooks that run before this request. Each is removed.
    pub(crate) fn hooks(&mut self, who: &str, verb: Verb, path: &str) -> Vec<Hook<S>> {
        if self.hooks.is_empty() {
            return Vec::new();
        }
        let mut due = Vec::new();
        for mut planned in std::mem::take(&mut self.hooks) {
            if !planned.which.meets(who, verb, path) {
                self.hooks.push(planned);
            } else if planned.pass > 0 {
                planned.pass -= 1;
                self.hooks.push(planned);
            } else {
                due.push(planned.hook);
            }
        }
        due
    }

    /// The fault of this request. The first rule that applies decides; a rule for a single request is removed.
    pub(crate) fn fault(&mut self, who: &str, verb: Verb, path: &str, random: &mut Random) -> Option<Fault> {
        let mut met = None;
        let mut used = None;
        for (at, rule) in self.rules.iter_mut().enumerate() {
            if !rule.fault.suits(verb) || !rule.which.meets(who, verb, path) {
                continue;
            }
            let applies = match &mut rule.often {
                Often::Once(pass) if *pass > 0 => {
                    *pass -= 1;
                    false
                }
                Often::Once(_) => met.is_none(),
                Often::Always => true,
                Often::PerMille(per_mille) => random.chance(*per_mille),
            };
            if applies && met.is_none() {
                met = Some(rule.fault);
                used = matches!(rule.often, Often::Once(_)).then_some(at);
            }
        }
        if let Some(at) = used {
            self.rules.remove(at);
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str, fault: Fault) -> Rule {
        Rule::new(fault).verb(Verb::Create).path(path)
    }

    fn fault(rules: &mut Rules<()>, verb: Verb, path: &str) -> Option<Fault> {
        rules.fault("us", verb, path, &mut Random::new(1))
    }

    #[test]
    fn a_rule_meets_the_nth_request_of_its_verb_and_path_once() {
        let mut rules = Rules::<()>::default();
        rules.add(rule("/things/a", Fault::Conflict).nth(2));
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-1"), None);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/b-1"), None);
        assert_eq!(fault(&mut rules, Verb::Delete, "/things/a-1"), None);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-2"), Some(Fault::Conflict));
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a-3"), None);
    }

    #[test]
    fn two_rules_for_one_request_are_met_one_after_the_other_and_a_lasting_one_until_it_is_cleared() {
        let mut rules = Rules::<()>::default();
        rules.add(rule("/things", Fault::Conflict));
        rules.add(rule("/things", Fault::Hang));
        rules.add(rule("/things", Fault::Internal).always());
        rules.before(Verb::Create, "/things", 1, Box::new(|()| {}));
        assert_eq!(rules.hooks("us", Verb::Create, "/things/a").len(), 1);
        assert!(rules.hooks("us", Verb::Create, "/things/a").is_empty());
        let faults: Vec<_> = (0..4).map(|_| fault(&mut rules, Verb::Create, "/things/a")).collect();
        let internal = Some(Fault::Internal);
        assert_eq!(faults, [Some(Fault::Conflict), Some(Fault::Hang), internal, internal]);
        rules.remove(Fault::Conflict);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a"), internal);
        rules.remove(Fault::Internal);
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a"), None);
        rules.add(rule("/things", Fault::Internal).always());
        rules.clear();
        assert_eq!(fault(&mut rules, Verb::Create, "/things/a"), None);
    }

    #[test]
    fn a_rule_may_be_about_one_client_and_about_some_requests_only() {
        let mut rules = Rules::<()>::default();
        rules.add(rule("/", Fault::Hang).who("other").always());
        rules.add(Rule::new(Fault::Unavailable).writes().per_mille(300));
        let mut random = Random::new(1);
        let mut count = |who: &str, verb| {
            let hits = (0..1000).filter_map(|_| rules.fault(who, verb, "/a", &mut random));
            hits.filter(|fault| *fault == Fault::Unavailable).count()
        };
        assert!((200..400).contains(&count("us", Verb::Create)));
        assert_eq!(count("us", Verb::Get), 0);
        assert_eq!(count("other", Verb::Create), 0);
    }

    #[test]
    fn faults_of_watches_wait_for_a_watch() {
        let mut rules = Rules::<()>::default();
        rules.add(Rule::new(Fault::EndWatch { after: 0 }));
        assert_eq!(fault(&mut rules, Verb::Create, "/a"), None);
        assert!(fault(&mut rules, Verb::Watch, "/a").is_some());
    }
}
