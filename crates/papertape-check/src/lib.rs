//! What is wrong with an MCP server, with the bytes that prove it.
//!
//! A server is driven through everything that a host may do with it, and what it wrote is inspected: each problem becomes a
//! [`Finding`] with a stable [`Code`], its cause, the bytes that prove it, what to do, and which hosts, SDKs and model APIs
//! break on it.
//!
//! - `code`: every kind of finding, with its page of documentation
//! - `finding`, `evidence`: one problem, and what proves it
//! - `hosts`: what hosts, SDKs and model APIs accept, read from `hosts.toml`
//! - `stdio`: a server process, every byte of it, and a session that goes on after a fault
//! - `drive`: what is tried with it, a process for each way to open it, and what each of them did
//! - `inspect`: from there to findings; `banner`: what libraries are known to print, read from `banners.toml`
//! - `check`: all of it, in order
//! - `definitions`: what is wrong with listed tools, resources and prompts
//! - `portability`: what is valid and not accepted everywhere, by the rules of `hosts.toml`
//! - `http`: the check of a server at a URL
//! - `recorded`: the check of a recording, by the same inspections
//! - `report`: all findings about a server, most important first

mod banner;
mod check;
mod code;
mod definitions;
mod drive;
mod evidence;
mod finding;
mod hosts;
mod http;
mod inspect;
mod options;
mod portability;
mod recorded;
mod report;
mod stdio;

pub use check::check_stdio;
pub use code::Code;
pub use evidence::{Evidence, Stream};
pub use finding::{Finding, Severity};
pub use hosts::Affected;
pub use http::check_http;
pub use options::Options;
pub use recorded::{RecordedSession, check_recording};
pub use report::{CheckedServer, Report, ServerSummary};
