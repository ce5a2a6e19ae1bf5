//! Each program runs as its users run it: as a process, over stdio or HTTP, called by a client.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod agent;
mod axum;
mod elicitation;
mod mcp_json;
mod middleware;
mod notes;
mod proxy;
mod run;
mod several_servers;
mod several_transports;
mod task;
mod telemetry;
mod typed_tools;
