//! Classes, traits and aggregates.

use super::*;
use crate::write_set::WriteSet;

fn create_class(name: &str) -> Command {
    Command::CreateClass { name: class(name) }
}

fn rename(from: &str, to: &str) -> Command {
    Command::RenameClass { from: class(from), to: class(to) }
}

fn delete_class(name: &str) -> Command {
    Command::DeleteClass { name: class(name) }
}

fn traits(provider: &str, generation: i64, names: &[&str]) -> Command {
    Command::SetTraits { provider: key(provider), generation, traits: names.iter().map(|name| named(name)).collect() }
}

fn aggregates(provider: &str, generation: Option<i64>, sent: &[&str]) -> Command {
    let aggregates = sent.iter().map(|sent| (*sent).to_owned()).collect();
    Command::SetAggregates { provider: key(provider), generation, aggregates }
}

#[test]
fn classes_are_created_once() {
    let mut world = World::default();
    assert_eq!(world.ok(create_class("CUSTOM_A")), Outcome::Created);
    let text = "Conflicting resource class already exists: CUSTOM_A";
    assert_eq!(world.refused(create_class("CUSTOM_A")), refusal(409, NONE, text));
    let ensure = |name| Command::EnsureClass { name: class(name) };
    assert_eq!(world.ok(ensure("CUSTOM_A")), Outcome::Existed);
    assert_eq!(world.ok(ensure("CUSTOM_B")), Outcome::Created);
    assert_eq!(world.refused(ensure("gold")).0, 400);
    assert_eq!(world.state.classes.len(), 2);
}

#[test]
fn renaming_keeps_inventories_and_allocations() {
    let mut world = World::with(&[("P", &[])]);
    world.ok(create_class("CUSTOM_A"));
    world.ok(create_class("CUSTOM_B"));
    world.ok(add("P", "CUSTOM_A", PLAIN));
    world.ok(set("C", None, &[("P", &[("CUSTOM_A", 2)])]));
    world.ok(rename("CUSTOM_A", "CUSTOM_A"));
    world.ok(rename("CUSTOM_A", "CUSTOM_C"));
    assert_eq!((world.used("P", "CUSTOM_C"), world.generations(["P"])), (2, [2]));
    assert!(world.consumer("C").unwrap().allocations.keys().all(|(_, name)| name.as_str() == "CUSTOM_C"));
    assert_eq!(world.refused(rename("CUSTOM_A", "CUSTOM_D")), refusal(404, NONE, "No such resource class CUSTOM_A."));
    assert_eq!(
        world.refused(rename("VCPU", "CUSTOM_D")),
        refusal(400, NONE, "Cannot update standard resource class VCPU")
    );
    let text = "Resource class already exists: CUSTOM_B";
    assert_eq!(world.refused(rename("CUSTOM_C", "CUSTOM_B")), refusal(409, NONE, text));
}

#[test]
fn a_class_in_use_is_not_deleted() {
    let mut world = World::with(&[("P", &[])]);
    world.ok(create_class("CUSTOM_A"));
    world.ok(add("P", "CUSTOM_A", PLAIN));
    assert_eq!(world.refused(delete_class("CUSTOM_B")), refusal(404, NONE, "No such resource class CUSTOM_B."));
    let text = "Error in delete resource class: Cannot delete standard resource class VCPU.";
    assert_eq!(world.refused(delete_class("VCPU")), refusal(400, NONE, text));
    let text = "Error in delete resource class: Cannot delete resource class CUSTOM_A. Class is in use in inventory.";
    assert_eq!(world.refused(delete_class("CUSTOM_A")), refusal(409, NONE, text));
    world.ok(Command::DeleteInventories { provider: key("P") });
    world.ok(delete_class("CUSTOM_A"));
    assert!(world.state.classes.is_empty());
}

#[test]
fn traits_are_created_and_listed() {
    let mut world = World::with(&[("P", &[])]);
    let ensure = |name| Command::EnsureTrait { name: named(name) };
    let delete = |name| Command::DeleteTrait { name: named(name) };
    assert_eq!(world.ok(ensure("CUSTOM_T")), Outcome::Created);
    assert_eq!(world.ok(ensure("CUSTOM_T")), Outcome::Existed);
    let text = "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \"CUSTOM_\" \
                and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"";
    for name in ["HW_CPU_X86_AVX", "CUSTOM_t", "CUSTOM_T\n"] {
        assert_eq!(world.refused(ensure(name)), refusal(400, NONE, text), "{name}");
    }
    world.ok(traits("P", 0, &["CUSTOM_T"]));
    assert_eq!(world.refused(delete("CUSTOM_U")), refusal(404, NONE, "No such trait(s): CUSTOM_U."));
    let text = "Cannot delete standard trait HW_CPU_X86_AVX.";
    assert_eq!(world.refused(delete("HW_CPU_X86_AVX")), refusal(400, NONE, text));
    let text = "The trait CUSTOM_T is in use by a resource provider.";
    assert_eq!(world.refused(delete("CUSTOM_T")), refusal(409, NONE, text));
    world.ok(Command::DeleteTraits { provider: key("P") });
    world.ok(delete("CUSTOM_T"));
}

#[test]
fn traits_of_a_provider_raise_it_only_when_they_change() {
    let mut world = World::with(&[("P", &[])]);
    world.ok(traits("P", 0, &["HW_CPU_X86_AVX", "HW_CPU_X86_AVX", "STORAGE_DISK_SSD"]));
    assert_eq!((world.generations(["P"]), world.provider("P").traits.len()), ([1], 2));
    world.ok(traits("P", 1, &["STORAGE_DISK_SSD", "HW_CPU_X86_AVX"]));
    assert_eq!(world.generations(["P"]), [1]);
    let text = "Resource provider's generation already changed. Please update the generation and try again.";
    assert_eq!(world.refused(traits("P", 0, &["NOPE"])), refusal(409, CONFLICT, text));
    let command = traits("P", 1, &["NOPE", "HW_NUMA_ROOT", "CUSTOM_X", "NOPE"]);
    assert_eq!(world.refused(command), refusal(400, NONE, "No such trait CUSTOM_X, NOPE"));
    world.ok(Command::DeleteTraits { provider: key("P") });
    world.ok(Command::DeleteTraits { provider: key("P") });
    assert_eq!(world.generations(["P"]), [2]);
    let text = "No resource provider with uuid X found";
    for command in [traits("X", 0, &["NOPE"]), Command::DeleteTraits { provider: key("X") }] {
        assert_eq!(world.refused(command), refusal(404, NONE, text));
    }
}

#[test]
fn aggregates_are_set_and_shown() {
    let mut world = World::with(&[("P", &[])]);
    world.ok(aggregates("P", None, &["b", "a"]));
    assert_eq!(world.generations(["P"]), [0], "before 1.19");
    let text = "Resource provider's generation already changed. Please update the generation and try again.";
    assert_eq!(world.refused(aggregates("P", Some(1), &[])), refusal(409, CONFLICT, text));
    world.ok(aggregates("P", Some(0), &["b", "a"]));
    assert_eq!(world.generations(["P"]), [1], "also when nothing changes");
    let (plain, shouted) = ("6b1e5f3a-0000-4000-8000-00000000abcd", "6B1E5F3A-0000-4000-8000-00000000ABCD");
    world.ok(aggregates("P", None, &[shouted, "a", plain]));
    let sent: Vec<_> = world.provider("P").aggregates.iter().map(|aggregate| aggregate.sent.as_str()).collect();
    assert_eq!(sent, [shouted, "a"], "two spellings are one aggregate, shown as it was sent");
    assert_eq!(world.refused(aggregates("X", None, &[])), refusal(404, NONE, "No resource provider with uuid X found"));
}

#[test]
fn what_exists_already_is_not_written_again() {
    let mut world = World::default();
    world.ok(create_class("CUSTOM_A"));
    let command = Command::EnsureClass { name: class("CUSTOM_A") };
    let decided = crate::decide(&command, &world.state.load(&command.read_set())).unwrap();
    assert_eq!(decided, (WriteSet::default(), Outcome::Existed));
}
