//! `berth e2e-commitments`: checks a running LIQUID API by what Limes would do: discovery, dry runs, and commitments that
//! come and go. The first failure ends it.

mod answers;
mod client;
mod login;
mod requests;
mod steps;
#[cfg(test)]
mod tests;

use berth_telemetry::config::{self, Checks, Files, Loaded};
use berth_telemetry::logs;
use serde_json::{Map, Value};
use tokio::runtime;
use tracing::{error, info};

use self::client::ApiClient;
use self::login::Login;
use self::steps::Steps;
use crate::args::E2eCommitmentsArguments;
use crate::error::Error;
use crate::operator::wanted_logs;

pub(super) fn run(arguments: &E2eCommitmentsArguments) -> Result<(), Error> {
    logs::init(&wanted_logs(&arguments.logs))?;
    let loaded = load(arguments)?;
    loaded.findings.log();
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    let login = runtime.block_on(Login::of(arguments, &loaded.configuration))?;
    match runtime.block_on(check(&loaded.configuration.checks, login)) {
        Ok(()) => {
            info!("all commitments e2e checks passed");
            Ok(())
        }
        Err(reason) => {
            error!(%reason, "e2e check failed");
            Err(Error::Logged)
        }
    }
}

async fn check(checks: &Checks, login: Login) -> Result<(), String> {
    let client = ApiClient::new(&checks.base_url, checks.request_timeout, login)?;
    Steps::new(client, checks).run().await
}

fn load(arguments: &E2eCommitmentsArguments) -> Result<Loaded, Error> {
    let files = Files { config: arguments.config.clone(), secrets: arguments.secrets.clone() };
    let loaded = config::load(&files, false)?;
    let Some(json) = &arguments.json else { return Ok(loaded) };
    merged(&files, json).map_err(|reason| {
        error!(%reason, "invalid json override for e2e-commitments");
        Error::Logged
    })
}

/// The files are correct, so what is wrong now is in `json`.
fn merged(files: &Files, json: &str) -> Result<Loaded, String> {
    let over: Map<String, Value> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    config::load_with(files, over, false).map_err(|error| error.to_string())
}
