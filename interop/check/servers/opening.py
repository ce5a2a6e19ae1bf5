"""Faults in opening: versions, ids, answers, capabilities."""

import sys

from server import Refused, Server

MODERN = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"


class OldVersion(Server):
    """Answers with the version 1999-01-01"""

    codes = ("PT0301",)
    names = r"1999-01-01"

    def opened(self, revision):
        return {**super().opened(revision), "protocolVersion": "1999-01-01"}


class VersionANumber(Server):
    """Answers with a version that is a number"""

    codes = ("PT0302",)
    names = r"20251125|protocolVersion"

    def opened(self, revision):
        return {**super().opened(revision), "protocolVersion": 20251125}


class NoServerInfo(Server):
    """Answers `initialize` without `serverInfo`"""

    codes = ("PT0303",)
    names = r"serverInfo"

    def opened(self, revision):
        opened = super().opened(revision)
        del opened["serverInfo"]
        return opened


class ModernOnly(Server):
    """Supports 2026-07-28 only"""

    codes = ("PT0305",)
    names = r"2026-07-28|-32022|unsupported protocol version"

    def outcome(self, request):
        params = request.get("params", {})
        meta = params.get("_meta", {}) if isinstance(params, dict) else {}
        revision = meta.get(VERSION)
        if revision != MODERN or request["method"] == "initialize":
            data = {"supported": [MODERN], "requested": revision}
            return {"error": {"code": -32022, "message": "Unsupported protocol version", "data": data}}
        return super().outcome(request)

    def result(self, method, params):
        if method == "ping":
            raise Refused(-32601, "Method not found: ping")
        if method == "server/discover":
            result = {"supportedVersions": [MODERN], "capabilities": self.capabilities()}
        else:
            result = super().result(method, params)
        if method != "tools/call":
            result.update(ttlMs=0, cacheScope="private")
        signature = {"io.modelcontextprotocol/serverInfo": {"name": "example", "version": "1.0.0"}}
        return {"resultType": "complete", **result, "_meta": signature}


class WrongId(Server):
    """Answers with another id than the request has"""

    codes = ("PT0311",)
    names = r"\bids?\b"

    def respond(self, request):
        self.send({"jsonrpc": "2.0", "id": 4711, **self.outcome(request)})


class StringId(Server):
    """Answers number ids with strings"""

    codes = ("PT0312",)
    names = r"\bids?\b.*(string|number|type)|(string|number|type).*\bids?\b"

    def respond(self, request):
        self.send({"jsonrpc": "2.0", "id": str(request["id"]), **self.outcome(request)})


class NullId(Server):
    """Answers with the id null"""

    codes = ("PT0313",)
    names = r"\bids?\b"

    def respond(self, request):
        self.send({"jsonrpc": "2.0", "id": None, **self.outcome(request)})


class AnswersNotifications(Server):
    """Answers notifications, too"""

    codes = ("PT0314",)
    names = r"(answer|respon)\w* .{0,20}\bnotification|\bnotifications?\b.{0,40}(answer|respon)"

    def receive(self, message):
        super().receive(message)
        if "method" in message and "id" not in message:
            self.send({"jsonrpc": "2.0", "id": None, "result": {}})


class TwoAnswers(Server):
    """Answers each request twice"""

    codes = ("PT0315",)
    names = r"twice|two (answers|responses)|unknown message id|second (answer|response)|duplicate"

    def respond(self, request):
        super().respond(request)
        super().respond(request)


class NoJsonrpc(Server):
    """Messages without the member `jsonrpc`"""

    codes = ("PT0317",)
    names = r"\.jsonrpc\s+Field required|(missing|without|no|lacks?|has no).{0,20}\bjsonrpc\b|\bjsonrpc\b.{0,40}missing"

    def send(self, message):
        del message["jsonrpc"]
        super().send(message)


class ResourcesRefused(Server):
    """Declares resources, and refuses to list them"""

    codes = ("PT0322",)
    names = r"resources.*(declare|refuse|not found|-32601|capabilit)|(declare|capabilit).*resources"

    def capabilities(self):
        return {"tools": {}, "resources": {}}


class ToolsNotDeclared(Server):
    """Lists tools without declaring the capability"""

    codes = ("PT0323",)
    names = r"(declare|capabilit).*tools|tools.*(declare|capabilit)"

    def capabilities(self):
        return {}


class RefusesAfterAProbe(Server):
    """Ignores a request that it does not know, and then refuses `initialize`"""

    codes = ("PT0307",)
    names = r"server/discover|probe"
    probed = False

    def respond(self, request):
        if request["method"] == "server/discover":
            self.probed = True
        else:
            super().respond(request)

    def opened(self, revision):
        if self.probed:
            raise Refused(-32000, "Bad Request: Server already initialized")
        return super().opened(revision)


class ExitsAtAProbe(Server):
    """Exits at a request before `initialize` that it does not know"""

    codes = ("PT0308",)
    names = r"server/discover|probe|unknown (method|request)"
    open = False

    def result(self, method, params):
        self.open = self.open or method == "initialize"
        try:
            return super().result(method, params)
        except Refused as why:
            if self.open:
                raise
            sys.exit(f"fatal: {why}")


FAULTS = [
    OldVersion,
    VersionANumber,
    NoServerInfo,
    ModernOnly,
    WrongId,
    StringId,
    NullId,
    AnswersNotifications,
    TwoAnswers,
    NoJsonrpc,
    ResourcesRefused,
    ToolsNotDeclared,
    RefusesAfterAProbe,
    ExitsAtAProbe,
]
