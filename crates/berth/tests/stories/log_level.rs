//! The log level of an operator is shown and changed while it runs. Runs the real binary on a real API server.

use crate::support::command::{Ended, berth};
use crate::support::objects::{host, non_rejectable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

async fn log_level(world: &World, arguments: &[&str]) -> Ended {
    let pid = world.operator().pid().to_string();
    berth(&[&["log-level"], arguments, &["--pid", &pid]].concat(), "").await
}

async fn shows(world: &World, arguments: &[&str], shown: &str) {
    let ended = log_level(world, arguments).await;
    assert_eq!((ended.status, ended.stdout, ended.stderr), (0, format!("{shown}\n"), String::new()));
}

fn reasons(world: &World) -> usize {
    world.operator().log().lines().filter(|line| line.contains("DEBUG")).count()
}

#[tokio::test]
async fn the_level_changes_while_the_operator_runs_and_is_that_of_the_start_again_after_it() {
    let mut world = World::with_hosts(&[host("node1", 4)]).await;
    shows(&world, &[], "info").await;
    world.create(&non_rejectable("quiet-1", 1)).await;
    world.accepted("quiet-1").await;
    assert_eq!(reasons(&world), 0, "{}", world.operator().log());

    shows(&world, &["debug"], "debug").await;
    world.create(&non_rejectable("loud-1", 1)).await;
    world.accepted("loud-1").await;
    let reported = until(async || so(reasons(&world) > 0, || world.operator().log()));
    reported.await.unwrap();
    assert!(world.operator().log().contains("log level changed before=\"info\" now=\"debug\""));

    what_is_no_level_is_refused(&world).await;
    shows(&world, &["warn,berth_reservation=debug"], "warn,berth_reservation=debug").await;
    shows(&world, &["reset"], "info").await;
    shows(&world, &["trace"], "trace").await;
    world.stop().await;
    world.start().await;
    shows(&world, &[], "info").await;
    world.end().await;
}

async fn what_is_no_level_is_refused(world: &World) {
    let right = "is not a log level; write error, warn, info, debug, trace";
    for (wrong, why) in [("loud", right), ("berth=loud", right), ("x=".repeat(5000).as_str(), "write a shorter one")] {
        let ended = log_level(world, &[wrong]).await;
        assert_eq!((ended.status, ended.stdout.as_str()), (1, ""), "{ended:#?}");
        assert!(ended.stderr.contains(why), "{ended:#?}");
    }
    shows(world, &[], "debug").await;
    // No process has the id 0.
    let unreachable = berth(&["log-level", "--pid", "0"], "").await;
    assert_eq!(unreachable.status, 1);
    assert!(
        unreachable.stderr.starts_with("berth: no operator with the process id 0 can be reached here"),
        "{unreachable:#?}"
    );
}
