//! One file per command.

pub(crate) mod bridge;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod hosts;
pub(crate) mod index;
pub(crate) mod install;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod new;
pub(crate) mod page;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod tap;
pub(crate) mod tape;
pub(crate) mod task;
pub(crate) mod uninstall;
