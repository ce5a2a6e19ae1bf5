//! Findings about shutdown: PT07xx.

codes! {}
