//! One cluster for a whole process, such as all tests of a binary.

use std::thread;

use berth_control_plane::FromRefused as _;
use tokio::sync::{OnceCell, oneshot};

use crate::{Durability, Error, Postgres};

/// The cluster of this process. A thread that never ends has started it, so it ends with the process.
pub async fn shared() -> Result<&'static Postgres, Error> {
    static CLUSTER: OnceCell<Postgres> = OnceCell::const_new();
    CLUSTER.get_or_try_init(start_on_thread).await
}

async fn start_on_thread() -> Result<Postgres, Error> {
    let (send, receive) = oneshot::channel();
    thread::spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(send.send(Err(Error::io("start a runtime for PostgreSQL")(error)))),
        };
        // There is no receiver when the process ends.
        let _ = send.send(runtime.block_on(Postgres::start(Durability::None)));
        runtime.block_on(std::future::pending::<()>());
    });
    receive.await.unwrap_or(Err(Error::Missing))
}
