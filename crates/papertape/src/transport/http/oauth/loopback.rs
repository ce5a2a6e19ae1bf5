//! The place on this machine that browsers are sent back to.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::{Host, Url};

use super::browser::Redirect;
use super::error::{AuthError, AuthStep};

const STEP: AuthStep = AuthStep::Authorization;
const PATH: &str = "/callback";
/// Browsers open more connections than they use.
const CONNECTIONS: usize = 16;
const HEADERS: Duration = Duration::from_secs(10);
const GOODBYE: Duration = Duration::from_secs(2);

/// A listener for one redirect.
#[derive(Debug)]
pub(crate) struct Loopback {
    listener: TcpListener,
    redirect_uri: String,
    path: String,
}

impl Loopback {
    /// Listens where the caller wants, or where it did when the client was registered, or anywhere.
    pub(crate) async fn bind(wanted: Option<&str>, before: Option<&str>) -> Result<Self, AuthError> {
        if let Some(wanted) = wanted {
            return Self::at(wanted).await;
        }
        if let Some(before) = before
            && let Ok(listener) = Self::at(before).await
        {
            return Ok(listener);
        }
        Self::at(&format!("http://127.0.0.1:0{PATH}")).await
    }

    async fn at(redirect_uri: &str) -> Result<Self, AuthError> {
        let url = Url::parse(redirect_uri)
            .map_err(|_| AuthError::new(STEP, format!("the redirect URI {redirect_uri} is not a URL")))?;
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) if ip.is_loopback() => SocketAddr::from((ip, url.port().unwrap_or(80))),
            Some(Host::Ipv6(ip)) if ip.is_loopback() => {
                SocketAddr::from((Ipv6Addr::LOCALHOST, url.port().unwrap_or(80)))
            }
            Some(Host::Domain("localhost")) => {
                SocketAddr::from((Ipv4Addr::LOCALHOST, url.port().unwrap_or(80)))
            }
            _ => {
                return Err(AuthError::new(
                    STEP,
                    format!("nobody can listen at {redirect_uri}: take one like http://127.0.0.1:8123{PATH}"),
                ));
            }
        };
        let lost = |e: std::io::Error| AuthError::new(STEP, format!("cannot listen at {ip}: {e}"));
        let listener = TcpListener::bind(ip).await.map_err(lost)?;
        let port = listener.local_addr().map_err(lost)?.port();
        let redirect_uri = match url.port() {
            Some(0) => format!("http://127.0.0.1:{port}{}", url.path()),
            _ => redirect_uri.to_owned(),
        };
        Ok(Self { listener, redirect_uri, path: url.path().to_owned() })
    }

    pub(crate) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits for the redirect that belongs to a state. Others are told so and change nothing.
    pub(crate) async fn wait(self, state: &str) -> Result<Redirect, AuthError> {
        let (found, mut finds) = mpsc::channel::<Redirect>(1);
        let page = Arc::new(Page { path: self.path, state: state.to_owned(), found });
        let mut connections = JoinSet::new();
        let redirect = loop {
            tokio::select! {
                Some(redirect) = finds.recv() => break redirect,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    let (stream, _) = accepted
                        .map_err(|e| AuthError::new(STEP, format!("the redirect cannot be received: {e}")))?;
                    let page = page.clone();
                    connections.spawn(async move {
                        let service = service_fn(move |request| {
                            let answer = page.answer(&request);
                            async move { Ok::<_, Infallible>(answer) }
                        });
                        let served = hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEADERS)
                            .keep_alive(false)
                            .max_buf_size(64 * 1024)
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                        if let Err(e) = served {
                            tracing::debug!("a visitor at the redirect URI: {e}");
                        }
                    });
                }
            }
        };
        // The browser should see the answer before the place is gone.
        let goodbye = async { while connections.join_next().await.is_some() {} };
        drop(tokio::time::timeout(GOODBYE, goodbye).await);
        Ok(redirect)
    }
}

struct Page {
    path: String,
    state: String,
    found: mpsc::Sender<Redirect>,
}

impl Page {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET || request.uri().path() != self.path {
            return respond(StatusCode::NOT_FOUND, "There is nothing here.");
        }
        let redirect = Redirect::from_query(request.uri().query().unwrap_or_default());
        if redirect.get("state") != Some(&self.state) {
            return respond(
                StatusCode::BAD_REQUEST,
                "This answer belongs to another question. Please begin again.",
            );
        }
        let refused = redirect.has("error");
        if self.found.try_send(redirect).is_err() {
            return respond(StatusCode::GONE, "This was answered already.");
        }
        if refused {
            return respond(StatusCode::OK, "The permission was not given. You can close this page.");
        }
        respond(StatusCode::OK, "Done. You can close this page and go back to the program.")
    }
}

fn respond(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    let page = format!("<!doctype html><meta charset=utf-8><title>papertape</title><p>{words}\n");
    let mut response = Response::new(Full::new(Bytes::from(page)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // The address of the page has the code in it: nothing may be loaded from it or told about it.
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
