//! Findings about opening: PT03xx.

codes! {}
