//! Traits and aggregates of a provider (document 51 sections 7 and 8). It decides which of those writes raise its
//! generation.

use std::collections::BTreeSet;

use super::{
    decision::{Decision, only, raised},
    view::View,
};
use crate::{Changes, Key, Outcome, ProviderState, Refusal, TraitName, changes::ProviderChange, provider::Aggregate};

pub(super) fn set_aggregates(view: &View<'_>, provider: &Key, generation: Option<i64>, sent: &[String]) -> Decision {
    let provider = view.provider(provider)?;
    let change = match generation {
        Some(generation) => {
            check_generation(provider, generation)?;
            raised()
        }
        None => ProviderChange::default(),
    };
    let mut seen = BTreeSet::new();
    let aggregates = sent.iter().map(|sent| Aggregate { key: Key::new(sent), sent: sent.clone() });
    let aggregates = aggregates.filter(|aggregate| seen.insert(aggregate.key.clone())).collect();
    Ok((only(provider.id, ProviderChange { aggregates: Some(aggregates), ..change }), Outcome::Done))
}

pub(super) fn set_traits(view: &View<'_>, provider: &Key, generation: i64, traits: &[TraitName]) -> Decision {
    let provider = view.provider(provider)?;
    check_generation(provider, generation)?;
    let wanted: BTreeSet<_> = traits.iter().cloned().collect();
    let unknown: Vec<_> = wanted.iter().filter(|name| !view.has_trait(name)).map(TraitName::as_str).collect();
    if !unknown.is_empty() {
        return Err(Refusal::invalid(format!("No such trait {}", unknown.join(", "))));
    }
    Ok((with_traits(provider, wanted), Outcome::Done))
}

pub(super) fn delete_traits(view: &View<'_>, provider: &Key) -> Decision {
    Ok((with_traits(view.provider(provider)?, BTreeSet::new()), Outcome::Done))
}

/// The generation tells others that something changed, so an equal set leaves it.
fn with_traits(provider: &ProviderState, traits: BTreeSet<TraitName>) -> Changes {
    if traits == provider.traits {
        return Changes::default();
    }
    only(provider.id, ProviderChange { traits: Some(traits), ..raised() })
}

fn check_generation(provider: &ProviderState, generation: i64) -> Result<(), Refusal> {
    if provider.generation == generation {
        return Ok(());
    }
    Err(Refusal::concurrent(
        "Resource provider's generation already changed. Please update the generation and try again.",
    ))
}
