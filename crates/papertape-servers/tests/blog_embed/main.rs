//! Embedders against services that misbehave on real sockets, and against the folder of a real model.

mod model;
