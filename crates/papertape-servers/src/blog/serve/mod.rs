//! The library as an MCP server: two tools, a resource for each file, a prompt.
