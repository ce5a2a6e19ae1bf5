//! Findings about behaviour: PT06xx.

codes! {}
