//! The listener of the APIs, and the scheduler that controllers use.

use std::path::Path;
use std::sync::Arc;

use berth_cluster::{Manager, home_server};
use berth_http::metrics::HttpMetrics;
use berth_http::{
    Access, Address, Component, Limits, ListenAddress, Readiness, Scheme, Server, TlsInForce, answer, base_url,
};
use berth_liquid::server::{LiquidAccess, default_policies, router as liquid_router};
use berth_scheduler_api::server::{Api, ApiLimits, TimeAndRandom, explain_router, router};
use berth_scheduler_api::{Chosen, External, Forward, is_loopback_own};
use berth_telemetry::config::{AuthMode, Configuration, Controller, SchedulerUrl};
use tokio::net::TcpListener;
use tracing::{info, warn};

use super::parts::Parts;
use super::tokens;
use crate::args::OperatorArguments;
use crate::callers::Callers;
use crate::error::Error;
use crate::policy_file;
use crate::wiring::{
    ClaimRestorer, DecidingState, Environment, LiquidPermissions, Memory, MemoryExplainer, Nova, liquid_api,
};

/// The port of the reference, which its chart points at.
const PORT: u16 = 8080;
const API: &str = "scheduler";
const LIQUID: &str = "liquid";
const UNLESS_OPEN: &str = "set scheduler.tokenFile or scheduler.token, listen on loopback (--api-bind-address=127.0.0.1:8080), or pass \
                           --insecure-api if only trusted clients reach the port";

/// The APIs that share the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServedApis {
    scheduler: bool,
    liquid: bool,
}

/// What is served, at which address and to whom: decided before anything is contacted.
pub(crate) struct PlannedApis {
    served: ServedApis,
    access: Access,
    mode: AuthMode,
    of_liquid: Access,
    address: Option<ListenAddress>,
}

/// Something that whoever starts an operator should know about who can call its APIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessRemark {
    pub(crate) is_warning: bool,
    pub(crate) text: String,
}

/// The APIs that are to be served, if any; `/readyz` waits for them from the beginning.
pub(super) struct Announced {
    served: ServedApis,
    liquid: LiquidPermissions,
    tls: Option<TlsInForce>,
    wanted: Option<(Address, Component)>,
}

/// The listener, if there is something to serve.
pub(super) struct Apis {
    served: ServedApis,
    liquid: LiquidPermissions,
    tls: Option<TlsInForce>,
    open: Option<(Address, TcpListener, Component)>,
}

impl ServedApis {
    fn of(configuration: &Configuration) -> Self {
        let enabled = |controller| configuration.enabled_controllers.contains(&controller);
        Self { scheduler: enabled(Controller::NovaPipelines), liquid: enabled(Controller::CommittedResources) }
    }

    /// The name in `/readyz` and in the log.
    fn as_str(self) -> &'static str {
        match (self.scheduler, self.liquid) {
            (true, true) => "scheduler API and LIQUID API",
            (false, true) => "LIQUID API",
            _ => "scheduler API",
        }
    }
}

impl PlannedApis {
    pub(crate) fn new(arguments: &OperatorArguments, configuration: &Configuration) -> Result<Self, Error> {
        let served = ServedApis::of(configuration);
        let access = Access::new(configuration.scheduler.wants_token(), arguments.insecure_api);
        let mode = configuration.auth.mode;
        let of_liquid = access_of_liquid(arguments, mode);
        let address = choose_address(arguments, served, access, of_liquid)?;
        Ok(Self { served, access, mode, of_liquid, address })
    }

    /// Where they listen, unless they are switched off or none is served.
    pub(crate) fn address(&self) -> Option<&Address> {
        self.address.as_ref().map(ListenAddress::address)
    }

    /// Whether callers on other machines reach them.
    pub(crate) fn are_open_to_others(&self) -> bool {
        self.address().is_some_and(|address| !address.is_loopback())
    }

    pub(crate) fn serve_liquid(&self) -> bool {
        self.served.liquid && self.address.is_some()
    }

    fn liquid_access(&self) -> LiquidAccess {
        self.address().map_or(LiquidAccess::Closed, |address| liquid_access(self.of_liquid, address))
    }

    pub(crate) fn remarks(&self) -> Vec<AccessRemark> {
        let Some(chosen) = &self.address else { return Vec::new() };
        let of_scheduler = self.served.scheduler.then(|| remark_on_scheduler(chosen, self.access)).flatten();
        let of_liquid = self.served.liquid.then(|| remark_on_liquid(self.mode, self.liquid_access(), chosen.address()));
        of_scheduler.into_iter().chain(of_liquid).collect()
    }
}

impl AccessRemark {
    fn warning(text: impl Into<String>) -> Self {
        Self { is_warning: true, text: text.into() }
    }

    fn note(text: impl Into<String>) -> Self {
        Self { is_warning: false, text: text.into() }
    }

    fn log(&self) {
        let text = &self.text;
        if self.is_warning { warn!("{text}") } else { info!("{text}") }
    }
}

impl Announced {
    /// Says that there will be a listener, unless it is switched off or nothing is served by it.
    pub(super) fn new(
        (planned, tls): (PlannedApis, Option<TlsInForce>),
        configuration: &Configuration,
        ready: &Readiness,
        metrics: &HttpMetrics,
    ) -> Result<Self, Error> {
        planned.remarks().iter().for_each(AccessRemark::log);
        let access = planned.liquid_access();
        let PlannedApis { served, address, .. } = planned;
        if address.is_some() && served.scheduler {
            metrics.show_access(API, planned.access);
        }
        if served.liquid && access == LiquidAccess::Open {
            metrics.show_access(LIQUID, planned.of_liquid);
        }
        let policies = policy_file::read(default_policies(), configuration.auth.policy_file.as_deref())?;
        let liquid = LiquidPermissions { access, policies };
        let wanted = address.map(|address| {
            let component = ready.component(if served.scheduler { "scheduler API" } else { served.as_str() });
            component.not_ready("its listener is not open yet");
            (address.into_address(), component)
        });
        Ok(Self { served, liquid, tls, wanted })
    }

    pub(super) async fn listen(self) -> Result<Apis, Error> {
        let Self { served, liquid, tls, wanted } = self;
        let Some((address, component)) = wanted else { return Ok(Apis { served, liquid, tls, open: None }) };
        let listener = address.listen().await?;
        let port = listener.local_addr().map_or(address.port, |local| local.port());
        Ok(Apis { served, liquid, tls, open: Some((Address { port, ..address }, listener, component)) })
    }
}

/// Where the APIs listen, unless they are switched off or none is served.
fn choose_address(
    arguments: &OperatorArguments,
    served: ServedApis,
    of_scheduler: Access,
    of_liquid: Access,
) -> Result<Option<ListenAddress>, Error> {
    let set = arguments.api_bind_address.as_deref().map(Address::from_flag).transpose()?;
    let default = Address { host: None, port: PORT };
    if set == Some(None) || !(served.scheduler || served.liquid) {
        return Ok(None);
    }
    match set.flatten() {
        set if served.scheduler => Ok(Some(of_scheduler.choose_address(API, set, default, UNLESS_OPEN)?)),
        // The routes of LIQUID are closed where others reach them, so this need not end the start.
        Some(address) => Ok(Some(ListenAddress::Wanted(address))),
        None => Ok(Some(of_liquid.choose_address(LIQUID, None, default, UNLESS_OPEN)?)),
    }
}

fn remark_on_scheduler(chosen: &ListenAddress, access: Access) -> Option<AccessRemark> {
    match chosen {
        ListenAddress::LoopbackInstead(address) => Some(AccessRemark::warning(format!(
            "no token is configured, so the scheduler API opens on loopback only ({address}) and Nova cannot reach it; set \
             scheduler.tokenFile"
        ))),
        ListenAddress::Wanted(_) if access == Access::OpenEverywhere => {
            Some(AccessRemark::warning("no token is configured; the scheduler API answers every client"))
        }
        ListenAddress::Wanted(_) => None,
    }
}

fn remark_on_liquid(mode: AuthMode, access: LiquidAccess, address: &Address) -> AccessRemark {
    match (access, mode) {
        (_, AuthMode::Keystone) => AccessRemark::note("callers of the LIQUID API show tokens of keystone"),
        (LiquidAccess::Closed, _) => AccessRemark::warning(
            "the LIQUID API answers 503, because its callers do not authenticate and other machines reach the address; set \
             keystoneSecretRef, listen on loopback, or pass --insecure-api if only trusted clients reach the port",
        ),
        (LiquidAccess::Open, _) if address.is_loopback() => {
            AccessRemark::note("callers of the LIQUID API do not authenticate; it is served on loopback only")
        }
        (LiquidAccess::Open, AuthMode::NoAuth2) => AccessRemark::warning(
            "noauth2 is no authentication; every client of the LIQUID API has the roles that it claims",
        ),
        (LiquidAccess::Open, AuthMode::Off) => {
            AccessRemark::warning("authentication is off; the LIQUID API answers every client")
        }
    }
}

/// The token of the scheduler API does not count for LIQUID: Nova must not sell commitments, and Limes cannot show it.
fn access_of_liquid(arguments: &OperatorArguments, mode: AuthMode) -> Access {
    Access::new(mode == AuthMode::Keystone, arguments.insecure_api)
}

fn liquid_access(access: Access, address: &Address) -> LiquidAccess {
    if access != Access::Open || address.is_loopback() { LiquidAccess::Open } else { LiquidAccess::Closed }
}

impl Apis {
    pub(super) async fn base_url(&self, kubeconfig: Option<&Path>) -> Option<String> {
        let (address, ..) = self.open.as_ref()?;
        let pod_ip = std::env::var("POD_IP").ok();
        let peer = home_server(kubeconfig).await;
        let peer = peer.as_ref().map(|(host, port)| (host.as_str(), *port));
        let scheme = if self.tls.is_some() { Scheme::Https } else { Scheme::Http };
        base_url(scheme, address, pod_ip.as_deref(), peer).await
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
        let Self { served, liquid, tls, open } = self;
        let Some((address, listener, component)) = open else { return Ok(None) };
        let explainer = MemoryExplainer::new(memory, deciding.clone(), environment.clock.clone());
        let mut routes = explain_router(explainer, Arc::new(callers.clone()));
        let mut restorer = None;
        if served.scheduler {
            let api = scheduler_api(memory, environment, (deciding, tls.as_ref()), manager, parts)?;
            restorer = Some(api.backend().restorer());
            routes = routes.merge(router(Arc::new(api)));
        }
        if served.liquid {
            let forwarder = Arc::new(forward(deciding, tls.as_ref())?);
            let api = liquid_api(memory, environment, (deciding, forwarder), liquid, manager, &parts.stop)?;
            routes = routes.merge(liquid_router(Arc::new(api)));
        }
        let http = &environment.configuration.http;
        let bounds = Limits::default().with_connections(http.max_connections, http.trusted_peers.clone());
        let server = Server::new("api").with_metrics(&environment.metrics.http).with_limits(bounds);
        let server = tls.iter().try_fold(server, Server::over_tls)?;
        parts.spawn("the listener of the APIs", server.serve(listener, answer::refusals(routes), parts.stop.clone()));
        info!(%address, "serving the {}", served.as_str());
        if served.scheduler {
            let reporting = report_pipelines(memory.clone(), component, parts.clone());
            parts.spawn_endless("the state of the pipelines", reporting);
        } else {
            component.ready();
        }
        Ok(restorer)
    }
}

fn scheduler_api(
    memory: &Memory,
    environment: &Environment<'_>,
    (deciding, tls): (&DecidingState, Option<&TlsInForce>),
    manager: &mut Manager,
    parts: &Parts,
) -> Result<Api<Nova>, Error> {
    let nova = Nova::new(memory, environment, deciding.clone(), manager, &parts.stop);
    let keys = &environment.configuration.scheduler;
    let tokens = tokens::follow(keys, parts)?;
    let forward = forward(deciding, tls)?;
    let surroundings = TimeAndRandom::since(memory.started_at(), environment.clock.clone());
    let limits = ApiLimits::default().with_body(keys.max_body_bytes);
    Ok(Api::new(nova, forward, surroundings, limits, environment.metrics.api.clone()).with_tokens(tokens))
}

fn forward(deciding: &DecidingState, tls: Option<&TlsInForce>) -> Result<Forward, Error> {
    Ok(Forward::new(deciding.me(), tls)?)
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

/// The URL, if another process is behind it.
pub(crate) fn external_url<'u>(
    api_bind_address: Option<&str>,
    url: &'u SchedulerUrl,
) -> Result<Option<&'u str>, Error> {
    let SchedulerUrl::External(url) = url else { return Ok(None) };
    let address = api_bind_address.map(Address::from_flag).transpose()?.flatten();
    let port = address.map_or(PORT, |address| address.port);
    Ok((!is_loopback_own(url, port)).then_some(url))
}

/// The scheduler for slots or for probes: a URL that leads back to this process selects its built-in scheduler.
pub(crate) fn scheduler(
    api_bind_address: Option<&str>,
    (url, purpose): (&SchedulerUrl, &str),
    configuration: &Configuration,
    memory: &Memory,
) -> Result<Chosen, Error> {
    let own = memory.scheduler.clone();
    let Some(url) = external_url(api_bind_address, url)? else {
        if let SchedulerUrl::External(url) = url {
            info!(url, purpose, "schedulerURL points at this process; using the built-in scheduler");
        }
        return Ok(Chosen::BuiltIn(own));
    };
    info!(url, purpose, "using an external scheduler");
    let user_agent = configuration.common.user_agent();
    let external = External::new(url, user_agent.as_deref(), own);
    external
        .and_then(|external| external.with_token(configuration.reservation_controller.scheduler_token.as_ref()))
        .map(|external| Chosen::External(Arc::new(external)))
        .map_err(|source| Error::Client { source: source.into() })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    const SCHEDULER: ServedApis = ServedApis { scheduler: true, liquid: true };
    const LIQUID_ONLY: ServedApis = ServedApis { scheduler: false, liquid: true };

    fn arguments(flags: &[&str]) -> OperatorArguments {
        let all = [&["berth", "operator"], flags].concat();
        let Command::Operator(arguments) = Arguments::try_parse_from(all).unwrap().command else { panic!("{flags:?}") };
        *arguments
    }

    fn chosen(flags: &[&str], served: ServedApis, access: Access) -> Result<Option<String>, Error> {
        chosen_with(flags, served, access, AuthMode::Off)
    }

    fn chosen_with(
        flags: &[&str],
        served: ServedApis,
        access: Access,
        mode: AuthMode,
    ) -> Result<Option<String>, Error> {
        let arguments = arguments(flags);
        let chosen = choose_address(&arguments, served, access, access_of_liquid(&arguments, mode));
        chosen.map(|address| address.map(|address| address.into_address().to_string()))
    }

    #[test]
    fn without_a_token_the_default_address_is_on_loopback() {
        let chosen = |flags: &[&str], access| chosen(flags, SCHEDULER, access);
        assert_eq!(chosen(&[], Access::Open).unwrap().as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(chosen(&[], Access::OpenEverywhere).unwrap().as_deref(), Some(":8080"));
        assert_eq!(chosen(&[], Access::Authenticated).unwrap().as_deref(), Some(":8080"));
        assert_eq!(chosen(&["--api-bind-address=0"], Access::Open).unwrap(), None);
        assert!(chosen(&["--api-bind-address=:8080"], Access::Open).is_err());
    }

    #[test]
    fn the_liquid_api_alone_opens_on_loopback_or_at_its_address() {
        let chosen = |flags: &[&str]| chosen(flags, LIQUID_ONLY, Access::Open).unwrap();
        assert_eq!(chosen(&[]).as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(chosen(&["--insecure-api"]).as_deref(), Some(":8080"));
        assert_eq!(chosen(&["--api-bind-address=:80"]).as_deref(), Some(":80"), "its routes are closed there");
        assert_eq!(chosen(&["--api-bind-address=0"]), None);
        let with = |mode| chosen_with(&[], LIQUID_ONLY, Access::Open, mode).unwrap();
        assert_eq!(with(AuthMode::Keystone).as_deref(), Some(":8080"));
        assert_eq!(with(AuthMode::NoAuth2).as_deref(), Some("127.0.0.1:8080"));
    }

    fn remarks(flags: &[&str], keys: &serde_json::Value) -> Vec<(bool, String)> {
        let configuration = berth_telemetry::config::decode(keys.as_object().unwrap(), false).unwrap().configuration;
        let planned = PlannedApis::new(&arguments(flags), &configuration).unwrap();
        planned.remarks().into_iter().map(|remark| (remark.is_warning, remark.text)).collect()
    }

    #[test]
    fn who_can_call_the_apis_is_said_of_each() {
        let begin = |remarks: Vec<(bool, String)>| {
            remarks.into_iter().map(|(warns, text)| (warns, text[..24].to_owned())).collect::<Vec<_>>()
        };
        let line = |warns, text: &str| (warns, text.to_owned());
        let none = serde_json::json!({});
        let loopback = [line(true, "no token is configured, "), line(false, "callers of the LIQUID AP")];
        assert_eq!(begin(remarks(&[], &none)), loopback);
        let open = [line(true, "no token is configured; "), line(true, "authentication is off; t")];
        assert_eq!(begin(remarks(&["--insecure-api"], &none)), open);
        let token = serde_json::json!({ "scheduler": { "token": "s3cret" } });
        assert_eq!(begin(remarks(&[], &token)), [line(true, "the LIQUID API answers 5")]);
        assert!(remarks(&["--api-bind-address=0"], &token).is_empty());
    }

    #[test]
    fn without_an_api_there_is_no_listener() {
        let none = ServedApis { scheduler: false, liquid: false };
        for flags in [&[][..], &["--api-bind-address=127.0.0.1:80"], &["--insecure-api"]] {
            assert_eq!(chosen(flags, none, Access::Open).unwrap(), None, "{flags:?}");
        }
    }

    #[test]
    fn liquid_is_closed_where_others_reach_it_even_if_the_scheduler_has_a_token() {
        let access = |address: &str, flags: &[&str], mode| {
            liquid_access(access_of_liquid(&arguments(flags), mode), &address.parse().unwrap())
        };
        for mode in [AuthMode::Off, AuthMode::NoAuth2] {
            assert_eq!(access("127.0.0.1:8080", &[], mode), LiquidAccess::Open);
            assert_eq!(access(":8080", &[], mode), LiquidAccess::Closed);
            assert_eq!(access(":8080", &["--insecure-api"], mode), LiquidAccess::Open);
        }
        assert_eq!(access(":8080", &[], AuthMode::Keystone), LiquidAccess::Open);
    }
}
