//! Findings about HTTP: PT08xx.

codes! {}
