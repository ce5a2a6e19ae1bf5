//! Recording every frame, both ways, as text: the format is in [`wire::tape`](crate::wire::tape).

pub use crate::transport::{Frame, create_tape as create};
