//! Inventories.

use super::*;

fn world() -> World {
    let mut world = World::with(&[("P", &[])]);
    for name in ["CUSTOM_Z", "CUSTOM_A"] {
        world.ok(Command::CreateClass { name: class(name) });
    }
    world
}

fn one(provider: &str, generation: i64, name: &str, inventory: Inventory) -> Command {
    let reserved = ReservedRule::UpToTotal;
    Command::SetInventory { provider: key(provider), generation, class: class(name), inventory, reserved }
}

fn delete(provider: &str, name: &str) -> Command {
    Command::DeleteInventory { provider: key(provider), class: class(name) }
}

fn delete_all(provider: &str) -> Command {
    Command::DeleteInventories { provider: key(provider) }
}

#[test]
fn every_write_of_inventories_is_one_step() {
    let mut world = world();
    assert_eq!(world.ok(add("P", "VCPU", PLAIN)), Outcome::Created);
    world.ok(one("P", 1, "VCPU", PLAIN));
    world.ok(set_inventories("P", 2, &[("VCPU", PLAIN), ("CUSTOM_A", total(9))]));
    world.ok(set_inventories("P", 3, &[("VCPU", PLAIN), ("CUSTOM_A", total(9))]));
    world.ok(delete("P", "VCPU"));
    world.ok(delete_all("P"));
    world.ok(delete_all("P"));
    assert_eq!(world.generations(["P"]), [7]);
}

#[test]
fn put_replaces_and_keeps_usage() {
    let mut world = world();
    world.ok(set_inventories("P", 0, &[("VCPU", total(8)), ("DISK_GB", PLAIN)]));
    world.ok(set("C", None, &[("P", &[("VCPU", 8)])]));
    world.ok(set_inventories("P", 2, &[("VCPU", total(1))]));
    assert_eq!((world.used("P", "VCPU"), world.provider("P").inventories.len()), (8, 1), "below the usage is allowed");
    world.ok(one("P", 3, "VCPU", Inventory { reserved: 4, ..PLAIN }));
    assert_eq!(world.provider("P").inventories["VCPU"].inventory.capacity(), 0);
}

#[test]
fn inventories_of_unknown_providers_are_not_found() {
    let mut world = world();
    let commands = [
        add("X", "VCPU", PLAIN),
        one("X", 0, "VCPU", PLAIN),
        set_inventories("X", 0, &[]),
        delete("X", "VCPU"),
        delete_all("X"),
    ];
    for command in commands {
        assert_eq!(world.refused(command), refusal(404, NONE, "No resource provider with uuid X found"));
    }
}

#[test]
fn capacity_is_what_total_reserved_and_ratio_allow() {
    let mut world = world();
    let text = |action: &str, than: &str| {
        format!(
            "Unable to {action} inventory for resource provider P: Invalid inventory for 'VCPU' on resource provider 'P'. \
             The reserved value is greater than {than}."
        )
    };
    let reserved = |reserved| Inventory { reserved, ..PLAIN };
    let old = |reserved| Command::AddInventory {
        provider: key("P"),
        class: class("VCPU"),
        inventory: Inventory { reserved, ..PLAIN },
        reserved: ReservedRule::BelowTotal,
    };
    assert_eq!(world.refused(old(4)), refusal(400, NONE, &text("create", "or equal to total")));
    assert_eq!(world.refused(add("P", "VCPU", reserved(5))), refusal(400, NONE, &text("create", "total")));
    assert_eq!(
        world.refused(set_inventories("P", 0, &[("VCPU", reserved(5))])),
        refusal(400, NONE, &text("update", "total"))
    );
    world.ok(old(3));
    world.ok(one("P", 1, "VCPU", reserved(4)));
    assert_eq!(world.refused(one("P", 2, "VCPU", reserved(5))), refusal(400, NONE, &text("update", "total")));
    // Capacity that is rounded down to 0 is ignored before 1.26.
    let small = Inventory { total: 1, allocation_ratio: 0.5, ..PLAIN };
    let command = Command::SetInventory {
        provider: key("P"),
        generation: 2,
        class: class("VCPU"),
        inventory: small,
        reserved: ReservedRule::BelowTotal,
    };
    assert_eq!(world.refused(command), refusal(400, NONE, &text("update", "or equal to total")));
}

#[test]
fn unknown_classes_and_missing_records() {
    let mut world = world();
    let text = "Unable to create inventory for resource provider P: No such resource class CUSTOM_NO.";
    assert_eq!(world.refused(add("P", "CUSTOM_NO", PLAIN)), refusal(400, NONE, text));
    let text = "Unknown resource class in inventory for resource provider P: No such resource class no-name.";
    let command = set_inventories("P", 0, &[("VCPU", PLAIN), ("no-name", PLAIN)]);
    assert_eq!(world.refused(command), refusal(400, NONE, text));
    assert_eq!(world.refused(one("P", 0, "CUSTOM_NO", PLAIN)), refusal(404, NONE, "No such resource class CUSTOM_NO."));
    let text = "No inventory record with resource class for resource provider P: No inventory of class VCPU found.";
    assert_eq!(world.refused(one("P", 0, "VCPU", PLAIN)), refusal(400, NONE, text));
    for name in ["CUSTOM_NO", "VCPU"] {
        let (status, _, text) = world.refused(delete("P", name));
        assert_eq!(status, 404);
        assert!(text.starts_with(&format!("No inventory of class {name} found for delete: ")), "{text}");
    }
}

#[test]
fn inventories_in_use_conflict() {
    let mut world = world();
    world.ok(add("P", "VCPU", PLAIN));
    let (status, code, text) = world.refused(add("P", "VCPU", PLAIN));
    assert_eq!((status, code), (409, CONFLICT));
    assert!(text.starts_with("Update conflict: "), "{text}");
    for late in [set_inventories("P", 0, &[]), one("P", 0, "VCPU", PLAIN), one("P", 2, "VCPU", PLAIN)] {
        assert_eq!(world.refused(late), refusal(409, CONFLICT, "resource provider generation conflict"));
    }
}

#[test]
fn classes_in_use_are_listed_in_order() {
    let mut world = world();
    let classes = ["CUSTOM_A", "CUSTOM_Z", "DISK_GB", "VCPU", "PCPU"].map(|name| (name, PLAIN));
    world.ok(set_inventories("P", 0, &classes));
    world.ok(set("C", None, &[("P", &[("CUSTOM_A", 1), ("CUSTOM_Z", 1), ("DISK_GB", 1), ("VCPU", 1)])]));
    let in_use = "Inventory for 'VCPU, DISK_GB, CUSTOM_Z, CUSTOM_A' on resource provider 'P' in use.";
    assert_eq!(world.refused(delete_all("P")), refusal(409, "inventory.inuse", in_use));
    let text = format!("update conflict: {in_use}");
    assert_eq!(world.refused(set_inventories("P", 2, &[])), refusal(409, "inventory.inuse", &text));
    let text = "Unable to delete inventory of class VCPU: Inventory for 'VCPU' on resource provider 'P' in use.";
    assert_eq!(world.refused(delete("P", "VCPU")), refusal(409, CONFLICT, text));
    world.ok(delete("P", "PCPU"));
}
