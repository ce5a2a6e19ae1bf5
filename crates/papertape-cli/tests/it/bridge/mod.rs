//! `papertape bridge`: hosts and servers of different revisions, framings and transports, as processes.

mod host;
mod requests_of_servers;

use host::Host;
