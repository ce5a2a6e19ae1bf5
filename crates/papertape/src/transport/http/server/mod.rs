//! A server on HTTP: a request to a message, and what answers it to a response.
