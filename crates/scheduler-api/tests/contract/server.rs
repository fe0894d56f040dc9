//! A scheduler behind HTTP: the least that the protocol asks of a server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Bytes, http::StatusCode, response::IntoResponse as _, response::Response, routing::post};
use berth_scheduler::{BuiltIn, Call, SchedulerError};
use berth_scheduler_api::wire;
use tokio::net::TcpListener;

/// A listening server.
pub struct Server {
    scheduler: Arc<BuiltIn>,
    address: SocketAddr,
}

impl Server {
    pub async fn start(scheduler: Arc<BuiltIn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answering = scheduler.clone();
        let route = post(move |body: Bytes| async move { answer(&answering, &body) });
        let router = Router::new().route("/scheduler/nova/external", route);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { scheduler, address }
    }

    pub fn scheduler(&self) -> &BuiltIn {
        &self.scheduler
    }

    pub fn url(&self) -> String {
        format!("http://{}/scheduler/nova/external", self.address)
    }
}

fn answer(scheduler: &BuiltIn, body: &[u8]) -> Response {
    let request = match wire::decode(body) {
        Ok(incoming) => incoming.request,
        Err(_) => return (StatusCode::BAD_REQUEST, "failed to decode request body\n").into_response(),
    };
    let call = Call { request: &request, now: Duration::ZERO, chance: 0, guest: None, stopwatch: None };
    match scheduler.answer(&call) {
        Ok(answer) => wire::encode_answer(&answer).into_response(),
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &SchedulerError) -> Response {
    let code = match error {
        SchedulerError::Inference(_) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
        SchedulerError::Pipeline(_) => StatusCode::NOT_FOUND,
        SchedulerError::Options(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (code, format!("failed to process scheduling decision: {error}\n")).into_response()
}
