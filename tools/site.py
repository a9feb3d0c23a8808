#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write what the site has beside the pages in docs/: `make docs` runs it.

    tools/site.py pages SOURCE COMMAND     copies docs/ to SOURCE and adds generated pages: commands, formats, error
                                           codes, C headers, Python, operators
    tools/site.py check HTML               every internal link leads somewhere, and nothing is loaded from elsewhere
"""
import html.parser
import inspect
import json
import pathlib
import re
import shutil
import subprocess
import sys
import types
import urllib.parse
from collections.abc import Iterator
from typing import Any

import abi

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTION = re.compile(r"^## (.+)$", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Pages of the repository that the site has under its own roof.
OUTSIDE = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
# Python modules by area: (page, title, modules).
AREAS = [
    ("models", "Models, sessions, limits", ["ingot._session", "ingot._explain", "ingot.limits"]),
    ("files", "Files of tensors", ["ingot.serialization", "ingot.safetensors"]),
    ("export", "torch.export", ["ingot.export"]),
    ("onnx", "torch.onnx", ["ingot.onnx", "ingot.onnx.checker", "ingot.onnx.shape_inference",
                            "ingot.onnx.version_converter"]),
    ("edit", "Editing ONNX models", ["ingot.edit"]),
    ("jit", "torch.jit", ["ingot.jit"]),
    ("compiler", "torch.compile", ["ingot.compiler"]),
    ("func", "Derivatives and functions of functions", ["ingot.autograd", "ingot.func"]),
    ("training", "Optimizers and data", ["ingot.optim", "ingot.utils.data"]),
    ("distributions", "Distributions", ["ingot.distributions"]),
    ("library", "Operators of one's own", ["ingot.library"]),
    ("bridge", "Beside PyTorch", ["ingot._bridge"]),
]  # fmt: skip
# What Doxygen's pages show of a header.
SHOWN = "briefdescription detaileddescription define enum typedef struct func innerclass public-attrib"
WIDTH = 96  # characters of a line of code that the site shows without scrolling
HIDDEN = {"carry_code", "reworded"}  # of ingot._explain: for the package itself


def write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def toctree(names: list[str], hidden: bool = False) -> str:
    return "```{toctree}\n" + (":hidden:\n" if hidden else "") + "\n" + "\n".join(names) + "\n```\n"


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """What precedes the first heading of the second level, and the sections."""
    parts = SECTION.split(text)
    return parts[0], list(zip(parts[1::2], parts[2::2], strict=True))


# ---- pages that are cut from one


def own_pages(text: str) -> str:
    """Links to the sections of commands become links to their pages."""
    return re.sub(r"\(#(\w+)\)", r"(commands/\1.md)", text)


def one_deeper(text: str) -> str:
    """The links of a section that becomes a page in a folder of its own: those of the page that it was cut from."""

    def deeper(m: re.Match) -> str:
        if re.match(r"[a-z]+:", m[1]):
            return m[0]
        return f"]({m[1][1:]}.md)" if m[1].startswith("#") else f"](../{m[1]})"

    return LINK.sub(deeper, text)


def command_pages(source: pathlib.Path, command: str) -> None:
    """A page per command: its section of command.md and its own help."""
    page = source / "command.md"
    lead, parts = sections(page.read_text())
    listed = re.findall(r"^  (\w+) ", subprocess.run([command, "--help"], capture_output=True, text=True).stdout, re.M)
    known = dict(parts)
    for name in listed:
        if name not in known:
            raise SystemExit(f"docs/command.md: no section '## {name}'")
        help_text = subprocess.run([command, name, "--help"], capture_output=True, text=True, check=True).stdout
        body = f"# ingot {name}\n{one_deeper(known.pop(name))}\n## Options\n\n```text\n{help_text}```\n"
        write(source / f"commands/{name}.md", body)
    rest = "".join(f"## {title}{own_pages(body)}" for title, body in known.items())
    page.write_text(f"{own_pages(lead)}{rest}\n## Commands\n\n{toctree([f'commands/{name}' for name in listed])}")


def format_pages(source: pathlib.Path) -> None:
    """A page per section of formats.md."""
    page = source / "formats.md"
    lead, parts = sections(page.read_text())
    names = []
    for title, body in parts:
        plain = re.sub(r" \(.*\)$", "", title)
        where = title.removeprefix(plain).strip(" ()")
        names.append(f"formats/{slug(plain)}")
        write(source / f"{names[-1]}.md", f"# {plain}\n{one_deeper(body)}" + (f"\nSources: {where}\n" if where else ""))
    page.write_text(f"{lead}\n{toctree(names)}")


# ---- pages that are made of data


def error_pages(source: pathlib.Path, command: str) -> None:
    done = subprocess.run([command, "explain", "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    table = "".join(f"| [{row['code']}]({row['code']}.md) | {row['title']} |\n" for row in rows)
    for row in rows:
        write(
            source / f"errors/{row['code']}.md",
            f"# {row['code']}: {row['title']}\n\n{row['cause']}\n\n## Example\n\n```python\n{row['example']}```\n\n"
            f"raises\n\n```text\n{row['message']}\n```\n\n## What to do\n\n{row['remedy']}\n",
        )
    text = (
        "# Error codes\n\nMany errors have a code. The command prints it below the message, exceptions have it in "
        "`ingot_code`, and C programs ask `ig_ctx_explanation`. These pages are what `ingot explain CODE` and "
        "`ingot.explain(code)` print, without a network.\n\n| code | |\n|---|---|\n"
    )
    tree = toctree([f"{row['code']} <{row['code']}>" for row in rows], hidden=True)
    write(source / "errors/index.md", f"{text}{table}\n{tree}")


def clean_xml(folder: pathlib.Path) -> None:
    """Doxygen takes the macro X, with which an enum is made from a list, for one of the enum's values, and leaves the
    marks of comments in verbatim texts."""
    value = re.compile(r"\s*<enumvalue [^>]*>\s*<name>X</name>.*?</enumvalue>", re.S)
    verbatim = re.compile(r"(<verbatim>)(.*?)(</verbatim>)", re.S)
    for path in folder.glob("*_8h.xml"):
        text = value.sub("", path.read_text())
        path.write_text(verbatim.sub(lambda m: m[1] + re.sub(r"^/// ?", "", m[2], flags=re.M).strip() + m[3], text))


def c_pages(source: pathlib.Path) -> None:
    clean_xml(source.parent / "xml")
    headers = sorted(path.name for path in (ROOT / "include/ingot").glob("*.h") if path.name != "ingot.h")
    text = (
        "# C reference\n\nThe public headers, one noun each; `ingot/ingot.h` includes all of them. A program that only "
        "runs models needs [ingot/model.h](model.md). `ingot/aten.h`, which is generated, has a typed call per "
        "operator: `ig_relu(IG_AT(c), x)`; [operators](../python/operators.md) lists them. C++ programs use "
        "`ingot/ingot.hpp`, see [Programs in C and C++](../embedding.md).\n\n"
    )
    for name in headers:
        stem = name.removesuffix(".h")
        write(source / f"c/{stem}.md",
              f"# ingot/{name}\n\n```{{doxygenfile}} {name}\n:project: ingot\n:sections: {SHOWN}\n```\n")
    write(source / "c/index.md", text + toctree([name.removesuffix(".h") for name in headers]))


class Plain:
    """An annotation as its source has it: a text that prints without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def plain(annotation: Any) -> Any:
    return Plain(annotation) if isinstance(annotation, str) else annotation


def signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    kept = [p.replace(annotation=plain(p.annotation)) for p in found.parameters.values()]
    found = found.replace(parameters=kept, return_annotation=plain(found.return_annotation))
    return re.sub(r" at 0x[0-9a-f]+", "", str(found))


def call(name: str, value: Any) -> str:
    """How it is called; an argument per line where a line would not fit the page."""
    text = name + signature(value)
    if len(text) <= WIDTH or "(...)" in text:
        return text
    inner, arrow, end = text.removeprefix(f"{name}(").partition(") -> ")
    inner = inner if arrow else inner.removesuffix(")")
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    lines = "".join(f"    {part.strip()},\n" for part in parts)
    return f"{name}(\n{lines}){arrow.removeprefix(')')}{end}"


def documented(value: Any) -> str:
    """Its docstring; what looks like markup in prose is none. Indented lines are programs."""
    lines = inspect.cleandoc(value.__doc__ or "").split("\n")
    return "\n".join(line if line.startswith("    ") else line.replace("<", "&lt;") for line in lines)


def methods(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        if not name.startswith("_") and isinstance(member, types.FunctionType) and member.__doc__:
            yield f"**{name}**`{signature(member)}`\n\n{documented(member)}\n\n"


def entry(name: str, value: Any) -> str:
    if isinstance(value, type):
        made = call(name, value).removesuffix(" -> None")
        how = "" if made.endswith(("(...)", "(*args: Any, **kwargs: Any)")) else f"```python\n{made}\n```\n\n"
        return f"### class {name}\n\n{how}{documented(value)}\n\n{''.join(methods(value))}"
    return f"### {name}\n\n```python\n{call(name, value)}\n```\n\n{documented(value)}\n\n"


def public_names(module: types.ModuleType) -> list[str]:
    """What it offers and defines itself or in its package, in order of the alphabet."""
    home = module.__name__ + "."
    own = [n for n, v in vars(module).items() if n[0] != "_" and f"{getattr(v, '__module__', '')}.".startswith(home)]
    return sorted(set(getattr(module, "__all__", own)) - HIDDEN)


def python_pages(source: pathlib.Path) -> None:
    import importlib

    import ingot

    for page, title, names in AREAS:
        text = f"# {title}\n\n"
        for name in names:
            module = importlib.import_module(name)
            hidden = name.rsplit(".", 1)[-1].startswith("_")
            shown = "ingot" if hidden else name
            text += f"## {shown}\n\n" if f"## {shown}\n" not in text else ""
            text += f"{documented(module)}\n\n" if not hidden else ""
            for item in public_names(module):
                value = getattr(module, item)
                if inspect.getdoc(value) and not isinstance(value, types.ModuleType) and callable(value):
                    text += entry(f"{shown}.{item}", value)
        write(source / f"python/{page}.md", text)
    schemas = []
    for name in sorted(ingot._C._op_names()):
        packet = getattr(ingot.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            schemas.append(str(getattr(packet, overload)._schema))
    text = f"# Operators\n\nThe {len(schemas)} overloads of ATen operators that are known, with their schemas.\n\n"
    write(source / "python/operators.md", text + "```text\n" + "\n".join(sorted(set(schemas))) + "\n```\n")
    lead = (
        "# Python reference\n\n`import ingot as torch` has PyTorch's names, with PyTorch's meaning; these pages have "
        "the documentation of the parts that are Ingot's own or differ. The names are those of the package.\n\n"
    )
    write(source / "python/index.md", lead + toctree([page for page, _, _ in AREAS] + ["operators"]))


def settle_links(source: pathlib.Path) -> None:
    """Links of the repository become links of the site: documents of the root folder are pages, other files text."""
    for path in source.rglob("*.md"):
        depth = len(path.relative_to(source).parts) - 1
        up = "../" * depth

        def settle(m: re.Match, up: str = up, folder: pathlib.Path = path.parent) -> str:
            target = m[1]
            if re.match(r"[a-z]+:|#", target):
                return m[0]
            plain, _, anchor = target.partition("#")
            if plain.startswith("docs/"):
                plain = up + plain.removeprefix("docs/")
            name = pathlib.PurePosixPath(plain).name
            if name == "command.md" and (source / f"commands/{anchor}.md").exists():
                return f"]({up}commands/{anchor}.md)"
            if name in OUTSIDE and not (folder / plain).exists():
                plain = up + ("index.md" if name == "README.md" else name.lower())
            if not (folder / plain).exists():
                return "](" + up + "index.md)" if plain.startswith((".", up + "..")) else m[0]
            return f"]({plain}{'#' + anchor if anchor else ''})"

        path.write_text(LINK.sub(settle, path.read_text()))


def make_pages(source: pathlib.Path, command: str) -> None:
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("Doxyfile", "ingot.1"))
    shutil.copy(source / "site/conf.py", source / "conf.py")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, source / name.lower())
    command_pages(source, command)
    format_pages(source)
    error_pages(source, command)
    c_pages(source)
    python_pages(source)
    settle_links(source)


# ---- the finished site


class Page(html.parser.HTMLParser):
    """Ids, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(str(found["src"]))
        if tag == "link" and found.get("href") and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(str(found["href"]))


def missing_from_c(folder: pathlib.Path, pages: dict[pathlib.Path, Page]) -> list[str]:
    """Functions and fields of public structs that the C reference does not show."""
    wrong = []
    for header in (ROOT / "include/ingot").glob("*.h"):
        page = (folder / f"c/{header.stem}.html").resolve()
        text = header.read_text()
        fields = {f"{name}.{field}" for name, found in abi.structs(text).items() for field in found}
        known = pages[page].ids if page in pages else set()
        names = fields | abi.functions(text)
        wrong += [f"c/{header.stem}.html: no {name}" for name in names if f"c.{name}" not in known]
    return wrong


def check(folder: pathlib.Path) -> int:
    pages = {path.resolve(): Page(path.read_text()) for path in folder.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        at = path.relative_to(folder.resolve())
        wrong += [f"{at}: loads {one} from elsewhere" for one in page.loaded if re.match(r"(https?:)?//", one)]
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                wrong.append(f"{at}: no {link}")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].ids:
                wrong.append(f"{at}: no place {link}")
    wrong += missing_from_c(folder, pages)
    print("\n".join(sorted(set(wrong))), end="\n" if wrong else "")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(wrong)} problems")
    return bool(wrong)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["pages"] and len(arguments) == 3:
        make_pages(pathlib.Path(arguments[1]), arguments[2])
        return 0
    if arguments[:1] == ["check"] and len(arguments) == 2:
        return check(pathlib.Path(arguments[1]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
