//! The lists of a server as text.

use papertape::client::ListEntry;
use papertape::protocol::capabilities::Implementation;
use papertape::protocol::{
    PromptDefinition, RawJson, ResourceDefinition, ResourceTemplateDefinition, Revision, ToolAnnotations,
    ToolDefinition,
};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::text::{counted, grouped, one_line, paragraphs};
use super::{Look, style};
use crate::schema::{Argument, Schema, shown};

/// Names up to this width are beside their description, longer ones above it.
const WIDEST_NAME: usize = 20;

/// How deep the members of objects are described.
const DEEPEST_MEMBER: usize = 3;

/// The most forms of a tool's arguments that are considered.
const MOST_FORMS: usize = 20;

/// The most members of one tool's arguments that are considered: a schema that refers to itself has infinitely many.
const MOST_MEMBERS: usize = 200;

/// The name of the server, its description and its instructions.
pub(crate) fn server(
    look: Look,
    server: &Implementation,
    revision: Revision,
    newer: Option<&str>,
    instructions: Option<&str>,
) -> String {
    let mut text = look.paint(style::NAME, &one_line(&server.name));
    for more in [Some(&server.version), server.title.as_ref()].into_iter().flatten() {
        if !more.is_empty() {
            text += &format!(" {}", one_line(more));
        }
    }
    let offers = newer.map(|newer| format!("; the server also offers {newer}")).unwrap_or_default();
    text += &look.paint(style::DIM, &format!(" (MCP {revision}{offers})"));
    text.push('\n');
    for more in [server.description.as_deref(), server.website_url.as_deref(), instructions] {
        if let Some(more) = more.filter(|more| !more.trim().is_empty()) {
            text.push('\n');
            text += &paragraphs(more, look.width, "  ");
        }
    }
    text
}

/// "TOOLS", and how many.
fn heading(look: Look, name: &str, count: usize) -> String {
    let count = if count == 0 { " (none)".to_owned() } else { format!(" ({})", grouped(count)) };
    format!("\n{}{}\n", look.paint(style::HEADING, name), look.paint(style::DIM, &count))
}

/// A list with a heading.
pub(crate) fn section<T>(
    look: Look,
    name: &str,
    list: &[ListEntry<T>],
    show: impl Fn(Look, &T) -> String,
) -> String {
    let mut text = heading(look, name, list.len());
    for listed in list {
        text.push('\n');
        if listed.problems.is_empty() {
            text += &show(look, &listed.item);
        } else {
            text += &invalid(look, listed);
        }
    }
    text
}

/// The problems of a definition, and its name.
fn invalid<T>(look: Look, listed: &ListEntry<T>) -> String {
    let mut text =
        format!("  {} {}\n", look.paint(style::WRONG, "invalid:"), one_line(&name_of(&listed.raw)));
    for problem in &listed.problems {
        text += &paragraphs(problem, look.width, "    ");
    }
    text
}

/// The name of a definition that may have none.
pub(crate) fn name_of(raw: &RawJson) -> String {
    let raw: Value = raw.parse().unwrap_or_default();
    let text = |member: &str| raw.get(member).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let found = text("name").or_else(|| text("uri")).or_else(|| text("uriTemplate"));
    found.map_or_else(|| "(unnamed)".to_owned(), str::to_owned)
}

/// "2 definitions are invalid", or nothing.
pub(crate) fn count_of_invalid(look: Look, count: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let (definitions, are) = (counted(count, "definition"), if count == 1 { "is" } else { "are" });
    let text = format!("{definitions} {are} invalid: hosts may leave them out, or reject the server");
    format!("\n{}\n", look.paint(style::WRONG, &text))
}

/// The name of a tool, its description, its arguments and its output schema.
pub(crate) fn tool(look: Look, tool: &ToolDefinition) -> String {
    let title = tool.title.as_deref().or(tool.annotations.as_ref().and_then(|hints| hints.title.as_deref()));
    let hints = tool.annotations.as_ref().map(hints).filter(|hints| !hints.is_empty());
    let page = tool.ui().filter(|ui| ui.resource_uri.is_some()).map(|_| "has a page".to_owned());
    let hints = hints.into_iter().chain(page).collect::<Vec<_>>().join(", ");
    let mut text = name_line(look, &tool.name, title, &hints);
    text += &description(look, tool.description.as_deref());
    text += &table(look, &argument_rows(Schema::new(&tool.input_schema)));
    if let Some(schema) = &tool.output_schema {
        let words = Schema::new(schema).words();
        text += &hanging(look, "returns", style::DIM, &words, "returns".len());
    }
    text
}

/// The arguments of a tool, in all forms that they may have.
fn argument_rows(schema: Schema<'_>) -> Vec<Row<'_>> {
    let (mut rows, mut visits): (Vec<Row<'_>>, usize) = (Vec::new(), MOST_MEMBERS);
    let forms = match schema.objects() {
        forms if forms.is_empty() => vec![schema],
        forms => forms,
    };
    for (index, form) in forms.iter().take(MOST_FORMS).enumerate() {
        let arguments = form.arguments();
        // What one form does not have is optional.
        for row in &mut rows {
            row.required &=
                row.name.contains('.') || arguments.iter().any(|argument| argument.name == row.name);
        }
        for argument in &arguments {
            let mut row = Row::new(argument.name.to_owned(), argument);
            row.required &= index == 0 || rows.iter().any(|known| known.name == row.name);
            match rows.iter_mut().find(|known| known.name == row.name) {
                None => {
                    rows.push(row);
                    let parent = (argument.name, argument.required);
                    add_members(&mut rows, parent, argument.schema, DEEPEST_MEMBER, &mut visits);
                }
                Some(known) => {
                    known.required &= row.required;
                    known.add_form(&row);
                }
            }
        }
    }
    rows
}

/// Adds the members of an object, or of a list of objects: `place.city`, `places[].city`. `is_given` says whether the object is
/// required.
fn add_members<'a>(
    rows: &mut Vec<Row<'a>>,
    (name, is_given): (&str, bool),
    schema: Schema<'a>,
    depth: usize,
    visits: &mut usize,
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let given = name.to_owned();
    let of_list = schema.lists().into_iter().filter_map(Schema::items);
    let of_list = of_list.flat_map(Schema::objects).map(|object| (format!("{name}[]"), object));
    let objects = schema.objects().into_iter().map(|object| (name.to_owned(), object));
    for (parent, object) in objects.chain(of_list) {
        for member in object.arguments() {
            let name = format!("{parent}.{}", member.name);
            match visits.checked_sub(1) {
                Some(left) => *visits = left,
                None => return,
            }
            let mut row = Row::new(name.clone(), &member);
            // It is missing only from an object that is there.
            if member.required && !(is_given && parent == given) {
                row.required_in = Some(parent.clone());
                row.required = false;
            }
            // The forms of a tagged object have members in common.
            if let Some(known) = rows.iter_mut().find(|known| known.name == name) {
                known.add_form(&row);
                continue;
            }
            rows.push(row);
            add_members(rows, (&name, is_given && member.required), member.schema, depth, visits);
        }
    }
}

/// The annotations of a tool.
fn hints(hints: &ToolAnnotations) -> String {
    let read_only = hints.read_only_hint == Some(true);
    let words = [
        (read_only, "read-only"),
        (!read_only && hints.destructive_hint == Some(true), "destructive"),
        (!read_only && hints.destructive_hint == Some(false), "additive only"),
        (!read_only && hints.idempotent_hint == Some(true), "idempotent"),
        (hints.open_world_hint == Some(true), "open world"),
    ];
    words.iter().filter(|(there, _)| *there).map(|(_, words)| *words).collect::<Vec<_>>().join(", ")
}

fn with_default(argument: &Argument<'_>) -> String {
    match argument.default {
        None | Some(Value::Null) => argument.schema.words(),
        Some(default) => format!("{} (default: {})", argument.schema.words(), shown(default)),
    }
}

/// The URI of a resource, its name, its type and its size.
pub(crate) fn resource(look: Look, resource: &ResourceDefinition) -> String {
    let size = resource.size.map(|size| counted(size, "byte"));
    let facts: Vec<String> = [resource.mime_type.clone(), size].into_iter().flatten().collect();
    let name = resource.title.as_deref().unwrap_or(&resource.name);
    name_line(look, &resource.uri, Some(name), &facts.join(", "))
        + &description(look, resource.description.as_deref())
}

/// The URI template, its name and its type.
pub(crate) fn template(look: Look, template: &ResourceTemplateDefinition) -> String {
    let name = template.title.as_deref().unwrap_or(&template.name);
    name_line(look, &template.uri_template, Some(name), template.mime_type.as_deref().unwrap_or_default())
        + &description(look, template.description.as_deref())
}

/// The name of a prompt, its description and its arguments.
pub(crate) fn prompt(look: Look, prompt: &PromptDefinition) -> String {
    let arguments: Vec<Row<'_>> = prompt
        .arguments
        .iter()
        .map(|argument| Row {
            name: argument.name.clone(),
            required: argument.required,
            words: argument.title.clone().unwrap_or_else(|| "text".to_owned()),
            required_in: None,
            description: argument.description.as_deref(),
        })
        .collect();
    name_line(look, &prompt.name, prompt.title.as_deref(), "")
        + &description(look, prompt.description.as_deref())
        + &table(look, &arguments)
}

/// `  name  title (facts)`.
fn name_line(look: Look, name: &str, title: Option<&str>, facts: &str) -> String {
    let mut text = format!("  {}", look.paint(style::NAME, &one_line(name)));
    if let Some(title) = title.map(one_line).filter(|title| !title.is_empty() && title != name) {
        text += &format!("  {title}");
    }
    if !facts.is_empty() {
        text += &look.paint(style::DIM, &format!("  ({})", one_line(facts)));
    }
    text.push('\n');
    text
}

fn description(look: Look, text: Option<&str>) -> String {
    text.map(|text| paragraphs(text, look.width, "    ")).unwrap_or_default()
}

/// An argument in a table.
struct Row<'a> {
    name: String,
    required: bool,
    words: String,
    /// The object that must have it, if that is there.
    required_in: Option<String>,
    description: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn new(name: String, argument: &Argument<'a>) -> Self {
        let Argument { required, description, .. } = *argument;
        Self { name, required, words: with_default(argument), required_in: None, description }
    }

    /// What it is in another form of its object: a tag has another value in each.
    fn add_form(&mut self, other: &Self) {
        if !self.words.split(", or ").any(|words| words == other.words) {
            self.words += &format!(", or {}", other.words);
        }
    }
}

/// The arguments: name, whether it is required, type; below, the description.
fn table(look: Look, rows: &[Row<'_>]) -> String {
    let widest =
        rows.iter().map(|row| one_line(&row.name).width()).filter(|&width| width <= WIDEST_NAME).max();
    let column = widest.unwrap_or(WIDEST_NAME);
    let mut text = String::new();
    for row in rows {
        let (mark, mark_style) =
            if row.required { ("required", style::REQUIRED) } else { ("optional", style::DIM) };
        let mark = look.paint(mark_style, mark);
        let indent = " ".repeat(6 + column + 2 + "required".len() + 2);
        // The mark goes into the first line, where the wrapped text has only spaces.
        let required_in = row.required_in.iter().map(|object| format!("; required in {object}"));
        let words = row.words.clone() + &required_in.collect::<String>();
        let words = paragraphs(&words, look.width, &indent);
        let name = one_line(&row.name);
        let painted = look.paint(style::NAME, &name);
        let first = words.get(indent.len()..).unwrap_or("\n");
        match column.checked_sub(name.width()) {
            Some(space) => text += &format!("      {painted}{}  {mark}  {first}", " ".repeat(space)),
            None => text += &format!("      {painted}\n      {}  {mark}  {first}", " ".repeat(column)),
        }
        if let Some(description) = row.description {
            text += &paragraphs(description, look.width, &indent);
        }
    }
    text
}

/// A short name, and wrapped text beside it.
fn hanging(look: Look, name: &str, name_style: anstyle::Style, text: &str, width: usize) -> String {
    let indent = " ".repeat(4 + width + 2);
    let lines = paragraphs(text, look.width, &indent);
    let first = lines.get(indent.len()..).unwrap_or("\n");
    format!("    {}  {first}", look.paint(name_style, name))
}
