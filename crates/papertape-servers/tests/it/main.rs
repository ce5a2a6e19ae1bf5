//! The bundled servers as a client meets them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod all;
mod blog;
mod drill;
mod offers;
mod servers;

use std::path::PathBuf;

use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use papertape::wire::RpcError;
use papertape::{Client, Server, memory};

/// A client of a server in memory, which speaks that revision.
async fn open(server: Server, revision: Revision, options: ClientOptions) -> Client {
    memory::connect_with(server, options.revision(revision)).await.unwrap()
}

/// The error of a request: its code and message.
fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (i64, String) {
    let refused = refused(result);
    (refused.code, refused.message)
}

/// The same with its data.
fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>) -> RpcError {
    let error = result.unwrap_err();
    match error.kind() {
        ErrorKind::Rpc(rpc) => rpc.clone(),
        other => panic!("{other}"),
    }
}

/// An empty directory for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
