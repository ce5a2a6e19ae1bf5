//! A line of the shell to what it asks for.

use papertape::guess;

/// The commands: how each is written, and what it does.
pub(super) const COMMANDS: [(&str, &str, &str); 14] = [
    ("list", "list", "list tools, resources and prompts"),
    ("call", "[call] TOOL [NAME=VALUE]...", "call a tool; `call` is for one that is named like a command"),
    ("read", "read URI", "read a resource"),
    ("prompt", "prompt NAME [NAME=VALUE]...", "get a prompt"),
    ("request", "request METHOD [NAME=VALUE]...", "send any request"),
    (
        "complete",
        "complete PROMPT|TEMPLATE NAME=BEGINNING [NAME=VALUE]...",
        "ask the server to complete an argument",
    ),
    (
        "subscribe",
        "subscribe [URI]",
        "print a line when the resource changes; without URI, list subscriptions",
    ),
    ("unsubscribe", "unsubscribe URI", "end a subscription"),
    ("log-level", "log-level LEVEL", "print log messages of the server of this level and above"),
    ("ping", "ping", "check that the server responds"),
    ("reconnect", "reconnect", "open another session, with a new server process"),
    ("help", "help [TOOL]", "list the commands, or describe a tool"),
    ("exit", "exit", "end the shell (Ctrl-D)"),
    ("quit", "quit", "end the shell (Ctrl-D)"),
];

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    List,
    Call { tool: String, arguments: Vec<String> },
    Read(String),
    Prompt { name: String, arguments: Vec<String> },
    Request { method: String, params: Vec<String> },
    Complete { of: String, argument: String, value: String, known: Vec<String> },
    Subscribe(Option<String>),
    Unsubscribe(String),
    LogLevel(String),
    Ping,
    Reconnect,
    Help(Option<String>),
    Exit,
}

impl Instruction {
    /// `None` for an empty line or a comment.
    pub(super) fn parse(line: &str) -> Result<Option<Self>, String> {
        let words = shell_words::split(line).map_err(|_| "a quote is not closed".to_owned())?;
        let mut words = words.into_iter();
        let Some(first) = words.next() else { return Ok(None) };
        let mut rest: Vec<String> = words.collect();
        let instruction = match first.as_str() {
            "list" => none(&rest, Self::List),
            "call" => match rest.is_empty() {
                true => Err("which tool?"),
                false => Ok(Self::Call { tool: rest.remove(0), arguments: rest }),
            },
            "read" => one(rest).map(Self::Read),
            "prompt" => match rest.is_empty() {
                true => Err("which prompt?"),
                false => Ok(Self::Prompt { name: rest.remove(0), arguments: rest }),
            },
            "request" => match rest.is_empty() {
                true => Err("which method?"),
                false => Ok(Self::Request { method: rest.remove(0), params: rest }),
            },
            "complete" => complete(rest),
            "subscribe" => optional(rest).map(Self::Subscribe),
            "unsubscribe" => one(rest).map(Self::Unsubscribe),
            "log-level" => one(rest).map(Self::LogLevel),
            "ping" => none(&rest, Self::Ping),
            "reconnect" => none(&rest, Self::Reconnect),
            "help" | "?" => optional(rest).map(Self::Help),
            "exit" | "quit" => none(&rest, Self::Exit),
            _ => return Ok(Some(Self::Call { tool: first, arguments: rest })),
        };
        let usage =
            || COMMANDS.iter().find(|(name, ..)| *name == first).map_or("help", |(_, usage, _)| usage);
        instruction.map(Some).map_err(|problem| format!("{first}: {problem}\n  {}", usage()))
    }
}

const TOO_MANY: &str = "too many arguments";

fn none(rest: &[String], instruction: Instruction) -> Result<Instruction, &'static str> {
    if rest.is_empty() { Ok(instruction) } else { Err(TOO_MANY) }
}

fn one(rest: Vec<String>) -> Result<String, &'static str> {
    optional(rest)?.ok_or("an argument is missing")
}

fn optional(mut rest: Vec<String>) -> Result<Option<String>, &'static str> {
    let last = rest.pop();
    if rest.is_empty() { Ok(last) } else { Err(TOO_MANY) }
}

fn complete(rest: Vec<String>) -> Result<Instruction, &'static str> {
    let mut rest = rest.into_iter();
    let (of, argument) = (rest.next().ok_or("of which prompt or template?")?, rest.next());
    let (argument, value) = argument
        .as_deref()
        .and_then(|word| word.split_once('='))
        .ok_or("which argument? write NAME=BEGINNING")?;
    let (argument, value) = (argument.to_owned(), value.to_owned());
    Ok(Instruction::Complete { of, argument, value, known: rest.collect() })
}

/// The command that was meant by a word that is not a tool either.
pub(super) fn hint(typed: &str) -> String {
    let names = COMMANDS.map(|(name, ..)| name);
    format!("\n  nor a command{}\n  the commands: {}", guess::hint(typed, names), names.join(", "))
}

/// The commands, for `help`.
pub(super) fn help() -> String {
    let width =
        COMMANDS.iter().map(|(_, usage, _)| usage.len()).filter(|&width| width < 30).max().unwrap_or(0);
    let mut text = String::new();
    for (name, usage, about) in COMMANDS.iter().filter(|(name, ..)| *name != "quit") {
        let _ = name;
        match width.checked_sub(usage.len()) {
            Some(space) => text += &format!("  {usage}{}  {about}\n", " ".repeat(space)),
            None => text += &format!("  {usage}\n  {}  {about}\n", " ".repeat(width)),
        }
    }
    text + "\nValues are converted by the schema of the tool; NAME:=JSON is sent as it is, a.b=1 sets a member of an object.\n\
            Quotes and backslashes are those of a shell. Tab completes, Ctrl-C cancels a call, Ctrl-D exits.\n"
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, Instruction};

    fn parse(line: &str) -> Result<Option<Instruction>, String> {
        Instruction::parse(line)
    }

    #[test]
    fn a_line_is_a_command_or_a_tool() {
        let call = |tool: &str, arguments: &[&str]| Instruction::Call {
            tool: tool.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        };
        assert_eq!(parse("add a=1 'b=x y'"), Ok(Some(call("add", &["a=1", "b=x y"]))));
        assert_eq!(parse("call list"), Ok(Some(call("list", &[]))));
        assert_eq!(parse("read a:b"), Ok(Some(Instruction::Read("a:b".to_owned()))));
        assert_eq!(parse("help add"), Ok(Some(Instruction::Help(Some("add".to_owned())))));
        for nothing in ["", "  ", "# a comment"] {
            assert_eq!(parse(nothing), Ok(None));
        }
        let complete = Instruction::Complete {
            of: "review".to_owned(),
            argument: "style".to_owned(),
            value: "st".to_owned(),
            known: vec!["language=rust".to_owned()],
        };
        assert_eq!(parse("complete review style=st language=rust"), Ok(Some(complete)));
    }

    #[test]
    fn a_wrong_line_is_answered_with_its_usage() {
        for (line, problem) in [
            ("call", "which tool?\n  [call] TOOL"),
            ("read", "an argument is missing\n  read URI"),
            ("read a b", "too many arguments\n  read URI"),
            ("exit now", "too many arguments\n  exit"),
            ("complete a b", "which argument? write NAME=BEGINNING\n  complete PROMPT|TEMPLATE"),
            ("add 'x", "a quote is not closed"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(problem), "{line}: {error}");
        }
    }

    #[test]
    fn every_command_is_parsed() {
        for (name, ..) in COMMANDS {
            let as_tool = matches!(parse(name), Ok(Some(Instruction::Call { .. })));
            assert!(!as_tool, "{name}");
        }
    }
}
