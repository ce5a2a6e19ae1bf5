"""Faults in definitions, and in their portability."""

from server import INTEGER, Server, add_tool

AND_HEALTHY = add_tool(name="subtract", description="Subtracts two integers.")


def with_schema(schema):
    """A healthy tool, and `add` with another schema."""
    return [AND_HEALTHY, add_tool(inputSchema=schema)]


class NoInputSchema(Server):
    """A tool without `inputSchema`"""

    codes = ("PT0402",)
    names = r"inputSchema"

    def tools(self):
        faulty = add_tool()
        del faulty["inputSchema"]
        return [AND_HEALTHY, faulty]


class TypeMissing(Server):
    """A tool whose `inputSchema` has no `type`"""

    codes = ("PT0402",)
    names = r"inputSchema"

    def tools(self):
        return with_schema({"properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]})


class TypeMisspelt(Server):
    """A tool whose `inputSchema` has the type `objekt`"""

    codes = ("PT0402",)
    names = r"objekt|inputSchema"

    def tools(self):
        return with_schema({"type": "objekt", "properties": {"a": INTEGER, "b": INTEGER}})


class InvalidSchema(Server):
    """An invalid JSON Schema: the type `int`"""

    codes = ("PT0403",)
    names = r"['\"`]int['\"`]|invalid (JSON )?schema|not a valid (JSON )?schema"

    def tools(self):
        return with_schema({"type": "object", "properties": {"a": {"type": "int"}, "b": {"type": "int"}}})


class UnresolvableRef(Server):
    """A `$ref` to a definition that is not there"""

    codes = ("PT0404",)
    names = r"\$ref|#/\$defs/Number"

    def tools(self):
        return with_schema({"type": "object", "properties": {"a": {"$ref": "#/$defs/Number"}, "b": INTEGER}})


class RequiredInProperty(Server):
    """`required: true` in a property, as in JSON Schema draft 3"""

    codes = ("PT0405",)
    names = r"required"

    def tools(self):
        return with_schema({"type": "object", "properties": {"a": {**INTEGER, "required": True}, "b": INTEGER}})


class DuplicateNames(Server):
    """Two tools of the same name"""

    codes = ("PT0407",)
    names = r"duplicate|same name|twice|collision"

    def tools(self):
        return [add_tool(), add_tool(description="Adds two integers, differently.")]


class SpaceInName(Server):
    """A tool named `add two numbers`"""

    codes = ("PT0501",)
    names = r"add two numbers.*(character|name|\^\[a-z)|(character|name|invalid).*add two numbers"

    def tools(self):
        return [add_tool(name="add two numbers")]


class LongName(Server):
    """A tool whose name has 80 characters"""

    codes = ("PT0501",)
    names = r"\b(80|64) characters|too long|over-?long|longer than"

    def tools(self):
        return [add_tool(name="add_" + 76 * "x")]


class TypeList(Server):
    """An optional argument as `type: ["integer", "null"]`"""

    codes = ("PT0503",)
    names = r"null"

    def tools(self):
        return with_schema({"type": "object", "properties": {"a": INTEGER, "b": {"type": ["integer", "null"]}}})


class NullTools(Server):
    """`tools/list` answers with null in place of a list"""

    codes = ("PT0419",)
    names = r"received null|valid list|tools.{0,40}(list|array|null)"

    def tools(self):
        return None


FAULTS = [
    NoInputSchema,
    TypeMissing,
    TypeMisspelt,
    InvalidSchema,
    UnresolvableRef,
    RequiredInProperty,
    DuplicateNames,
    SpaceInName,
    LongName,
    TypeList,
    NullTools,
]
