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
/// The resources there are.
pub const RESOURCES_LIST: &str = "resources/list";
/// The templates of resources there are.
pub const TEMPLATES_LIST: &str = "resources/templates/list";
/// What a resource holds.
pub const RESOURCES_READ: &str = "resources/read";
/// Asks to hear of changes of a resource. Legacy only.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// Takes that back. Legacy only.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The prompts there are.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Fills a prompt in.
pub const PROMPTS_GET: &str = "prompts/get";
/// What an argument may go on with.
pub const COMPLETE: &str = "completion/complete";
/// Asks the user to fill in a form or to visit a page.
pub const ELICIT: &str = "elicitation/create";
/// Asks the client's model.
pub const SAMPLE: &str = "sampling/createMessage";
/// Asks where the user's files are.
pub const ROOTS_LIST: &str = "roots/list";
/// How a task is. An extension.
pub const TASKS_GET: &str = "tasks/get";
/// Answers what a task asks. An extension.
pub const TASKS_UPDATE: &str = "tasks/update";
/// Takes a task back. An extension.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// The skills there are. An extension.
pub const SKILLS_LIST: &str = "skills/list";
/// One of them. An extension.
pub const SKILLS_GET: &str = "skills/get";
/// What is in a folder of resources. Part of the same extension.
pub const DIRECTORY_READ: &str = "resources/directory/read";
/// How much of the log a client wants to see. Legacy only.
pub const SET_LEVEL: &str = "logging/setLevel";
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
/// The list of prompts is another now.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The list of resources is another now.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource is another now.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// A line of the server's log.
pub const LOG_MESSAGE: &str = "notifications/message";
/// A task is another now. An extension.
pub const TASK_CHANGED: &str = "notifications/tasks";
/// Which of the wanted notifications will come.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The requests that clients make.
pub const ALL: [&str; 20] = [
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
    "skills/list",
    "skills/get",
];
