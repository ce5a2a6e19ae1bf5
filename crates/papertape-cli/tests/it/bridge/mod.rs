//! `papertape bridge`: hosts and servers of different revisions, framings and transports, as processes.

mod filters;
mod host;
mod http;
mod pass_through;
mod passing;
mod requests_of_servers;
mod several;

use host::Host;
