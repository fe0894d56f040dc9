//! Providers.

use super::*;

const UNPARENT: &str = "un-parenting a provider is not currently allowed.";
const REPARENT: &str = "re-parenting a provider is not currently allowed.";
const LOOP: &str = "creating loop in the provider tree is not allowed.";

/// Two trees: top > middle > leaf, and other.
fn world() -> World {
    let mut world = World::with(&[("top", &[]), ("other", &[])]);
    world.ok(create("middle", Some("top")));
    world.ok(create("leaf", Some("middle")));
    world
}

fn not_saved(name: &str, cause: &str) -> (u16, &'static str, String) {
    let text = format!("Unable to save resource provider {name}: Object action update failed because: {cause}");
    refusal(400, NONE, &text)
}

#[test]
fn providers_begin_at_generation_0_in_the_tree_of_their_parent() {
    let mut world = world();
    assert_eq!(world.ok(create("new", Some("leaf"))), Outcome::Created);
    assert_eq!((world.provider("new").generation, world.root("new"), world.root("top")), (0, "top", "top"));
    assert_eq!(world.provider("leaf").updated_at, None);
}

#[test]
fn names_and_uuids_are_unique() {
    let mut world = world();
    let command =
        |uuid: &str, name: &str| Command::CreateProvider { uuid: key(uuid), name: name.to_owned(), parent: None };
    let text = "Conflicting resource provider name: top already exists.";
    assert_eq!(world.refused(command("x", "top")), refusal(409, "duplicate_name", text));
    let text = "Conflicting resource provider uuid: top already exists.";
    assert_eq!(world.refused(command("top", "x")), refusal(409, "duplicate_name", text));
}

#[test]
fn why_a_provider_cannot_be_created() {
    let mut world = world();
    let failed = |uuid: &str, name: &str, cause: &str| {
        let text = format!(
            "Unable to create resource provider \"{name}\", {uuid}: Object action create failed because: {cause}"
        );
        refusal(400, NONE, &text)
    };
    let unnamed = Command::CreateProvider { uuid: key("x"), name: String::new(), parent: None };
    assert_eq!(world.refused(unnamed), failed("x", "", "name is required"));
    let own =
        "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.";
    assert_eq!(world.refused(create("x", Some("x"))), failed("x", "x", own));
    let unknown = "parent provider UUID does not exist.";
    assert_eq!(world.refused(create("x", Some("y"))), failed("x", "x", unknown));
    assert_eq!(world.refused(create("top", Some("y"))), failed("top", "top", unknown), "before the check of existence");
}

#[test]
fn table_before_1_37() {
    let mut world = world();
    for parent in [Parent::Unchanged, Parent::Set(None), below("leaf")] {
        world.ok(put("other", parent, false));
    }
    assert_eq!(world.root("other"), "top");
    world.ok(put("other", below("leaf"), false));
    assert_eq!(world.refused(put("other", below("top"), false)), not_saved("other", REPARENT));
    assert_eq!(world.refused(put("other", Parent::Set(None), false)), not_saved("other", UNPARENT));
    for inner in ["top", "middle", "leaf"] {
        assert_eq!(world.refused(put("top", below(inner), false)), not_saved("top", LOOP), "{inner}");
    }
}

#[test]
fn table_from_1_37_and_roots_of_subtrees() {
    let mut world = world();
    world.ok(put("middle", below("other"), true));
    assert_eq!(
        ["top", "middle", "leaf", "other"].map(|name| world.root(name).to_owned()),
        ["top", "other", "other", "other"]
    );
    world.ok(put("middle", Parent::Set(None), true));
    assert_eq!(["middle", "leaf"].map(|name| world.root(name).to_owned()), ["middle", "middle"]);
    world.ok(put("leaf", below("top"), true));
    world.ok(put("leaf", Parent::Unchanged, true));
    assert_eq!(world.root("leaf"), "top");
    world.ok(put("leaf", below("top"), true));
    assert_eq!(world.refused(put("top", below("leaf"), true)), not_saved("top", LOOP));
    assert_eq!(world.refused(put("leaf", below("leaf"), true)), not_saved("leaf", LOOP));
    assert_eq!(world.generations(["top", "middle", "leaf", "other"]), [0; 4]);
}

#[test]
fn move_within_a_tree_leaves_the_root() {
    let mut world = world();
    world.ok(put("leaf", below("top"), true));
    assert_eq!(world.provider("leaf").parent, Some(world.provider("top").id));
    assert_eq!((world.root("leaf"), world.provider("leaf").root), ("top", world.provider("middle").root));
}

#[test]
fn an_unknown_parent_is_refused_with_create() {
    let mut world = world();
    let text = "Unable to save resource provider leaf: Object action create failed because: parent provider UUID does not \
                exist.";
    assert_eq!(world.refused(put("leaf", below("nowhere"), false)), refusal(400, NONE, text));
    let text = "No resource provider with uuid nowhere found";
    assert_eq!(world.refused(put("nowhere", below("x"), false)), refusal(404, NONE, text));
}

#[test]
fn names_of_providers_are_unique() {
    let mut world = world();
    let rename = |uuid: &str, name: &str| Command::UpdateProvider {
        uuid: key(uuid),
        name: name.to_owned(),
        parent: Parent::Unchanged,
        reparents: true,
    };
    let text = "Conflicting resource provider top already exists.";
    assert_eq!(world.refused(rename("leaf", "top")), refusal(409, "duplicate_name", text));
    world.ok(rename("leaf", "leaf"));
    world.ok(rename("leaf", "better"));
    assert_eq!((world.provider("leaf").name.as_str(), world.provider("leaf").generation), ("better", 0));
    assert!(world.provider("leaf").updated_at.is_some());
    world.ok(rename("leaf", ""));
    assert_eq!(world.provider("leaf").name, "");
}

#[test]
fn a_provider_in_use_is_not_deleted() {
    let mut world = world();
    let delete = |name: &str| Command::DeleteProvider { uuid: key(name) };
    let text = "No resource provider with uuid nowhere found for delete";
    assert_eq!(world.refused(delete("nowhere")), refusal(404, NONE, text));
    world.ok(set_inventories("middle", 0, &[("VCPU", PLAIN)]));
    world.ok(set("C", None, &[("middle", &[("VCPU", 1)])]));
    let text = "Unable to delete parent resource provider middle: It has child resource providers.";
    assert_eq!(world.refused(delete("middle")), refusal(409, "resource_provider.cannot_delete_parent", text));
    world.ok(delete("leaf"));
    let text = "Unable to delete resource provider middle: Resource provider has allocations.";
    assert_eq!(world.refused(delete("middle")), refusal(409, "resource_provider.inuse", text));
    world.ok(set("C", Some(1), &[]));
    world.ok(delete("middle"));
    assert_eq!(world.state.provider(&key("middle")), None);
}
