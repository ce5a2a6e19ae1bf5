//! The names of methods and notifications.

/// Opens a legacy conversation.
pub const INITIALIZE: &str = "initialize";
/// Is anybody there? Legacy only.
pub const PING: &str = "ping";
/// What a modern server can do.
pub const DISCOVER: &str = "server/discover";
/// The tools there are.
pub const TOOLS_LIST: &str = "tools/list";
/// Runs a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Asks for change notifications. Modern only.
pub const LISTEN: &str = "subscriptions/listen";

/// Ends the legacy handshake.
pub const INITIALIZED: &str = "notifications/initialized";
/// Takes a request back.
pub const CANCELLED: &str = "notifications/cancelled";
/// How far a request has got.
pub const PROGRESS: &str = "notifications/progress";
/// The list of tools is another now.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// Which of the wanted notifications will come.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
