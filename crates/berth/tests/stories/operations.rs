//! The commands of `docs/operations.md` do what the page says: each block that is marked with `try=<scene>` runs on a
//! real API server beside a running operator, and the result is checked.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use berth_control_plane::ControlPlane;
use berth_crds::conditions::safety;
use berth_crds::{CommittedResource, Hypervisor, Reservation, labels, testing};
use kube::ResourceExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::objects::{self, host, non_rejectable, rejectable, slot_name};
use crate::support::seen::{Seen, ready};
use crate::support::waiting::so;
use crate::support::world::{World, bound};

const PAGE: &str = include_str!("../../../../docs/operations.md");

/// A marked block: its commands, and the text that is shown below it, if any.
struct Block {
    commands: &'static str,
    shown: Option<&'static str>,
}

/// The marked blocks of the page by scene, in order.
fn scenes() -> BTreeMap<&'static str, Vec<Block>> {
    let mut scenes: BTreeMap<_, Vec<Block>> = BTreeMap::new();
    for rest in PAGE.split("\n```sh try=").skip(1) {
        let (scene, rest) = rest.split_once('\n').unwrap();
        let (commands, rest) = rest.split_once("\n```\n").unwrap();
        let shown = rest.strip_prefix("\n```text\n").map(|rest| rest.split_once("\n```\n").unwrap().0);
        scenes.entry(scene).or_default().push(Block { commands, shown });
    }
    scenes
}

/// A shell in the directory of the repository, with kubectl as an administrator, and with the binary as somebody who has the
/// roles for people.
struct Shell {
    folder: tempfile::TempDir,
    kubeconfig: String,
}

impl Shell {
    async fn open(control_plane: &ControlPlane) -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(control_plane.kubectl(), folder.path().join("kubectl")).unwrap();
        let (people, checker) = (
            bound(control_plane, "people", "berth-explain").await,
            bound(control_plane, "checker-of-rules", "berth-crds-check").await,
        );
        let (people, checker, program) = (people.display(), checker.display(), env!("CARGO_BIN_EXE_berth"));
        let script = format!(
            "#!/bin/sh\ncase $1 in crds) KUBECONFIG={checker};; *) KUBECONFIG={people};; esac\nexport KUBECONFIG\nexec {program} \"$@\"\n"
        );
        let berth = folder.path().join("berth");
        fs::write(&berth, script).unwrap();
        fs::set_permissions(&berth, Permissions::from_mode(0o755)).unwrap();
        // Commands write into their working directory, which must not be the repository.
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config"), folder.path().join("config")).unwrap();
        Self { folder, kubeconfig: control_plane.kubeconfig().display().to_string() }
    }

    fn file(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    async fn run(&self, commands: &str) -> String {
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", commands]).current_dir(self.folder.path()).kill_on_drop(true);
        shell.env("PATH", path).env("KUBECONFIG", &self.kubeconfig).env("HOME", self.folder.path());
        let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = timeout(crate::support::waiting::WITHIN, child.wait_with_output()).await.unwrap().unwrap();
        let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
        assert!(ended.status.success(), "{commands}\nexited with {}\n{out}{err}", ended.status);
        out
    }
}

/// Runs the blocks of a scene; the text that is shown below a block must be its output, except for blanks.
async fn play(shell: &Shell, blocks: Vec<Block>) -> String {
    let mut all = String::new();
    for block in blocks {
        let out = shell.run(block.commands).await;
        if let Some(shown) = block.shown {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&out), words(shown), "{}\nprinted\n{out}instead of\n{shown}", block.commands);
        }
        all += &out;
    }
    all
}

/// The example of the page: `web-01` is served, `db-001` waits, `lab-01` was rejected.
async fn example() -> World {
    let world = World::with_hosts(&[host("node1", 2), host("node2", 1)]).await;
    world.create(&non_rejectable("web-01", 2)).await;
    // The choice between the hosts is not specified; the page needs the larger one to be full.
    world.accepted("web-01").await;
    world.create(&non_rejectable("db-001", 2)).await;
    world.reported("db-001", "Reserving", "insufficient capacity: 1/2").await;
    world.create(&rejectable("lab-01", 1)).await;
    world.reported("lab-01", "Rejected", "insufficient capacity: 0/1").await;
    world.rest().await;
    world
}

fn reason<'s>(seen: &'s Seen, uuid: &str) -> &'s str {
    seen.commitment(uuid).and_then(ready).map_or("", |ready| &ready.reason)
}

fn slots(seen: &Seen) -> Vec<(String, Option<String>)> {
    seen.slots().map(|slot| (slot.name_any(), slot.spec.target_host.clone())).collect()
}

#[tokio::test]
async fn the_commands_of_the_page_do_what_it_reports() {
    let mut scenes = scenes();
    let mut world = example().await;
    let shell = Shell::open(world.control_plane()).await;
    let mut take = |scene: &str| scenes.remove(scene).unwrap_or_else(|| panic!("the page has no scene {scene}"));

    reading(&shell, &world, &mut take).await;
    waiting_and_rejected(&shell, &world, &mut take).await;
    hosts(&shell, &world, &mut take).await;
    paused(&shell, &world, &mut take).await;
    orphans(&shell, &world, &mut take).await;
    assert_eq!(play(&shell, take("disruption-limited")).await.lines().count(), 1, "only the heading");
    play(&shell, take("confirm-disruption")).await;
    shell.file("config.json", "{}");
    let text = play(&shell, take("taking-over")).await;
    assert!(
        text.contains("An operator starts with this configuration") && text.contains("\"leaderElectionID\": \"berth\""),
        "{text}"
    );
    play(&shell, take("forget")).await;
    let seen = world.rest().await;
    assert_eq!(seen.commitment("web-01").unwrap().annotations()[labels::FORGET_CLUSTER], "eu-test-1b");
    play(&shell, take("upgrade")).await;
    let reconciliations = world.operator().reconciliations().await;
    play(&shell, take("reconcile-all")).await;
    world
        .until_reported("everything was reconciled again", async |world, seen| {
            let more = world.operator().reconciliations().await - reconciliations;
            so(more >= seen.commitments.len() as u64, || format!("{more} reconciliations"))
        })
        .await;
    backup(&shell, &mut world, &mut take).await;
    assert!(scenes.is_empty(), "no test runs {:?}", scenes.keys());
    world.end().await;
}

async fn reading(shell: &Shell, world: &World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    let before = world.now().await.versions();
    let text = play(shell, take("reading")).await;
    for part in [
        "REASON",
        "STATUS",
        "commitment-db-001-1",
        "Accepted · 0 VMs · no expiry",
        "NOT READY",
        "Slot commitment-db-001-1",
        "Host node1 in zone",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    play(shell, take("messages")).await;
    play(shell, take("waiting")).await;
    // An event is published after the status that it is about.
    let events = take("events");
    let lines = crate::support::waiting::until(async || {
        let text = shell.run(events[0].commands).await;
        let reported = text.contains("Rejected") && text.contains("Accepted");
        if reported { Ok(text) } else { Err(text) }
    });
    assert!(lines.await.unwrap().contains("commitment-lab-01"));
    assert_eq!(world.now().await.versions(), before, "reading changes nothing");
}

async fn waiting_and_rejected(shell: &Shell, world: &World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    let text = play(shell, take("waits")).await;
    assert!(text.contains("No host: 2 hosts; capacity 2"), "{text}");
    assert_eq!(world.accepted("db-001").await.slots_of("db-001").len(), 1);
    play(shell, take("rejected")).await;
    world.reported("lab-01", "Reserving", "insufficient capacity: 0/1").await;
    world.rest().await;
}

async fn hosts(shell: &Shell, world: &World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    world.create(&host("node3", 3)).await;
    world.accepted("lab-01").await;
    let name = slot_name("web-01", 0);
    let before = world.rest().await.slot(&name).unwrap().resource_version();
    play(shell, take("drain")).await;
    world
        .until("the slot was placed again", |seen| {
            let slot = seen.slot(&name).ok_or("it is gone")?;
            let placed = slot.spec.target_host.is_some() && slot.resource_version() != before;
            so(placed, || "not yet".to_owned())
        })
        .await;
    world.accepted("web-01").await;
    let text = play(shell, take("overbooked")).await;
    assert!(text.contains("Reservations, the largest block first"), "{text}");
}

async fn paused(shell: &Shell, world: &World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    play(shell, take("pause")).await;
    world
        .until("it reports that it is paused", |seen| {
            let status = seen.commitment("web-01").unwrap().status.clone().unwrap();
            so(safety::holds(&status.conditions, safety::PAUSED), || "not yet".to_owned())
        })
        .await;
    world.respec("web-01", serde_json::json!({ "amount": objects::slots(1) })).await;
    assert_eq!(world.rest().await.slots_of("web-01").len(), 2, "the object is unchanged");
    play(shell, take("resume")).await;
    assert_eq!(world.accepted("web-01").await.slots_of("web-01").len(), 1);
}

async fn orphans(shell: &Shell, world: &World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    let mut slot = testing::slot("lost-01", 0);
    slot.metadata.annotations = None;
    world.create(&slot).await;
    play(shell, take("orphans")).await;
    assert!(world.now().await.slots_of("lost-01").is_empty());
}

/// Everything is lost while no operator runs, and comes back as it was.
async fn backup(shell: &Shell, world: &mut World, take: &mut impl FnMut(&str) -> Vec<Block>) {
    let before = world.rest().await;
    world.stop().await;
    play(shell, take("backup")).await;
    for commitment in &before.commitments {
        let bare = serde_json::json!({ "metadata": { "finalizers": null } });
        world.edit::<CommittedResource>(&commitment.name_any(), bare).await;
        world.delete::<CommittedResource>(&commitment.name_any()).await;
    }
    for slot in before.slots() {
        world.delete::<Reservation>(&slot.name_any()).await;
    }
    assert!(world.now().await.versions().is_empty());
    play(shell, take("restore")).await;
    world.start().await;
    for commitment in &before.commitments {
        world.accepted(&commitment.spec.commitment_uuid).await;
    }
    let after = world.rest().await;
    assert_eq!(slots(&after), slots(&before), "everything is where it was");
    assert_eq!(["web-01", "db-001", "lab-01"].map(|uuid| reason(&after, uuid)), ["Accepted"; 3]);
}

#[tokio::test]
async fn the_disruption_limit_is_lifted_as_the_page_reports() {
    let mut scenes = scenes();
    let mut world = World::without_operator().await;
    world.use_keys(&serde_json::json!({ "disruptionLimit": { "slots": 1 } }));
    world.create(&host("node1", 2)).await;
    world.start().await;
    world.create(&rejectable("many-01", 2)).await;
    world.accepted("many-01").await;
    world.create(&host("node2", 2)).await;
    world.rest().await;
    world.delete::<Hypervisor>("node1").await;
    let shell = Shell::open(world.control_plane()).await;
    let listed = scenes.remove("disruption-limited").unwrap();
    let slots = crate::support::waiting::until(async || {
        let text = shell.run(listed[0].commands).await;
        let all = [0, 1].map(|number| slot_name("many-01", number)).iter().all(|slot| text.contains(slot));
        if all && text.contains(safety::HOST_MISSING) { Ok(()) } else { Err(text) }
    });
    slots.await.unwrap();
    assert_eq!(world.now().await.hosts_of("many-01"), ["node1"; 2], "held-back slots stay as they are");
    let mut lift = scenes.remove("confirm-disruption").unwrap();
    let unconfirmed = lift.pop().unwrap();
    play(&shell, lift).await;
    world
        .until("the slots have moved", |seen| {
            let hosts = seen.hosts_of("many-01");
            so(hosts == ["node2"; 2], || format!("{hosts:?}"))
        })
        .await;
    world.accepted("many-01").await;
    play(&shell, vec![unconfirmed]).await;
    world.end().await;
}
