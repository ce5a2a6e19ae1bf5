//! Findings about definitions: PT04xx.

codes! {}
