//! Embedders against services that misbehave on real sockets, and against the directories of models.

#[cfg(feature = "local-models")]
mod folder;
#[cfg(feature = "local-models")]
mod model;
mod services;
mod stub;
#[cfg(feature = "local-models")]
mod tiny;
