//! `berth placement`: runs a server of the Placement API, copies its ledger, or queries a running server. Flags take
//! precedence over the configuration.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use berth_cluster::{Cluster, Clusters};
use berth_http::{Access, Address, Authorizer, HttpError, TlsInForce, open_files};
use berth_openstack::TokenMetrics;
use berth_openstack::authentication::Authentication;
use berth_placement::ledger::{LedgerError, sqlite};
use berth_placement::protocol::cors::Cors;
use berth_placement::serve::{self, Database, ServeError, Settings};
use berth_placement::{GenerationOptions, policy};
use berth_telemetry::clock::{Clock, SystemClock};
use berth_telemetry::config::{self, AuthMode, Configuration, Files, Placement};
use berth_telemetry::metrics::Metrics;
use berth_telemetry::{logs, shutdown};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::output::{self, counted};
use crate::args::{GenerationStrategy, PlacementArguments, PlacementAuth};
use crate::callers::Callers;
use crate::error::Error;
use crate::operator::{user_agent, wanted_logs};
use crate::{build_info, policy_file, wiring};

/// For the answer of a server that compares.
const CHECK: Duration = Duration::from_secs(70);
/// The API in the text of a refusal.
const API: &str = "Placement";
const UNLESS_OPEN: &str = "pass --auth keystone with the credentials of Keystone, listen on loopback (--listen 127.0.0.1:8778), or pass \
                           --insecure-api if only trusted clients reach the port";

pub(super) fn files(arguments: &PlacementArguments) -> Files {
    Files { config: arguments.config.clone(), secrets: arguments.secrets.clone() }
}

/// Serves until stopped.
pub(super) fn run(arguments: &PlacementArguments) -> Result<(), Error> {
    logs::init(&wanted_logs(&arguments.logs))?;
    open_files::raise_limit();
    let loaded = config::load(&files(arguments), false)?;
    loaded.findings.log();
    let settings = settings(arguments, &loaded.configuration)?;
    let registry = Metrics::new(&loaded.configuration.common.metric_labels)?;
    build_info::register(&registry)?;
    let is_secure = has_secure_metrics(arguments, &loaded.configuration, settings.metrics_listen.as_ref());
    let agent = user_agent(&loaded.configuration);
    let mode = mode(arguments, &loaded.configuration);
    blocking(async move {
        let stop = shutdown::on_signals()?;
        let metrics_readers = if is_secure { Some(metrics_readers(&agent).await?) } else { None };
        let authentication = Some(authentication(mode, &loaded.configuration, &agent, &registry).await?);
        let settings = Settings { metrics_readers, authentication, ..settings };
        Ok(serve::serve(settings, registry, stop).await?)
    })
}

/// Copies a ledger in SQLite.
pub(super) fn back_up(arguments: &PlacementArguments, file: &Path) -> Result<(), Error> {
    let database = database(arguments, &config::load(&files(arguments), false)?.configuration)?;
    let from = database.file("backup", "use pg_dump").map_err(ServeError::from)?;
    sqlite::backup(from, file).map_err(ServeError::from)?;
    output::print(&format!("{} holds a copy of {}\n", file.display(), from.display()))
}

/// Asks the running server to compare.
pub(super) fn compare(arguments: &PlacementArguments) -> Result<(), Error> {
    let configuration = config::load(&files(arguments), false)?.configuration;
    let address = metrics_address(arguments, &configuration)?.ok_or_else(refuse_metrics_address)?;
    blocking(check(address))
}

/// Where metrics and probes are served; `None`: nowhere.
pub(super) fn metrics_address(
    arguments: &PlacementArguments,
    configuration: &Configuration,
) -> Result<Option<Address>, HttpError> {
    Address::from_flag(arguments.metrics_listen.as_ref().unwrap_or(&configuration.placement.metrics_listen))
}

fn refuse_metrics_address() -> Error {
    Error::Wrong("a server without --metrics-listen cannot be asked; start it with an address".to_owned())
}

fn blocking(work: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|source| Error::Runtime { source })?.block_on(work)
}

pub(super) fn database(arguments: &PlacementArguments, configuration: &Configuration) -> Result<Database, Error> {
    let keys = &configuration.placement;
    let file_of_keys = keys.database_file.as_deref().filter(|_| arguments.database.is_none());
    let from_file = arguments.database_file.as_deref().or(file_of_keys).map(read_database_file).transpose()?;
    let text = from_file.as_ref().or(arguments.database.as_ref()).unwrap_or(&keys.database);
    Ok(text.parse().map_err(|error: LedgerError| ServeError::from(error))?)
}

/// The first line of the file.
fn read_database_file(path: &Path) -> Result<String, Error> {
    let wrong = |why: String| Error::Wrong(format!("--database-file {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        Err(wrong("is empty; write the URL of the database into it".to_owned()))
    } else {
        Ok(line.to_owned())
    }
}

pub(super) fn settings(arguments: &PlacementArguments, configuration: &Configuration) -> Result<Settings, Error> {
    let keys = &configuration.placement;
    let listen = arguments.listen.as_ref().unwrap_or(&keys.listen);
    let is_authenticated = mode(arguments, configuration) == AuthMode::Keystone;
    let access = Access::new(is_authenticated, arguments.insecure_api.unwrap_or(keys.insecure_api));
    let listen: Address = listen.parse()?;
    let enforce = arguments.enforce_new_defaults.unwrap_or(keys.enforce_new_defaults);
    let policy_file = arguments.policy_file.as_ref().or(keys.policy_file.as_ref());
    let policy_file = policy_file.or(configuration.auth.policy_file.as_ref());
    let origins = arguments.cors_origin.clone().unwrap_or_else(|| keys.cors_origin.clone());
    let headers = arguments.cors_headers.as_ref().unwrap_or(&keys.cors_headers);
    Ok(Settings {
        listen: access.choose_address(API, Some(listen.clone()), listen, UNLESS_OPEN)?.into_address(),
        metrics_listen: metrics_address(arguments, configuration)?,
        metrics_readers: None,
        tls: TlsInForce::open(&configuration.tls).map_err(HttpError::from)?,
        connections: configuration.http.max_connections,
        trusted_peers: configuration.http.trusted_peers.clone(),
        database: database(arguments, configuration)?,
        authentication: None,
        access,
        policies: policy_file::read(policy::defaults(enforce), policy_file.map(AsRef::as_ref))?,
        cors: Cors::new(origins, headers),
        generation: generation(arguments, keys),
        randomize: arguments.randomize_allocation_candidates.unwrap_or(keys.randomize_allocation_candidates),
    })
}

/// Whether the metrics are for callers that the API server knows. On loopback, where no API server need be, only if that is
/// wanted.
pub(super) fn has_secure_metrics(
    arguments: &PlacementArguments,
    configuration: &Configuration,
    listen: Option<&Address>,
) -> bool {
    let wanted = arguments.metrics_secure.or(configuration.placement.metrics_secure);
    listen.is_some_and(|address| wanted.unwrap_or(!address.is_loopback()))
}

/// Those whom the API server allows to read; it need not answer yet.
async fn metrics_readers(user_agent: &str) -> Result<Arc<dyn Authorizer>, Error> {
    let home = Cluster::unreached(None, user_agent).await.map_err(|source| Error::NoReaders { source })?;
    let callers = Callers::unreached();
    callers.ask(&home);
    Ok(Arc::new(callers))
}

/// A number beyond the bound that always holds changes nothing.
fn generation(arguments: &PlacementArguments, keys: &Placement) -> GenerationOptions {
    let usual = GenerationOptions::default();
    let strategy = arguments.allocation_candidates_generation_strategy;
    let most = arguments.max_allocation_candidates.unwrap_or(keys.max_allocation_candidates);
    GenerationOptions {
        breadth_first: strategy.map_or(keys.breadth_first, |chosen| chosen == GenerationStrategy::BreadthFirst),
        most_requests: usize::try_from(most).map_or(usual.most_requests, |most| most.min(usual.most_requests)),
        ..usual
    }
}

/// The flag or its variable, then the key of Placement, then that of all APIs, whose default depends on the credentials.
pub(super) fn mode(arguments: &PlacementArguments, configuration: &Configuration) -> AuthMode {
    let flag = arguments.auth.map(|auth| match auth {
        PlacementAuth::Noauth2 => AuthMode::NoAuth2,
        PlacementAuth::Off => AuthMode::Off,
        PlacementAuth::Keystone => AuthMode::Keystone,
    });
    flag.or(configuration.placement.auth).unwrap_or(configuration.auth.mode)
}

async fn authentication(
    mode: AuthMode,
    configuration: &Configuration,
    user_agent: &str,
    registry: &Metrics,
) -> Result<Arc<dyn Authentication>, Error> {
    match mode {
        AuthMode::NoAuth2 => tracing::warn!(
            "noauth2 is no authentication; every client of the Placement API has the rights that it asks for"
        ),
        AuthMode::Off => {
            tracing::warn!("authentication is off; every client of the Placement API has all rights");
        }
        AuthMode::Keystone => tracing::info!("callers of the Placement API show tokens of keystone"),
    }
    let is_in_secret = configuration.common.keystone.is_some();
    let clusters = if mode == AuthMode::Keystone && is_in_secret { Some(secrets(user_agent).await?) } else { None };
    let surroundings: (Arc<dyn Clock>, _) = (Arc::new(SystemClock), TokenMetrics::register(registry)?);
    wiring::authentication(mode, configuration, clusters.as_ref(), surroundings)
}

/// The cluster with the Secrets; it need not answer yet.
async fn secrets(user_agent: &str) -> Result<Clusters, Error> {
    let home = Cluster::unreached(None, user_agent).await.map_err(|source| Error::NoSecrets { source })?;
    Ok(home.into())
}

/// Asks the server at the address of its metrics.
async fn check(address: Address) -> Result<(), Error> {
    let address = Address { host: Some(address.host.unwrap_or_else(|| "127.0.0.1".to_owned())), ..address };
    let asked = timeout(CHECK, asked(&address)).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let answer = asked.map_err(|source| Error::NoServer { address: address.to_string(), source })?;
    // One answer on a connection that is closed: what follows its head is the body.
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    if answer.starts_with("HTTP/1.0 400") || answer.starts_with("HTTP/1.1 400") {
        let why =
            "answers local callers only; run this where the server runs, with a --metrics-listen on loopback or :port";
        return Err(Error::Wrong(format!("{address} {why}")));
    }
    let answer: Value = serde_json::from_str(body).map_err(|_| {
        Error::Wrong(format!("{address} is not a server of the Placement API; pass its --metrics-listen"))
    })?;
    if let Some(why) = answer.get("error").and_then(Value::as_str) {
        return Err(Error::Wrong(why.to_owned()));
    }
    let differences = answer.get("differences").and_then(Value::as_array);
    let lines: Vec<&str> = differences.into_iter().flatten().filter_map(Value::as_str).collect();
    if lines.is_empty() {
        return output::print("The model and the database agree.\n");
    }
    output::print(&(lines.join("\n") + "\n"))?;
    Err(Error::Wrong(counted(lines.len(), "difference")))
}

async fn asked(address: &Address) -> io::Result<String> {
    let mut stream = TcpStream::connect(address.to_string()).await?;
    stream.write_all(format!("GET /check HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::args::{Arguments, Command};

    fn arguments(flags: &[&str]) -> Result<PlacementArguments, String> {
        let all = [&["berth", "placement"], flags].concat();
        match Arguments::try_parse_from(all).map_err(|error| error.to_string())?.command {
            Command::Placement(arguments) => Ok(*arguments),
            _ => panic!("{flags:?}"),
        }
    }

    #[test]
    fn the_url_of_the_database_can_be_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let flag = format!("--database-file={}", file.path().display());
        let opened = || {
            let keys = json!({ "placement": { "database": "other.db" } });
            let loaded = config::decode(keys.as_object().unwrap(), true).unwrap();
            database(&arguments(&[&flag]).unwrap(), &loaded.configuration).map_err(|error| error.to_string())
        };
        assert!(opened().unwrap_err().ends_with("is empty; write the URL of the database into it"));
        fs::write(file.path(), "postgres://berth:p@db/placement\n").unwrap();
        assert_eq!(opened().unwrap(), Database::Postgres("postgres://berth:p@db/placement".to_owned()));
        fs::write(file.path(), "mysql://berth:secret@db/placement").unwrap();
        let refused = opened().unwrap_err();
        assert!(refused.contains("mysql://berth:********@db/placement") && !refused.contains("secret"), "{refused}");
        assert!(arguments(&[&flag, "--database=a.db"]).unwrap_err().contains("cannot be used with"));
        fs::write(file.path(), "key.db").unwrap();
        let keys = json!({ "placement": { "databaseFile": file.path() } });
        let loaded = config::decode(keys.as_object().unwrap(), true).unwrap();
        let opened = |flags: &[&str]| database(&arguments(flags).unwrap(), &loaded.configuration).unwrap().to_string();
        assert_eq!((opened(&[]), opened(&["--database=a.db"])), ("key.db".to_owned(), "a.db".to_owned()));
    }

    #[test]
    fn the_mode_is_that_of_the_flag_then_of_the_keys_and_then_follows_from_the_credentials() {
        let chosen = |flags: &[&str], keys: Value| {
            let loaded = config::decode(keys.as_object().unwrap(), false).unwrap();
            mode(&arguments(flags).unwrap(), &loaded.configuration)
        };
        let secret = json!({ "name": "keystone", "namespace": "berth" });
        let keys =
            json!({ "keystoneSecretRef": secret, "auth": { "mode": "off" }, "placement": { "auth": "noauth2" } });
        assert_eq!(chosen(&["--auth=keystone"], keys.clone()), AuthMode::Keystone);
        assert_eq!(chosen(&[], keys), AuthMode::NoAuth2);
        assert_eq!(chosen(&[], json!({ "keystoneSecretRef": secret, "auth": { "mode": "off" } })), AuthMode::Off);
        assert_eq!(chosen(&[], json!({ "keystoneSecretRef": secret })), AuthMode::Keystone);
        let keys = json!({ "keystoneURL": "http://id", "osUsername": "u", "osPassword": "p" });
        assert_eq!(chosen(&[], keys.clone()), AuthMode::Keystone);
        assert_eq!(chosen(&["--auth=off"], keys), AuthMode::Off);
        assert_eq!(chosen(&[], json!({})), AuthMode::Off);
    }

    #[tokio::test]
    async fn authentication_by_keystone_needs_credentials() {
        let registry = Metrics::new(&std::collections::BTreeMap::new()).unwrap();
        let none = authentication(AuthMode::Keystone, &Configuration::default(), "berth", &registry).await;
        assert!(matches!(none, Err(Error::NoKeystone)));
    }

    #[test]
    fn the_policy_file_of_all_apis_counts_if_placement_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "not a rule").unwrap();
        let read = |keys: Value| {
            let loaded = config::decode(keys.as_object().unwrap(), true).unwrap();
            settings(&arguments(&[]).unwrap(), &loaded.configuration).map(|_| ()).map_err(|error| error.to_string())
        };
        let refused = read(json!({ "auth": { "policyFile": file.path() } })).unwrap_err();
        assert!(refused.contains("is not a map of rule names"), "{refused}");
        let none = tempfile::NamedTempFile::new().unwrap();
        let keys = json!({ "auth": { "policyFile": file.path() }, "placement": { "policyFile": none.path() } });
        assert_eq!(read(keys), Ok(()));
    }

    fn generated(flags: &[&str], keys: &Value) -> GenerationOptions {
        let arguments = arguments(flags).unwrap();
        let values = json!({ "placement": keys });
        let loaded = config::decode(values.as_object().unwrap(), true).unwrap();
        let settings = settings(&arguments, &loaded.configuration).unwrap();
        let shuffle = settings.randomize.then_some(0);
        GenerationOptions { shuffle, ..settings.generation }
    }

    #[test]
    fn generation_is_as_flags_say_before_keys() {
        let usual = GenerationOptions::default();
        assert_eq!(generated(&[], &json!({})), usual);
        let keys = json!({
            "randomizeAllocationCandidates": true,
            "allocationCandidatesGenerationStrategy": "breadth-first",
            "maxAllocationCandidates": 10,
        });
        let chosen = GenerationOptions { shuffle: Some(0), breadth_first: true, most_requests: 10, ..usual };
        assert_eq!(generated(&[], &keys), chosen);
        let flags = [
            "--randomize-allocation-candidates=false",
            "--allocation-candidates-generation-strategy=depth-first",
            "--max-allocation-candidates",
            "-1",
        ];
        assert_eq!(generated(&flags, &keys), usual);
        assert_eq!(generated(&["--randomize-allocation-candidates"], &json!({})).shuffle, Some(0));
        for (most, expected) in [("0", 0), ("99999", 99_999), ("100001", 100_000)] {
            let flag = format!("--max-allocation-candidates={most}");
            assert_eq!(generated(&[&flag], &json!({})).most_requests, expected, "{most}");
        }
    }

    #[test]
    fn metrics_are_for_known_callers_unless_they_are_on_loopback_or_it_is_wanted_otherwise() {
        let is_secure = |flags: &[&str], keys: Value| {
            let values = json!({ "placement": keys });
            let loaded = config::decode(values.as_object().unwrap(), true).unwrap();
            let arguments = arguments(flags).unwrap();
            let listen = settings(&arguments, &loaded.configuration).unwrap().metrics_listen;
            has_secure_metrics(&arguments, &loaded.configuration, listen.as_ref())
        };
        assert!(!is_secure(&[], json!({})) && !is_secure(&["--metrics-listen=0", "--metrics-secure"], json!({})));
        for open in [":8779", "0.0.0.0:8779", "10.0.0.7:8779"] {
            let listen = format!("--metrics-listen={open}");
            assert!(is_secure(&[&listen], json!({})) && is_secure(&[&listen, "--metrics-secure"], json!({})));
            assert!(!is_secure(&[&listen, "--metrics-secure=false"], json!({})));
            assert!(!is_secure(&[&listen], json!({ "metricsSecure": false })));
        }
        assert!(is_secure(&["--metrics-secure"], json!({})) && is_secure(&[], json!({ "metricsSecure": true })));
        assert!(!is_secure(&["--metrics-secure=false"], json!({ "metricsSecure": true })));
    }

    #[test]
    fn generation_that_does_not_exist_is_refused() {
        for (flag, text) in [
            ("--max-allocation-candidates=-2", "write a whole number from 0 on, or -1 for no maximum"),
            ("--max-allocation-candidates=many", "write a whole number from 0 on, or -1 for no maximum"),
            ("--allocation-candidates-generation-strategy=wide", "depth-first, breadth-first"),
            ("--randomize-allocation-candidates=often", "true, false"),
        ] {
            let reported = Arguments::try_parse_from(["berth", "placement", flag]).unwrap_err().to_string();
            assert!(reported.contains(text), "{reported}");
        }
        for (key, value, text) in [
            ("maxAllocationCandidates", json!(-2), "write -1 or more"),
            ("allocationCandidatesGenerationStrategy", json!("wide"), r#"write "depth-first" or "breadth-first""#),
        ] {
            let values = json!({ "placement": { key: value } });
            let reported = config::decode(values.as_object().unwrap(), false).unwrap_err().to_string();
            assert!(reported.contains(text), "{reported}");
        }
    }
}
