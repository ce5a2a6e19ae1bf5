// A form from a JSON Schema. Its value is JSON text, so that numbers keep their digits.
import { button, el, shown } from "./dom.js";

const DEEPEST = 6;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const LONG = /text|content|body|code|markdown|message|prompt|sql|html|query|script/i;
let ids = 0;

/** What a `$ref` of the same document means. */
function resolve(schema, root) {
  for (let hops = 0; hops < 20 && typeof schema?.$ref === "string" && schema.$ref.startsWith("#"); hops++) {
    const { $ref, ...beside } = schema;
    const steps = decodeURIComponent($ref.slice(1)).split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const meant = steps.reduce((value, step) => (value && Object.hasOwn(value, step) ? value[step] : undefined), root);
    if (meant === null || typeof meant !== "object") return beside;
    schema = { ...meant, ...beside };
  }
  return schema !== null && typeof schema === "object" ? schema : {};
}

/** The values to choose from, with their titles. */
function choices(schema, root) {
  if (Object.hasOwn(schema, "const")) return [[schema.const]];
  if (Array.isArray(schema.enum)) return schema.enum.map((value, index) => [value, schema.enumNames?.[index]]);
  const variants = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(variants) || !variants.length) return undefined;
  const all = variants.map((one) => resolve(one, root));
  return all.every((one) => Object.hasOwn(one, "const")) ? all.map((one) => [one.const, one.title]) : undefined;
}

function typeOf(schema) {
  const types = [schema.type].flat().filter((type) => typeof type === "string" && type !== "null");
  if (types.length === 1) return types[0];
  if (!types.length && schema.properties) return "object";
  return undefined;
}

const label = (text) => shown(typeof text === "string" ? text : JSON.stringify(text));

/** A field: its control, its value as JSON text (nothing if it is left out), and what is wrong with it. */
function chosen(options, schema, required, id) {
  const select = el("select", { id }, !required || !options.length ? el("option", { value: "" }, "– not set –") : null,
    options.map(([value, title], index) => el("option", { value: String(index) }, title ? `${label(title)} (${label(value)})` : label(value))));
  const index = options.findIndex(([value]) => JSON.stringify(value) === JSON.stringify(schema.default));
  if (index >= 0) select.value = String(index);
  else if (!required) select.value = "";
  return { control: select, value: () => (select.value === "" ? undefined : JSON.stringify(options[Number(select.value)][0])), check: () => "" };
}

function numeric(schema, id, whole) {
  const input = el("input", { id, inputmode: whole ? "numeric" : "decimal", autocomplete: "off", value: typeof schema.default === "number" ? String(schema.default) : null, placeholder: whole ? "integer" : "number" });
  const check = () => {
    const text = input.value.trim();
    if (text === "") return "";
    if (!NUMBER.test(text) || (whole && !Number.isInteger(Number(text)))) return `must be ${whole ? "an integer" : "a number"}`;
    const value = Number(text);
    if (value < schema.minimum) return `must be at least ${schema.minimum}`;
    if (value > schema.maximum) return `must be at most ${schema.maximum}`;
    if (value <= schema.exclusiveMinimum) return `must be more than ${schema.exclusiveMinimum}`;
    if (value >= schema.exclusiveMaximum) return `must be less than ${schema.exclusiveMaximum}`;
    return "";
  };
  return { control: input, value: () => (input.value.trim() === "" ? undefined : NUMBER.test(input.value.trim()) ? input.value.trim() : JSON.stringify(input.value)), check };
}

const FORMATS = { date: "date", email: "email", uri: "url", time: "text", password: "password" };

function text(name, schema, required, id) {
  const long = schema.format === undefined && !schema.pattern && (LONG.test(name) || schema.maxLength > 200 || String(schema.default ?? "").includes("\n"));
  const shared = { id, autocomplete: "off", spellcheck: "false" };
  const input = long ? el("textarea", { ...shared, rows: "2" }) : el("input", { ...shared, type: Object.hasOwn(FORMATS, schema.format) ? FORMATS[schema.format] : "text" });
  if (typeof schema.default === "string") input.value = schema.default;
  const example = [schema.examples].flat()[0];
  if (typeof example === "string") input.placeholder = shown(example);
  const check = () => {
    const length = Array.from(input.value).length;
    if (!length) return "";
    if (length < schema.minLength) return `must have at least ${schema.minLength} characters`;
    if (length > schema.maxLength) return `must have at most ${schema.maxLength} characters`;
    return "";
  };
  // An empty required string is a value, an empty optional one is left out.
  return { control: input, value: () => (input.value === "" && !required ? undefined : JSON.stringify(input.value)), check };
}

function json(schema, required, id) {
  const area = el("textarea", { id, rows: "3", class: "json", spellcheck: "false", placeholder: "JSON" });
  if (schema.default !== undefined) area.value = JSON.stringify(schema.default, null, 1);
  const check = () => {
    if (area.value.trim() === "") return "";
    try {
      JSON.parse(area.value);
      return "";
    } catch (error) {
      return `is not JSON: ${error.message}`;
    }
  };
  return { control: area, value: () => (area.value.trim() === "" ? undefined : area.value.trim()), check };
}

function list(name, schema, root, depth, id) {
  const items = el("div", { class: "items" });
  const fields = [];
  const add = () => {
    const made = field("", schema.items ?? {}, true, root, depth + 1, `${label(name)} ${fields.length + 1}`);
    const row = el("div", { class: "item" }, made.element, button("remove", () => { fields.splice(fields.indexOf(made), 1); row.remove(); }, { class: "small", "aria-label": `remove this item of ${label(name)}` }));
    fields.push(made);
    items.append(row);
  };
  for (let made = 0; made < Math.min(schema.minItems ?? 0, 20); made++) add();
  const check = () => {
    const wrong = fields.filter((each) => !each.valid()).length;
    if (wrong) return "has items that are not valid";
    if (fields.length && fields.length < schema.minItems) return `must have at least ${schema.minItems} items`;
    return fields.length > schema.maxItems ? `must have at most ${schema.maxItems} items` : "";
  };
  const value = (required) => (fields.length || required ? `[${fields.map((each) => each.value() ?? "null").join(",")}]` : undefined);
  return { control: el("div", { id, class: "nested" }, items, button("add an item", add, { class: "small" })), value, check };
}

function variants(name, schema, required, root, depth, id) {
  const all = (schema.oneOf ?? schema.anyOf).map((one) => resolve(one, root)).filter((one) => one.type !== "null");
  const place = el("div", { class: "nested" });
  const kind = el("select", { id }, all.map((one, index) => el("option", { value: String(index) }, label(one.title ?? typeOf(one) ?? `variant ${index + 1}`))));
  let inner;
  const show = () => {
    inner = inside(name, { ...all[Number(kind.value)], default: schema.default }, required, root, depth + 1, `${id}-v`);
    place.replaceChildren(inner.control);
  };
  kind.addEventListener("change", show);
  show();
  return { control: el("div", {}, all.length > 1 ? kind : null, place), value: (needed) => inner.value(needed), check: () => inner.check() };
}

function object(schema, root, depth, id) {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => [name, field(name, each, required.includes(name), root, depth + 1)]);
  const value = (needed) => {
    const members = fields.map(([name, each]) => [name, each.value()]).filter(([, given]) => given !== undefined);
    if (!members.length && !needed) return undefined;
    return `{${members.map(([name, given]) => `${JSON.stringify(name)}: ${given}`).join(", ")}}`;
  };
  const check = () => {
    // Members of an object that is left out need not be there.
    if (value(false) === undefined && depth > 0) return "";
    return fields.filter(([, each]) => !each.valid()).length ? "has members that are not valid" : "";
  };
  return { control: el("div", { id, class: depth ? "nested" : "members" }, fields.map(([, each]) => each.element)), value, check };
}

function inside(name, schema, required, root, depth, id) {
  const options = choices(schema, root);
  if (options) return chosen(options, schema, required, id);
  const type = typeOf(schema);
  if (depth < DEEPEST) {
    if (type === "object" && schema.properties) return object(schema, root, depth, id);
    if (type === "array" && !Array.isArray(schema.items)) return list(name, schema, root, depth, id);
    if (Array.isArray(schema.oneOf ?? schema.anyOf) && (schema.oneOf ?? schema.anyOf).length && !type) return variants(name, schema, required, root, depth, id);
  }
  switch (type) {
    case "string": return text(name, schema, required, id);
    case "number": return numeric(schema, id, false);
    case "integer": return numeric(schema, id, true);
    case "boolean": return chosen([[true], [false]], schema, required, id);
    default: return json(schema, required, id);
  }
}

function field(name, given, required, root, depth, title) {
  const schema = resolve(given, root);
  const id = `field-${++ids}`;
  const made = inside(name, schema, required, root, depth, id);
  const problem = el("p", { class: "wrong", id: `${id}-wrong`, hidden: true });
  const described = schema.description ? el("p", { class: "description", id: `${id}-about` }, shown(schema.description, true)) : null;
  const target = ["INPUT", "TEXTAREA", "SELECT"].includes(made.control.tagName) ? made.control : made.control.querySelector("select, input, textarea, button");
  target?.setAttribute("aria-describedby", `${id}-wrong${described ? ` ${id}-about` : ""}`);
  if (required) target?.setAttribute("aria-required", "true");
  const show = (message) => {
    problem.textContent = message;
    problem.hidden = !message;
    target?.setAttribute("aria-invalid", String(Boolean(message)));
    return !message;
  };
  const value = () => made.value(required);
  const valid = () => show(made.check() || (required && value() === undefined ? "is required" : ""));
  const caption = [el("bdi", {}, shown(name || title || "")), required && name ? el("span", { class: "required", title: "required" }, " *") : null, schema.title && schema.title !== name ? el("span", { class: "quiet" }, ` ${shown(schema.title)}`) : null];
  const head = target === made.control ? el("label", { for: id }, caption) : el("span", { class: "label" }, caption);
  const element = target === made.control ? el("div", { class: "field" }, head, described, made.control, problem) : el("div", { class: "field", role: "group", "aria-label": shown(name || title || "") }, head, described, made.control, problem);
  return { element, value, valid };
}

/** A form for the arguments of a tool, with raw JSON as an alternative. */
export function schemaForm(schema, submit, title) {
  const root = schema !== null && typeof schema === "object" ? schema : {};
  const made = object({ ...resolve(root, root), type: "object" }, root, 0, `form-${++ids}`);
  const area = el("textarea", { class: "json", rows: "8", spellcheck: "false", "aria-label": "Arguments as JSON", hidden: true });
  const wrong = el("p", { class: "wrong", role: "alert", hidden: true });
  const send = el("button", { type: "submit", class: "primary" }, title);
  const kind = button("as JSON", () => {
    const asJson = area.hidden;
    if (asJson) area.value = pretty(made.value(true));
    area.hidden = !asJson;
    made.control.hidden = asJson;
    kind.textContent = asJson ? "as a form" : "as JSON";
  }, { class: "small" });
  const say = (message) => {
    wrong.textContent = message;
    wrong.hidden = !message;
  };
  const value = () => (area.hidden ? made.value(true) : area.value.trim() || "{}");
  const form = el("form", { novalidate: true }, made.control, area, wrong, el("div", { class: "actions" }, send, kind));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say("");
    if (area.hidden) {
      if (made.check()) {
        form.querySelector("[aria-invalid=true]")?.focus();
        return;
      }
    } else {
      try {
        const parsed = JSON.parse(area.value || "{}");
        if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) return say("The arguments must be an object.");
      } catch (error) {
        return say(`Not JSON: ${error.message}`);
      }
    }
    submit(value());
  });
  // In a text of several lines, Enter is a line end.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return { form, send, say, value };
}

/** Over several lines, unless a number would lose digits. */
function pretty(text) {
  let exact = true;
  const value = JSON.parse(text, (_, each, context) => {
    if (typeof each === "number" && context?.source !== undefined && String(each) !== context.source) exact = false;
    return each;
  });
  return exact ? JSON.stringify(value, null, 2) : text;
}
