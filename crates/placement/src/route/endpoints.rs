//! The table of endpoints: microversions, methods in the order of `Allow`, media types, and rules.

use berth_placement_model::Version;

use super::paths::Route;
use crate::policy::rules;

/// The action of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    ShowRoot,
    ListProviders,
    CreateProvider,
    ShowProvider,
    DeleteProvider,
    UpdateProvider,
    ListInventories,
    CreateInventory,
    SetInventories,
    DeleteInventories,
    ShowInventory,
    SetInventory,
    DeleteInventory,
    ShowProviderUsages,
    ShowAggregates,
    SetAggregates,
    ShowProviderTraits,
    SetProviderTraits,
    DeleteProviderTraits,
    ShowProviderAllocations,
    ListClasses,
    CreateClass,
    ShowClass,
    PutClass,
    DeleteClass,
    ListTraits,
    ShowTrait,
    PutTrait,
    DeleteTrait,
    SetManyAllocations,
    ShowAllocations,
    SetAllocations,
    DeleteAllocations,
    ShowUsages,
    ListCandidates,
    Reshape,
}

/// Which media types an endpoint checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Any,
    /// The client must take JSON.
    Answer,
    /// The body must be JSON.
    Body,
    /// The body must be JSON before this version, and is not checked from then on.
    BodyBefore(Version),
}

/// A method of a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub route: Route,
    pub method: &'static str,
    pub action: Action,
    /// It is there from 1.`since` on.
    pub since: Version,
    pub media: Media,
    /// The rule that the caller must satisfy.
    pub rule: Option<&'static str>,
}

impl Endpoint {
    const fn new(route: Route, method: &'static str, action: Action, media: Media, rule: &'static str) -> Self {
        Self { route, method, action, since: Version::OLDEST, media, rule: Some(rule) }
    }

    const fn since(self, since: Version) -> Self {
        Self { since, ..self }
    }
}

use Action as A;
use Media::{Answer, Any, Body, BodyBefore};
use Route as R;

#[rustfmt::skip]
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint { route: R::Root, method: "GET", action: A::ShowRoot, since: Version::OLDEST, media: Any, rule: None },
    Endpoint::new(R::Providers, "GET", A::ListProviders, Answer, rules::PROVIDERS_LIST),
    Endpoint::new(R::Providers, "POST", A::CreateProvider, Body, rules::PROVIDERS_CREATE),
    Endpoint::new(R::Provider, "GET", A::ShowProvider, Answer, rules::PROVIDERS_SHOW),
    Endpoint::new(R::Provider, "DELETE", A::DeleteProvider, Any, rules::PROVIDERS_DELETE),
    Endpoint::new(R::Provider, "PUT", A::UpdateProvider, Body, rules::PROVIDERS_UPDATE),
    Endpoint::new(R::Inventories, "GET", A::ListInventories, Answer, rules::INVENTORIES_LIST),
    Endpoint::new(R::Inventories, "POST", A::CreateInventory, Body, rules::INVENTORIES_CREATE),
    Endpoint::new(R::Inventories, "PUT", A::SetInventories, Body, rules::INVENTORIES_UPDATE),
    Endpoint::new(R::Inventories, "DELETE", A::DeleteInventories, Any, rules::INVENTORIES_DELETE).since(Version::DELETE_INVENTORIES),
    Endpoint::new(R::Inventory, "GET", A::ShowInventory, Answer, rules::INVENTORIES_SHOW),
    Endpoint::new(R::Inventory, "PUT", A::SetInventory, Body, rules::INVENTORIES_UPDATE),
    Endpoint::new(R::Inventory, "DELETE", A::DeleteInventory, Any, rules::INVENTORIES_DELETE),
    Endpoint::new(R::ProviderUsages, "GET", A::ShowProviderUsages, Answer, rules::PROVIDERS_USAGES),
    Endpoint::new(R::Aggregates, "GET", A::ShowAggregates, Answer, rules::AGGREGATES_LIST).since(Version::AGGREGATES),
    Endpoint::new(R::Aggregates, "PUT", A::SetAggregates, Body, rules::AGGREGATES_UPDATE).since(Version::AGGREGATES),
    Endpoint::new(R::ProviderTraits, "GET", A::ShowProviderTraits, Answer, rules::PROVIDER_TRAITS_LIST).since(Version::TRAITS),
    Endpoint::new(R::ProviderTraits, "PUT", A::SetProviderTraits, Body, rules::PROVIDER_TRAITS_UPDATE).since(Version::TRAITS),
    Endpoint::new(R::ProviderTraits, "DELETE", A::DeleteProviderTraits, Any, rules::PROVIDER_TRAITS_DELETE).since(Version::TRAITS),
    Endpoint::new(R::ProviderAllocations, "GET", A::ShowProviderAllocations, Answer, rules::PROVIDER_ALLOCATIONS_LIST),
    Endpoint::new(R::Classes, "GET", A::ListClasses, Answer, rules::CLASSES_LIST).since(Version::CLASSES),
    Endpoint::new(R::Classes, "POST", A::CreateClass, Body, rules::CLASSES_CREATE).since(Version::CLASSES),
    Endpoint::new(R::Class, "GET", A::ShowClass, Answer, rules::CLASSES_SHOW).since(Version::CLASSES),
    Endpoint::new(R::Class, "PUT", A::PutClass, BodyBefore(Version::CLASS_WITHOUT_BODY), rules::CLASSES_UPDATE).since(Version::CLASSES),
    Endpoint::new(R::Class, "DELETE", A::DeleteClass, Any, rules::CLASSES_DELETE).since(Version::CLASSES),
    Endpoint::new(R::Traits, "GET", A::ListTraits, Answer, rules::TRAITS_LIST).since(Version::TRAITS),
    Endpoint::new(R::Trait, "GET", A::ShowTrait, Any, rules::TRAITS_SHOW).since(Version::TRAITS),
    Endpoint::new(R::Trait, "PUT", A::PutTrait, Any, rules::TRAITS_UPDATE).since(Version::TRAITS),
    Endpoint::new(R::Trait, "DELETE", A::DeleteTrait, Any, rules::TRAITS_DELETE).since(Version::TRAITS),
    Endpoint::new(R::ManyAllocations, "POST", A::SetManyAllocations, Body, rules::ALLOCATIONS_MANAGE).since(Version::MANY_ALLOCATIONS),
    Endpoint::new(R::Allocations, "GET", A::ShowAllocations, Answer, rules::ALLOCATIONS_LIST),
    Endpoint::new(R::Allocations, "PUT", A::SetAllocations, Body, rules::ALLOCATIONS_UPDATE),
    Endpoint::new(R::Allocations, "DELETE", A::DeleteAllocations, Any, rules::ALLOCATIONS_DELETE),
    Endpoint::new(R::Usages, "GET", A::ShowUsages, Answer, rules::USAGES).since(Version::USAGES),
    Endpoint::new(R::Candidates, "GET", A::ListCandidates, Answer, rules::CANDIDATES_LIST).since(Version::CANDIDATES),
    Endpoint::new(R::Reshaper, "POST", A::Reshape, Body, rules::RESHAPE).since(Version::RESHAPER),
];
