//! Without the feature `otel` nothing is exported.

use tracing_subscriber::layer::Identity;

use crate::args::{Args, Command};
use crate::exit::Failure;

pub(crate) struct Telemetry;

impl Telemetry {
    #[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
    pub(crate) fn start(_: &Args) -> Result<Self, Failure> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    pub(crate) fn layer(&self) -> Option<Identity> {
        None
    }

    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    pub(crate) fn within<T>(&self, command: Command, run: impl FnOnce(Command) -> T) -> T {
        run(command)
    }

    pub(crate) fn end(self) {}
}
