//! A listener on a loopback address for the redirect of the authorization endpoint (RFC 8252, section 7.3).

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
use crate::client::error::{AuthError, AuthStep};

const STEP: AuthStep = AuthStep::Authorization;
const PATH: &str = "/callback";
/// The most connections at once: browsers open more than they use.
const MAX_CONNECTIONS: usize = 16;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the browser may take to read the last response.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct RedirectListener {
    listener: TcpListener,
    redirect_uri: String,
    path: String,
}

impl RedirectListener {
    /// Listens at the configured redirect URI, else at the registered one if it is free, else at any free port.
    pub(super) async fn bind(configured: Option<&str>, registered: Option<&str>) -> Result<Self, AuthError> {
        if let Some(configured) = configured {
            return Self::at(configured).await;
        }
        if let Some(registered) = registered
            && let Ok(listener) = Self::at(registered).await
        {
            return Ok(listener);
        }
        Self::at(&format!("http://127.0.0.1:0{PATH}")).await
    }

    async fn at(redirect_uri: &str) -> Result<Self, AuthError> {
        let url = Url::parse(redirect_uri)
            .map_err(|_| AuthError::new(STEP, format!("the redirect URI {redirect_uri} is not a URL")))?;
        let ip: IpAddr = match url.host() {
            Some(Host::Ipv4(ip)) if ip.is_loopback() => ip.into(),
            Some(Host::Ipv6(ip)) if ip.is_loopback() => ip.into(),
            Some(Host::Domain("localhost")) => Ipv4Addr::LOCALHOST.into(),
            _ => {
                let problem = format!(
                    "the redirect URI {redirect_uri} is not on loopback: use http://127.0.0.1:8123{PATH}"
                );
                return Err(AuthError::new(STEP, problem));
            }
        };
        let address = SocketAddr::from((ip, url.port().unwrap_or(80)));
        let failed = |e: std::io::Error| AuthError::new(STEP, format!("cannot listen on {address}: {e}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let redirect_uri = match url.port() {
            Some(0) => format!("http://127.0.0.1:{port}{}", url.path()),
            _ => redirect_uri.to_owned(),
        };
        Ok(Self { listener, redirect_uri, path: url.path().to_owned() })
    }

    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits for the redirect with this `state`. Other requests get an error page.
    pub(super) async fn wait(self, state: &str) -> Result<Redirect, AuthError> {
        let (found, mut redirects) = mpsc::channel::<Redirect>(1);
        let page = Arc::new(Page { path: self.path, state: state.to_owned(), found });
        let mut connections = JoinSet::new();
        let redirect = loop {
            tokio::select! {
                Some(redirect) = redirects.recv() => break redirect,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted
                        .map_err(|e| AuthError::new(STEP, format!("cannot receive the redirect: {e}")))?;
                    let page = page.clone();
                    connections.spawn(async move {
                        let service = service_fn(move |request| {
                            let response = page.respond(&request);
                            async move { Ok::<_, Infallible>(response) }
                        });
                        let served = hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEADER_TIMEOUT)
                            .keep_alive(false)
                            .max_buf_size(64 * 1024)
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                        if let Err(e) = served {
                            tracing::debug!("a connection to the redirect URI: {e}");
                        }
                    });
                }
            }
        };
        // The browser should get its response before the listener is gone.
        let finished = async { while connections.join_next().await.is_some() {} };
        drop(tokio::time::timeout(CLOSE_TIMEOUT, finished).await);
        Ok(redirect)
    }
}

struct Page {
    path: String,
    state: String,
    found: mpsc::Sender<Redirect>,
}

impl Page {
    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET || request.uri().path() != self.path {
            return page(StatusCode::NOT_FOUND, "Not found.");
        }
        let redirect = Redirect::from_query(request.uri().query().unwrap_or_default());
        if redirect.get("state") != Some(&self.state) {
            return page(
                StatusCode::BAD_REQUEST,
                "This response belongs to another authorization request. Please start again.",
            );
        }
        let refused = redirect.has("error");
        if self.found.try_send(redirect).is_err() {
            return page(StatusCode::GONE, "The response was received already.");
        }
        if refused {
            return page(StatusCode::OK, "Access was not granted. You can close this page.");
        }
        page(StatusCode::OK, "Done. You can close this page and go back to the program.")
    }
}

fn page(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let html = format!("<!doctype html><meta charset=utf-8><title>papertape</title><p>{text}\n");
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // The URL of the page has the code: nothing may be loaded from the page, and no referrer sent.
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
