//! The client: a flow between a protected resource and its authorization server, which behave unless a test overrides a response.

mod browser;
mod deployment;
mod discovery;
mod dpop;
mod grants;
mod issuers;
mod scopes;
mod stub_server;
mod token_file;
mod tokens;
