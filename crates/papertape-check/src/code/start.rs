//! Findings about start: PT02xx.

codes! {}
