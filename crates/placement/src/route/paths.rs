//! The paths of the API.

/// A path of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Root,
    Providers,
    Provider,
    Inventories,
    Inventory,
    ProviderUsages,
    Aggregates,
    ProviderTraits,
    ProviderAllocations,
    Classes,
    Class,
    Traits,
    Trait,
    ManyAllocations,
    Allocations,
    Usages,
    Candidates,
    Reshaper,
}

/// All paths; an item in braces is any text.
pub const PATHS: [(Route, &str); 18] = [
    (Route::Root, "/"),
    (Route::Providers, "/resource_providers"),
    (Route::Provider, "/resource_providers/{uuid}"),
    (Route::Inventories, "/resource_providers/{uuid}/inventories"),
    (Route::Inventory, "/resource_providers/{uuid}/inventories/{resource_class}"),
    (Route::ProviderUsages, "/resource_providers/{uuid}/usages"),
    (Route::Aggregates, "/resource_providers/{uuid}/aggregates"),
    (Route::ProviderTraits, "/resource_providers/{uuid}/traits"),
    (Route::ProviderAllocations, "/resource_providers/{uuid}/allocations"),
    (Route::Classes, "/resource_classes"),
    (Route::Class, "/resource_classes/{name}"),
    (Route::Traits, "/traits"),
    (Route::Trait, "/traits/{name}"),
    (Route::ManyAllocations, "/allocations"),
    (Route::Allocations, "/allocations/{consumer_uuid}"),
    (Route::Usages, "/usages"),
    (Route::Candidates, "/allocation_candidates"),
    (Route::Reshaper, "/reshaper"),
];
