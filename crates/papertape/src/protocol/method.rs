//! The names of methods and notifications.

/// Opens a session. Session-based revisions only.
pub const INITIALIZE: &str = "initialize";
/// Checks that the peer responds. Session-based revisions only.
pub const PING: &str = "ping";
/// The revisions, capabilities and identity of a server. Stateless revisions only.
pub const DISCOVER: &str = "server/discover";
/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Lists resource templates.
pub const TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Subscribes to updates of a resource. Session-based revisions only.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// Ends such a subscription. Session-based revisions only.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Gets a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Completes an argument.
pub const COMPLETE: &str = "completion/complete";
/// Elicitation: requests input from the user, as a form or a URL.
pub const ELICIT: &str = "elicitation/create";
/// Sampling: requests a message from the client's model.
pub const SAMPLE: &str = "sampling/createMessage";
/// Lists roots.
pub const ROOTS_LIST: &str = "roots/list";
/// Gets the status of a task. An extension.
pub const TASKS_GET: &str = "tasks/get";
/// Provides input to a task. An extension.
pub const TASKS_UPDATE: &str = "tasks/update";
/// Cancels a task. An extension.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// Lists skills. An extension.
pub const SKILLS_LIST: &str = "skills/list";
/// Gets a skill. An extension.
pub const SKILLS_GET: &str = "skills/get";
/// Lists a directory of resources. Part of the same extension.
pub const DIRECTORY_READ: &str = "resources/directory/read";
/// Sets the minimum level of log messages. Session-based revisions only.
pub const SET_LEVEL: &str = "logging/setLevel";
/// Subscribes to change notifications. Stateless revisions only.
pub const LISTEN: &str = "subscriptions/listen";

/// Announces that the client has other roots.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
/// Ends the handshake that `initialize` begins.
pub const INITIALIZED: &str = "notifications/initialized";
/// Cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// The progress of a request.
pub const PROGRESS: &str = "notifications/progress";
/// The list of tools has changed.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// The list of prompts has changed.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The list of resources has changed.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource has changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// A log message.
pub const LOG_MESSAGE: &str = "notifications/message";
/// The status of a task has changed. An extension.
pub const TASK_CHANGED: &str = "notifications/tasks";
/// Acknowledges a subscription, with the part of its filter that the server supports.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The requests that clients send.
pub const ALL: [&str; 21] = [
    INITIALIZE,
    PING,
    DISCOVER,
    TOOLS_LIST,
    TOOLS_CALL,
    RESOURCES_LIST,
    TEMPLATES_LIST,
    RESOURCES_READ,
    SUBSCRIBE,
    UNSUBSCRIBE,
    PROMPTS_LIST,
    PROMPTS_GET,
    COMPLETE,
    TASKS_GET,
    TASKS_UPDATE,
    TASKS_CANCEL,
    SET_LEVEL,
    LISTEN,
    SKILLS_LIST,
    SKILLS_GET,
    DIRECTORY_READ,
];

/// What servers send to clients: requests of their own, and notifications in both directions.
const OTHERS: [&str; 14] = [
    ELICIT,
    SAMPLE,
    ROOTS_LIST,
    ROOTS_CHANGED,
    INITIALIZED,
    CANCELLED,
    PROGRESS,
    TOOLS_CHANGED,
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    RESOURCE_UPDATED,
    LOG_MESSAGE,
    TASK_CHANGED,
    ACKNOWLEDGED,
];

/// Methods and notifications of some revision that are not used here.
const UNUSED: [&str; 4] =
    ["notifications/elicitation/complete", "notifications/tasks/status", "tasks/list", "tasks/result"];

/// Whether it is a method or notification of MCP, or of an extension that is supported here.
#[must_use]
pub(crate) fn is_standard(name: &str) -> bool {
    ALL.contains(&name) || OTHERS.contains(&name) || UNUSED.contains(&name)
}
