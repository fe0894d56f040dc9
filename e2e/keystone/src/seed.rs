//! What the database of every start contains: domains, projects, roles, users and services.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Error;
use crate::api::{Api, Login, Scope, text};

/// The password of every user, and the secret of the application credential.
pub const PASSWORD: &str = "s3cret";
/// The domain of the users and of [`PROJECT`].
pub const DOMAIN: &str = "Default";
/// The project in which each role has a user.
pub const PROJECT: &str = "service";
/// The roles. Each has a user of its name that has it in [`PROJECT`], with the roles that Keystone implies.
pub const ROLES: [&str; 7] =
    ["reader", "member", "manager", "service", "admin", "cloud_resource_admin", "cloud_resource_viewer"];
/// The user whom Keystone has created: it has the role `admin` in [`PROJECT`] and for the system.
pub const ADMIN: &str = "admin";
/// The user of Berth: `admin` and `service` in [`PROJECT`]. The application credential is its.
pub const BERTH: &str = "berth";
/// The domain, the project and the user of a customer, who has the role `member` there.
pub const CUSTOMER_DOMAIN: &str = "corp";
pub const CUSTOMER: &str = "customer";

const DEFAULT_DOMAIN: &str = "default";
const CLOUD_ROLES: [&str; 2] = ["cloud_resource_admin", "cloud_resource_viewer"];
const INTERFACES: [&str; 3] = ["public", "internal", "admin"];
/// Type, name and address of services. Nothing listens at these addresses.
const SERVICES: [(&str, &str, &str); 3] = [
    ("resources", "limes", "https://limes.example"),
    ("placement", "placement", "https://placement.example"),
    ("compute", "nova", "https://nova.example/v2.1/$(project_id)s"),
];

/// The IDs of what was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seeded {
    /// Those of domains and projects, by name.
    pub(crate) domains: BTreeMap<String, String>,
    pub(crate) projects: BTreeMap<String, String>,
    /// That of the application credential.
    pub(crate) credential: String,
}

/// The login of the administrator of everything.
pub fn administrator() -> Login<'static> {
    Login { user: ADMIN, user_domain: DOMAIN, password: PASSWORD, scope: Scope::System }
}

/// Creates everything in a Keystone that was just bootstrapped.
pub(crate) async fn seed(api: &Api) -> Result<Seeded, Error> {
    let token = api.log_in(&administrator()).await?;
    let seeder = Seeder { api, token };
    let corp = seeder.create("domain", &json!({ "name": CUSTOMER_DOMAIN })).await?;
    let service = seeder.create("project", &json!({ "name": PROJECT, "domain_id": DEFAULT_DOMAIN })).await?;
    let customer = seeder.create("project", &json!({ "name": CUSTOMER, "domain_id": corp })).await?;
    for name in CLOUD_ROLES {
        seeder.create("role", &json!({ "name": name })).await?;
    }
    let roles = seeder.ids("roles").await?;
    let mut users = seeder.ids("users").await?;
    for (user, domain, project, granted) in grants(&corp, &service, &customer) {
        if !users.contains_key(user) {
            users.insert(user.to_owned(), seeder.user(user, domain).await?);
        }
        seeder.grant(project, &users[user], &roles[granted]).await?;
    }
    for (kind, name, url) in SERVICES {
        seeder.service(kind, name, url).await?;
    }
    let credential = application_credential(api, &users[BERTH]).await?;
    let (domains, projects) = (seeder.ids("domains").await?, seeder.ids("projects").await?);
    Ok(Seeded { domains, projects, credential })
}

/// Creates a user with these roles in [`PROJECT`].
pub(crate) async fn add_user(api: &Api, name: &str, granted: &[&str]) -> Result<(), Error> {
    let seeder = Seeder { api, token: api.log_in(&administrator()).await? };
    let user = seeder.user(name, DEFAULT_DOMAIN).await?;
    let (projects, roles) = (seeder.ids("projects").await?, seeder.ids("roles").await?);
    for role in granted {
        seeder.grant(&projects[PROJECT], &user, &roles[*role]).await?;
    }
    Ok(())
}

pub(crate) async fn user_id(api: &Api, token: &str, name: &str) -> Result<String, Error> {
    let path = format!("/users?name={name}");
    let listed = api.call(&Method::GET, &path, token, None).await?;
    text(&path, &listed, "/users/0/id")
}

/// User, its domain, a project and a role that it has there.
fn grants<'a>(
    corp: &'a str,
    service: &'a str,
    customer: &'a str,
) -> impl Iterator<Item = (&'static str, &'a str, &'a str, &'static str)> {
    let by_role = ROLES.into_iter().map(move |role| (role, DEFAULT_DOMAIN, service, role));
    let berth = ["admin", "service"].into_iter().map(move |role| (BERTH, DEFAULT_DOMAIN, service, role));
    by_role.chain(berth).chain([(CUSTOMER, corp, customer, "member")])
}

struct Seeder<'a> {
    api: &'a Api,
    token: String,
}

impl Seeder<'_> {
    async fn create(&self, kind: &str, members: &Value) -> Result<String, Error> {
        self.api.create(&format!("/{kind}s"), &self.token, &json!({ kind: members })).await
    }

    async fn user(&self, name: &str, domain: &str) -> Result<String, Error> {
        self.create("user", &json!({ "name": name, "domain_id": domain, "password": PASSWORD })).await
    }

    async fn grant(&self, project: &str, user: &str, role: &str) -> Result<(), Error> {
        let path = format!("/projects/{project}/users/{user}/roles/{role}");
        self.api.call(&Method::PUT, &path, &self.token, None).await.map(drop)
    }

    async fn service(&self, kind: &str, name: &str, url: &str) -> Result<(), Error> {
        let service = self.create("service", &json!({ "type": kind, "name": name })).await?;
        for interface in INTERFACES {
            let endpoint =
                json!({ "service_id": service, "interface": interface, "url": url, "region_id": "region-1" });
            self.create("endpoint", &endpoint).await?;
        }
        Ok(())
    }

    /// The IDs of all objects of a kind by their names.
    async fn ids(&self, kinds: &str) -> Result<BTreeMap<String, String>, Error> {
        let path = format!("/{kinds}");
        let listed = self.api.call(&Method::GET, &path, &self.token, None).await?;
        let objects = listed[kinds].as_array().map(Vec::as_slice).unwrap_or_default();
        objects.iter().map(|one| Ok((text(&path, one, "/name")?, text(&path, one, "/id")?))).collect()
    }
}

/// Only a user itself can create an application credential of its.
async fn application_credential(api: &Api, berth: &str) -> Result<String, Error> {
    let scope = Scope::Project { name: PROJECT, domain: DOMAIN };
    let token = api.log_in(&Login { user: BERTH, user_domain: DOMAIN, password: PASSWORD, scope }).await?;
    let credential = json!({ "application_credential": { "name": BERTH, "secret": PASSWORD } });
    api.create(&format!("/users/{berth}/application_credentials"), &token, &credential).await
}
