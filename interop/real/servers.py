"""The published servers: where they come from, how they are started, and one harmless call of each.

They are tried without a network and without accounts: a tool may then refuse what it is asked (`refuses`), but it must
answer.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent


class Real:
    """A package and a program in it. SCRATCH in its words stands for a folder of its own, BINARY for papertape."""

    def __init__(self, registry, package, program, *words, calls, refuses=False, env=None, beside=None, http=None):
        self.registry, self.packages, self.program, self.words = registry, package.split(), program, words
        self.tool, *self.arguments = calls.split(" ")
        self.refuses, self.env = refuses, env or {}
        self.beside = beside  # another one on HTTP, which it needs; URL stands for where that is
        self.http = http  # the path at which it serves on HTTP; PORT stands for its port

    @property
    def name(self):
        return self.packages[0]


def npm(*words, **more):
    return Real("npm", *words, **more)


def pypi(*words, **more):
    return Real("PyPI", *words, **more)


OFFICIAL = "@modelcontextprotocol/server-"
EVERYTHING = f"{OFFICIAL}everything@2026.8.31"

SERVERS = [
    npm(EVERYTHING, "mcp-server-everything", calls="echo message=hello"),
    npm(f"{OFFICIAL}filesystem@2026.8.31", "mcp-server-filesystem", "SCRATCH", calls="list_allowed_directories"),
    npm(f"{OFFICIAL}memory@2026.8.31", "mcp-server-memory", calls="read_graph"),
    npm(f"{OFFICIAL}github@2025.4.8", "mcp-server-github", calls="search_repositories query=mcp", refuses=True),
    npm("@playwright/mcp@0.0.83", "playwright-mcp", calls="browser_close", refuses=True),
    npm("chrome-devtools-mcp@1.11.0", "chrome-devtools-mcp", calls="list_pages", refuses=True),
    npm("mongodb-mcp-server@3.0.4", "mongodb-mcp-server", calls="list-databases connectionId=none", refuses=True),
    npm(
        "@upstash/context7-mcp@4.1.1",
        "context7-mcp",
        calls="resolve-library-id query=mcp libraryName=mcp",
        refuses=True,
    ),
    npm("shadcn@4.23.0", "shadcn", "mcp", calls="get_project_registries"),
    npm("nx-mcp@0.25.0", "nx-mcp", calls="nx_docs userQuery=cache", refuses=True),
    npm(
        "@hubspot/mcp-server@0.4.0",
        "mcp-hubspot",
        calls="hubspot-get-user-details",
        refuses=True,
        env={"PRIVATE_APP_ACCESS_TOKEN": "none"},
    ),
    npm(
        "@notionhq/notion-mcp-server@2.5.2",
        "notion-mcp-server",
        calls="API-get-self",
        refuses=True,
        env={"NOTION_TOKEN": "none"},
    ),
    npm("@sentry/mcp-server@0.39.0", "sentry-mcp", "--access-token=none", calls="find_organizations", refuses=True),
    npm("@eslint/mcp@0.3.13", "mcp", calls='lint-files filePaths:=["SCRATCH/none.js"]', refuses=True),
    npm(
        "@antv/mcp-server-chart@0.9.10",
        "mcp-server-chart",
        calls='generate_pie_chart data:=[{"category":"a","value":1}]',
        refuses=True,
    ),
    npm("mcp-server-kubernetes@4.1.7", "mcp-server-kubernetes", calls="ping"),
    npm(
        "figma-developer-mcp@0.13.2",
        "figma-developer-mcp",
        "--stdio",
        calls="get_figma_data fileKey=none",
        refuses=True,
        env={"FIGMA_API_KEY": "none"},
    ),
    npm(
        "tavily-mcp@0.2.22", "tavily-mcp", calls="tavily_search query=mcp", refuses=True, env={"TAVILY_API_KEY": "none"}
    ),
    npm(
        "firecrawl-mcp@3.26.0",
        "firecrawl-mcp",
        calls="firecrawl_map url=http://127.0.0.1:1/",
        refuses=True,
        env={"FIRECRAWL_API_KEY": "fc-none"},
    ),
    npm("mcp-server-commands@0.5.0", "mcp-server-commands", calls="run_command command=true"),
    npm("next-devtools-mcp@0.4.0", "next-devtools-mcp", calls="nextjs_index"),
    npm(
        "supergateway@4.0.0",
        "supergateway",
        "--stdio",
        "BINARY serve text",
        "--outputTransport",
        "streamableHttp",
        "--port",
        "PORT",
        calls="echo text=hello",
        http="/mcp",
    ),
    npm(
        "supergateway@4.0.0",
        "supergateway",
        "--sse",
        "URL",
        calls="echo message=hello",
        beside=npm(EVERYTHING, "mcp-server-everything", "sse", calls="echo", env={"PORT": "PORT"}, http="/sse"),
    ),
    pypi("mcp-server-time==2026.10.19", "mcp-server-time", calls="get_current_time timezone=Europe/Madrid"),
    pypi("mcp-server-git==2026.10.19", "mcp-server-git", calls="git_status repo_path=SCRATCH", refuses=True),
    pypi("mcp-server-fetch==2026.10.24", "mcp-server-fetch", calls="fetch url=http://127.0.0.1:1/", refuses=True),
    pypi(
        "mcp-server-sqlite==0.6.2 mcp==1.0.0", "mcp-server-sqlite", "--db-path", "SCRATCH/notes.db", calls="list-tables"
    ),
    pypi("mcp-server-calculator==0.2.1", "mcp-server-calculator", calls="calculate expression=6*7"),
    pypi("duckduckgo-mcp-server==0.7.0", "duckduckgo-mcp-server", calls="search query=mcp", refuses=True),
    pypi("excel-mcp-server==2.2.2", "excel-mcp-server", "stdio", calls="list_workbooks directory=SCRATCH"),
    pypi("office-word-mcp-server==1.1.11", "word_mcp_server", calls="list_available_documents directory=SCRATCH"),
    pypi(
        "awslabs.aws-documentation-mcp-server==1.2.3",
        "awslabs.aws-documentation-mcp-server",
        calls="recommend url=https://docs.aws.amazon.com/s3/",
        refuses=True,
    ),
    pypi(
        "mcp-server-motherduck==1.1.0",
        "mcp-server-motherduck",
        "--db-path",
        ":memory:",
        "--read-write",
        calls="list_databases",
    ),
    pypi("fastmcp==2.14.7", "python", str(HERE / "example.py"), calls="add a=2 b=3"),
    pypi("fastmcp==4.1.2", "python", str(HERE / "example.py"), calls="add a=2 b=3"),
]
