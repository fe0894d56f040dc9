//! The listener of the APIs, and the scheduler that controllers use.

use std::path::Path;
use std::sync::Arc;

use berth_cluster::{Manager, home_server};
use berth_http::metrics::HttpMetrics;
use berth_http::{Access, Address, Component, Limits, ListenAddress, Readiness, Server, answer, base_url};
use berth_scheduler_api::server::{Api, ApiLimits, TimeAndRandom, explain_router, router};
use berth_scheduler_api::{Chosen, External, Forward, is_loopback_own};
use berth_telemetry::config::{Configuration, Controller, SchedulerUrl};
use tokio::net::TcpListener;
use tracing::{info, warn};

use super::parts::Parts;
use super::tokens;
use crate::args::OperatorArguments;
use crate::callers::Callers;
use crate::error::Error;
use crate::wiring::{ClaimRestorer, DecidingState, Environment, Memory, MemoryExplainer, Nova};

/// The port of the reference, which its chart points at.
const PORT: u16 = 8080;
const API: &str = "scheduler";
const UNLESS_OPEN: &str = "set scheduler.tokenFile or scheduler.token, listen on loopback (--api-bind-address=127.0.0.1:8080), or pass \
                           --insecure-api if only trusted clients reach the port";

/// The API that is to be served, if any; `/readyz` waits for it from the beginning.
pub(super) struct Announced {
    wanted: Option<(Address, Component)>,
}

/// The listener, if there is something to serve.
pub(super) struct Apis {
    open: Option<(Address, TcpListener, Component)>,
}

impl Announced {
    /// Says that there will be a listener, unless it is switched off or nothing is served by it.
    pub(super) fn new(
        arguments: &OperatorArguments,
        configuration: &Configuration,
        ready: &Readiness,
        metrics: &HttpMetrics,
    ) -> Result<Self, Error> {
        let served = configuration.enabled_controllers.contains(&Controller::NovaPipelines);
        let access = Access::new(configuration.scheduler.wants_token(), arguments.insecure_api);
        let address = if served { choose_address(arguments, access)? } else { None };
        if address.is_some() {
            metrics.show_access(API, access);
        }
        let wanted = address.map(|address| {
            let component = ready.component("scheduler API");
            component.not_ready("its listener is not open yet");
            (address, component)
        });
        Ok(Self { wanted })
    }

    /// Whether callers on other machines reach it.
    pub(super) fn are_open_to_others(&self) -> bool {
        self.wanted.as_ref().is_some_and(|(address, _)| !address.is_loopback())
    }

    pub(super) async fn listen(self) -> Result<Apis, Error> {
        let Some((address, component)) = self.wanted else { return Ok(Apis { open: None }) };
        let listener = address.listen().await?;
        let port = listener.local_addr().map_or(address.port, |local| local.port());
        Ok(Apis { open: Some((Address { port, ..address }, listener, component)) })
    }
}

/// Where the APIs listen, unless they are switched off.
fn choose_address(arguments: &OperatorArguments, access: Access) -> Result<Option<Address>, Error> {
    let set = arguments.api_bind_address.as_deref().map(Address::from_flag).transpose()?;
    if set == Some(None) {
        return Ok(None);
    }
    let default = Address { host: None, port: PORT };
    let chosen = access.choose_address(API, set.flatten(), default, UNLESS_OPEN)?;
    if let ListenAddress::LoopbackInstead(address) = &chosen {
        warn!(%address, "no token is configured, so the scheduler API opens on loopback only and Nova cannot reach it; set scheduler.tokenFile");
    } else if access == Access::OpenEverywhere {
        warn!("no token is configured; the scheduler API answers every client");
    }
    Ok(Some(chosen.into_address()))
}

impl Apis {
    pub(super) async fn base_url(&self, kubeconfig: Option<&Path>) -> Option<String> {
        let (address, ..) = self.open.as_ref()?;
        let pod_ip = std::env::var("POD_IP").ok();
        let peer = home_server(kubeconfig).await;
        let peer = peer.as_ref().map(|(host, port)| (host.as_str(), *port));
        base_url(address, pod_ip.as_deref(), peer).await
    }

    /// Serves, from now on: also as a follower, and before the first decision. If claims are made here, those of the
    /// former leader are to be restored before that.
    pub(super) fn serve(
        self,
        memory: &Memory,
        environment: &Environment<'_>,
        (deciding, callers): (&DecidingState, &Callers),
        manager: &mut Manager,
        parts: &Parts,
    ) -> Result<Option<ClaimRestorer>, Error> {
        let Some((address, listener, component)) = self.open else { return Ok(None) };
        let nova = Nova::new(memory, environment, deciding.clone(), manager, &parts.stop);
        let restorer = nova.restorer();
        let keys = &environment.configuration.scheduler;
        let tokens = tokens::follow(keys, parts)?;
        let forward = Forward::new(deciding.me()).map_err(|source| Error::Client { source: source.into() })?;
        let surroundings = TimeAndRandom::since(memory.started_at(), environment.clock.clone());
        let limits = ApiLimits::default().with_body(keys.max_body_bytes);
        let api = Api::new(nova, forward, surroundings, limits, environment.metrics.api.clone()).with_tokens(tokens);
        let http = &environment.configuration.http;
        let bounds = Limits::default().with_connections(http.max_connections, http.trusted_peers.clone());
        let server = Server::new("api").with_metrics(&environment.metrics.http).with_limits(bounds);
        let explainer = MemoryExplainer::new(memory, deciding.clone(), environment.clock.clone());
        let routes = router(Arc::new(api)).merge(explain_router(explainer, Arc::new(callers.clone())));
        let routes = answer::refusals(routes);
        parts.spawn("the listener of the APIs", server.serve(listener, routes, parts.stop.clone()));
        info!(%address, "serving the scheduler API");
        parts.spawn_endless("the state of the pipelines", report_pipelines(memory.clone(), component, parts.clone()));
        Ok(Some(restorer))
    }
}

async fn report_pipelines(memory: Memory, component: Component, parts: Parts) {
    let mut tick = tokio::time::interval(super::home::EVERY);
    while parts.stop.run_until_cancelled(tick.tick()).await.is_some() {
        match memory.pipelines.problem() {
            Some(problem) => component.impaired(problem),
            None => component.ready(),
        }
    }
}

/// The scheduler for slots: a URL that leads back to this process selects its built-in scheduler.
pub(crate) fn scheduler(
    api_bind_address: Option<&str>,
    configuration: &Configuration,
    memory: &Memory,
) -> Result<Chosen, Error> {
    let own = memory.scheduler.clone();
    let keys = &configuration.reservation_controller;
    let SchedulerUrl::External(url) = &keys.scheduler else {
        return Ok(Chosen::BuiltIn(own));
    };
    let address = api_bind_address.map(Address::from_flag).transpose()?.flatten();
    let port = address.map_or(PORT, |address| address.port);
    if is_loopback_own(url, port) {
        info!(url, "schedulerURL points at this process; using the built-in scheduler");
        return Ok(Chosen::BuiltIn(own));
    }
    info!(url, "using an external scheduler for slots");
    let user_agent = configuration.common.user_agent();
    let external = External::new(url, user_agent.as_deref(), own);
    external
        .and_then(|external| external.with_token(keys.scheduler_token.as_ref()))
        .map(|external| Chosen::External(Arc::new(external)))
        .map_err(|source| Error::Client { source: source.into() })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn chosen(flags: &[&str], access: Access) -> Result<Option<String>, Error> {
        let all = [&["berth", "operator"], flags].concat();
        let Command::Operator(arguments) = Arguments::try_parse_from(all).unwrap().command else { panic!("{flags:?}") };
        choose_address(&arguments, access).map(|address| address.map(|address| address.to_string()))
    }

    #[test]
    fn without_a_token_the_default_address_is_on_loopback() {
        assert_eq!(chosen(&[], Access::Open).unwrap().as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(chosen(&[], Access::OpenEverywhere).unwrap().as_deref(), Some(":8080"));
        assert_eq!(chosen(&[], Access::Authenticated).unwrap().as_deref(), Some(":8080"));
        assert_eq!(chosen(&["--api-bind-address=0"], Access::Open).unwrap(), None);
        assert!(chosen(&["--api-bind-address=:8080"], Access::Open).is_err());
    }
}
