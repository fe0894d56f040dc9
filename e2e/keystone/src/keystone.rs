//! The lifecycle of a Keystone, and what tests do with it.

use std::sync::{Arc, Weak};

use berth_control_plane::{Daemon, FromRefused as _, ReservedPort, copy_folder};
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::api::{Api, Login};
use crate::base::Base;
use crate::server::{self, Settings};
use crate::{Error, seed};

/// A Keystone; it is killed when this value is dropped, and its data removed.
#[derive(Debug)]
pub struct Keystone {
    daemon: Option<Daemon>,
    base: Base,
    folder: TempDir,
    port: ReservedPort,
    api: Api,
}

impl Keystone {
    /// Only finds or creates what every start is made of.
    pub async fn prepare() -> Result<(), Error> {
        Base::obtain().await.map(drop)
    }

    /// The Keystone that all tests share that run at the same time in this process. They must not change what others use.
    pub async fn shared() -> Result<Arc<Self>, Error> {
        static SHARED: Mutex<Weak<Keystone>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(keystone) = shared.upgrade() {
            return Ok(keystone);
        }
        let keystone = Arc::new(Self::start(&Settings::default()).await?);
        *shared = Arc::downgrade(&keystone);
        Ok(keystone)
    }

    /// Starts one; returns when it answers.
    pub async fn start(settings: &Settings) -> Result<Self, Error> {
        let base = Base::obtain().await?;
        let folder = tempfile::tempdir().map_err(Error::io("create a folder for Keystone"))?;
        copy_folder(&base.folder, folder.path())?;
        let port = ReservedPort::new()?;
        server::configure(folder.path(), port.number(), settings)?;
        let api = Api::new(&url(&port))?;
        let mut keystone = Self { daemon: None, base, folder, port, api };
        keystone.restart().await?;
        Ok(keystone)
    }

    /// Kills it. Its port stays reserved, and refuses connections.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// Starts it again at the same address, with the data that it had; a running one is killed first.
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        let daemon = server::start(&self.base.python, self.folder.path(), self.port.number(), &self.api).await?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// The address of version 3.
    pub fn url(&self) -> String {
        url(&self.port)
    }

    /// The address without a version.
    pub fn root_url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port.number())
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    /// A new token.
    pub async fn token(&self, login: &Login<'_>) -> Result<String, Error> {
        self.api.log_in(login).await
    }

    /// The ID of a domain of this name.
    pub fn domain(&self, name: &str) -> Option<&str> {
        self.base.seeded.domains.get(name).map(String::as_str)
    }

    /// The ID of a project of this name.
    pub fn project(&self, name: &str) -> Option<&str> {
        self.base.seeded.projects.get(name).map(String::as_str)
    }

    /// The ID of the application credential of [`seed::BERTH`]; its secret is [`seed::PASSWORD`].
    pub fn application_credential(&self) -> &str {
        &self.base.seeded.credential
    }

    /// Creates a user like [`seed::BERTH`], for a test that changes it.
    pub async fn add_user(&self, name: &str, roles: &[&str]) -> Result<(), Error> {
        seed::add_user(&self.api, name, roles).await
    }

    /// Changes the password of a user, which revokes its tokens.
    pub async fn set_password(&self, user: &str, password: &str) -> Result<(), Error> {
        let token = self.token(&seed::administrator()).await?;
        let id = seed::user_id(&self.api, &token, user).await?;
        let body = json!({ "user": { "password": password } });
        self.api.call(&Method::PATCH, &format!("/users/{id}"), &token, Some(&body)).await.map(drop)
    }
}

fn url(port: &ReservedPort) -> String {
    format!("http://127.0.0.1:{}/v3", port.number())
}
