# SPDX-License-Identifier: Apache-2.0
"""Pages of `ingot view`: what stands in them, and how they behave in a browser (where Chromium is installed)."""
import html.parser
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import xml.etree.ElementTree

import numpy
import pytest

import chromium
import ingot as torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")) / "ingot"
DATA = ROOT / "tests/model/data"

pytestmark = pytest.mark.skipif(not INGOT.exists(), reason="the command is not built")
in_browser = pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")

HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "--><!--<script>", "]]>&amp;\"'`",
           "a\u202eb\u2028c", "\x1b[31m\x07", "é漢字🎉", "'); alert(1); ('", "\\u003c\\", "n" * 5000]


def view(path, *options: str) -> str:
    done = subprocess.run([INGOT, "view", str(path), "-o", "-", *options], capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def data(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="model">(.*?)</script>', page, re.S)[1])


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + torch.relu(self.fc(x))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())

    def forward(self, x):
        low, high = torch.split(self.blocks(x), 2, dim=1)
        return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (low + high,))


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> pathlib.Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("view") / "model.pt2"
    rows = torch.export.Dim("rows", min=2, max=64)
    torch.export.save(torch.export.export(Model(), (torch.ones(3, 4),), dynamic_shapes=({0: rows},)), str(path))
    return path


@pytest.fixture(scope="module")
def browser():
    b = chromium.Browser()
    yield b
    b.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> pathlib.Path:
    """An ONNX model in which every name and text is one of HOSTILE."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = []
    last = HOSTILE[0]
    for i, text in enumerate(HOSTILE[1:]):
        attributes = {"alpha": 0.5}
        node = helper.make_node("LeakyRelu", [last], [text], name="/" + text + "/x", doc_string=text, **attributes)
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=text)
        if i % 2:
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=str(["", text, "x"]))
        nodes.append(node)
        last = text
    f = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, HOSTILE[0], [helper.make_tensor_value_info(HOSTILE[0], f, [HOSTILE[1], 2])],
                              [helper.make_tensor_value_info(last, f, [HOSTILE[2], 2])])
    model = helper.make_model(graph, producer_name=HOSTILE[0], opset_imports=[helper.make_opsetid("", 18)])
    model.metadata_props.add(key=HOSTILE[0], value=HOSTILE[1])
    path = tmp_path_factory.mktemp("hostile") / "a<b>&.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_a_page_holds_the_program(program) -> None:
    page = view(program)
    d = data(page)
    names = [d["texts"][i[2]] for i in d["items"]]
    titles = [d["texts"][i[3]] for i in d["items"]]
    assert {"blocks", "blocks.0", "blocks.0.fc", "blocks.1", "blocks.1.fc"} <= set(names)
    assert titles.count("aten.linear.default") == 2
    assert "true_graph_0" in names and "false_graph_0" in names and "aten.sin.default" in titles
    assert any("float32[s" in t for t in d["texts"])  # symbolic sizes
    assert any(t.endswith("test_view.py") for t in d["texts"])  # source lines
    assert "return x + torch.relu(self.fc(x))" in d["texts"]
    assert [d["texts"][w[0]] for w in d["weights"]][:2] == ["blocks.0.fc.weight", "blocks.0.fc.bias"]
    count, *_, first = d["weights"][0][3][:9]
    assert count == 16 and sum(d["weights"][0][3][8:]) == 16 and isinstance(first, int)
    assert data(view(program, "--no-stats"))["weights"][0][3] == 0
    assert view(program) == page  # the same bytes


def test_one_of_several_results_is_no_item(program) -> None:
    d = data(view(program))
    titles = [d["texts"][i[3]] for i in d["items"]]
    assert "_operator.getitem" not in titles
    split = d["items"][titles.index("aten.split.Tensor")]
    assert [d["texts"][x] for x in split[8][::2]] == ["getitem", "getitem_1"]


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append((tag, dict(attrs)))


def test_names_are_never_markup(hostile, program) -> None:
    page = view(hostile)
    ours, plain = Tags(), Tags()
    ours.feed(page)
    plain.feed(view(program))
    assert ours.seen == plain.seen  # no tag comes from the file
    d = data(page)
    assert any(HOSTILE[0] in t for t in d["texts"]) and any("漢字🎉" in t for t in d["texts"])
    assert not re.search("[\u202e\u2028\x1b]", page)
    assert "\\u202e" in "".join(d["texts"])  # visible, not active
    policy = next(a["content"] for t, a in ours.seen if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    frame = re.sub(r"<script type.*?</script>", "", page, flags=re.S)
    assert set(re.findall(r"https?://[^\"' ]*", frame)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_drawings_are_well_formed(hostile, program) -> None:
    for path in (hostile, program, DATA / "counter.ts.pt"):
        for depth in ("0", "1", "2"):
            root = xml.etree.ElementTree.fromstring(view(path, "--svg", "--depth", depth))
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            tags = {e.tag.split("}")[1] for e in root.iter()}
            assert tags <= {"svg", "style", "defs", "marker", "path", "rect", "text"}
        dot = view(path, "--dot")
        unquoted = re.sub(r'"(\\.|[^"\\])*"', "", dot)
        assert "<" not in unquoted.replace("->", "") and unquoted.count("{") == unquoted.count("}")


@in_browser
def test_in_a_browser(program, browser, tmp_path) -> None:
    page = tmp_path / "page.html"
    page.write_text(view(program))
    browser.load(page)
    assert browser.problems() == []
    assert browser.requests() == [page.resolve().as_uri()]  # nothing else is loaded
    box = browser.run("ingotView.find('blocks.1.fc')[0]")
    browser.run(f"ingotView.go({box})")
    assert browser.run(f"ingotView.visible({box})") and browser.run(f"ingotView.selected() === {box}")
    before = browser.run("ingotView.size()[1]")
    browser.key("Enter")
    assert browser.run(f"ingotView.isOpen({box})")
    assert browser.run("ingotView.size()[1]") > before
    browser.run("ingotView.all(true)")
    boxes = [b for b in range(browser.run("ingotView.count")) if browser.run(f"ingotView.isBox({b})")]
    assert len(boxes) == 9 and all(browser.run(f"ingotView.overlap({b})") == 0 for b in boxes)
    # What is drawn is where a click finds it.
    relu = browser.run("ingotView.find('aten.relu')[0]")
    browser.run(f"ingotView.go({relu})")
    browser.run("ingotView.select(-1)")
    browser.click(browser.run("(innerWidth - 400) / 2"), browser.run("innerHeight / 2"))
    assert browser.run("ingotView.selected()") == relu
    browser.key("/")
    browser.type("aten.sin")
    browser.key("Enter")
    assert browser.run("ingotView.label(ingotView.selected())") == "aten.sin.default"
    browser.run(f"ingotView.pathTo({relu})")
    made_from = browser.run("ingotView.hot()")
    browser.run(f"ingotView.pathFrom({relu})")
    assert made_from == 3 and browser.run("ingotView.hot()") > 5  # the input, linear, relu
    browser.key("Escape")
    assert browser.run("ingotView.hot()") == 0
    assert browser.problems() == []


@in_browser
def test_hostile_names_in_a_browser(hostile, browser, tmp_path) -> None:
    page = tmp_path / "page.html"
    page.write_text(view(hostile))
    browser.load(page)
    browser.run("ingotView.all(true)")
    for i in range(1, browser.run("ingotView.count")):
        browser.run(f"ingotView.go({i})")
    assert browser.problems() == [] and len(browser.requests()) == 1
    assert browser.run("document.querySelectorAll('img, iframe, object, script').length") == 2
    assert not any(e.get("method") == "Page.javascriptDialogOpening" for e in browser.events)
    # Even a script that was smuggled into the page would not run.
    page.write_text(view(hostile).replace("</body>", "<script>window.smuggled = 1</script></body>"))
    browser.load(page)
    assert browser.run("window.smuggled === undefined") and browser.problems()


@in_browser
@pytest.mark.parametrize("theme", [False, True])
def test_light_and_dark(program, browser, tmp_path, theme) -> None:
    page = tmp_path / "page.html"
    page.write_text(view(program))
    browser.dark(theme)
    browser.load(page)
    rgb = browser.run("[...document.getElementById('graph').getContext('2d').getImageData(5, 400, 1, 1).data]")
    assert (sum(rgb[:3]) < 200) == theme
    browser.key("t")
    browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    rgb = browser.run("[...document.getElementById('graph').getContext('2d').getImageData(5, 400, 1, 1).data]")
    assert (sum(rgb[:3]) < 200) != theme


@in_browser
def test_only_what_is_seen_is_drawn(browser, tmp_path) -> None:
    class Long(torch.nn.Module):
        def forward(self, x):
            for _ in range(5000):
                x = (x + 1).relu()
            return x

    path = tmp_path / "long.pt2"
    torch.export.save(torch.export.export(Long(), (torch.ones(2),)), str(path))
    page = tmp_path / "page.html"
    page.write_text(view(path))
    browser.load(page)
    assert browser.problems() == []
    assert browser.run("ingotView.count") > 10000 and 5 < browser.run("ingotView.drawn()") < 200
    browser.run("ingotView.go(ingotView.find('relu_4000')[0])")
    assert 5 < browser.run("ingotView.drawn()") < 200


# ---- two models, costs, reports, and the server


class Layer(torch.nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.how = how

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.fc(x), approximate=self.how)


class Layers(torch.nn.Module):
    def __init__(self, hows: list[str], extra: bool = False) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(how) for how in hows)
        self.extra = extra

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sigmoid().sum(1) if self.extra else x.sum(1)


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[pathlib.Path, pathlib.Path, pathlib.Path]:
    """Two models whose third layers differ, and inputs; the second has a call more at its end."""
    folder = tmp_path_factory.mktemp("pair")
    for name, hows, extra in (("a", ["none"] * 4, False), ("b", ["none", "none", "tanh", "none"], True)):
        torch.manual_seed(0)
        torch.export.save(torch.export.export(Layers(hows, extra), (torch.ones(3, 4),)), str(folder / f"{name}.pt2"))
    numpy.savez(folder / "x.npz", x=numpy.linspace(-2, 2, 12, dtype="float32").reshape(3, 4))
    return folder / "a.pt2", folder / "b.pt2", folder / "x.npz"


def named(d: dict, items: list[int]) -> set[str]:
    return {d["texts"][d["items"][i][2]] for i in items}


def marks(d: dict) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for item, mark, _ in zip(*[iter(d["marks"])] * 3, strict=True):
        found.setdefault(mark, []).append(item)
    return found


def test_two_models_beside_each_other(pair, tmp_path) -> None:
    a, b, x = pair
    d = data(view(a, str(b), "--inputs", str(x)))
    assert d["name"] == "a.pt2" and d["other"] == "b.pt2" and "gelu_2" in d["why"]
    found = marks(d)
    assert named(d, found[4]) == {"gelu_2"} and set(d["first"]) == set(found[4]) and len(found[4]) == 2
    assert named(d, found[3]) == {"sigmoid"} and 2 not in found  # added, nothing is removed
    assert named(d, found[1]) == {"sum_1"}  # it reads another value
    partners = {i: p for i, _, p in zip(*[iter(d["marks"])] * 3, strict=True) if p >= 0}
    assert all(partners[p] == i for i, p in partners.items())
    inside = {i: p for i, p in partners.items() if min(i, p) > 1 and d["beside"] not in (i, p)}
    assert inside and all(d["items"][i][2] == d["items"][p][2] for i, p in inside.items())
    # Without inputs the call that has another argument is changed.
    assert "gelu_2" in named(d, marks(data(view(a, str(b))))[1])
    # The other way round it is removed.
    assert named(d, marks(data(view(b, str(a))))[2]) <= {"sigmoid", "sum_1"} | {"gelu_2"}
    onnx = tmp_path / "b.onnx"
    subprocess.run([INGOT, "convert", str(b), str(onnx), "--no-check"], check=True, capture_output=True)
    mixed = data(view(a, str(onnx), "--inputs", str(x)))
    assert "gelu_2" in mixed["why"] and named(mixed, [mixed["first"][0]]) == {"gelu_2"} and mixed["first"][1]
    assert marks(data(view(a, str(a)))).keys() <= {0}
    for option in ("--svg", "--dot"):
        assert "sigmoid" in view(a, str(b), option)


@in_browser
def test_two_models_in_a_browser(pair, browser, tmp_path) -> None:
    a, b, x = pair
    page = tmp_path / "page.html"
    page.write_text(view(a, str(b), "--inputs", str(x)))
    browser.load(page)
    assert browser.problems() == [] and "the first that differs" in browser.run("ingotView.legend()")
    browser.key("n")  # to the first difference
    first = browser.run("ingotView.selected()")
    other = browser.run(f"ingotView.partner({first})")
    assert browser.run(f"ingotView.label({first})") == "aten.gelu.default"
    browser.run("ingotView.all(true)")
    browser.run(f"ingotView.go({first})")
    assert browser.run(f"Math.abs(ingotView.rect({first}).y - ingotView.rect({other}).y)") < 1  # side by side
    assert "tanh" in browser.run("document.getElementById('side').textContent")
    browser.key("=")
    assert browser.run("ingotView.selected()") == other
    middle = browser.run(f"(() => {{ const r = ingotView.rect({other}); return [r.x, r.y, r.w, r.h]; }})()")
    assert middle[2] > 10
    found = set()
    for _ in range(12):
        browser.key("n")
        found.add(browser.run("ingotView.selected()"))
    assert found == set(browser.run("Object.values(ingotView.marks()).flat()"))
    # A click finds what is drawn, in the second model too.
    browser.run(f"ingotView.go({other})")
    x0, y0 = browser.run("(() => { const c = ingotView.onScreen(ingotView.selected()); return [c.x, c.y]; })()")
    browser.run("ingotView.select(-1)")
    browser.click(x0, y0)
    assert browser.run("ingotView.selected()") == other and browser.problems() == []
    # A pair counts once, also if one of it is what differs first.
    assert "1 changed" in browser.run("ingotView.legend()")
    changed = marks(data(page.read_text()))[1]
    page.write_text(re.sub(rf'("marks":\[(?:[-0-9]+,)*?{changed[0]}),1,', r"\1,4,", page.read_text(), count=1))
    browser.load(page)
    assert re.match("1 changed", browser.run("ingotView.legend()"))


def test_costs_of_a_run(pair, tmp_path) -> None:
    a, _, x = pair
    done = subprocess.run([INGOT, "bench", str(a), "--inputs", str(x), "--profile", "--json", "--seconds", "0"],
                          capture_output=True, timeout=100, check=True)
    profile = json.loads(done.stdout)
    assert {"linear", "gelu"} <= {v["name"] for v in profile["values"]} and profile["steps"]
    assert {v["bytes"] for v in profile["values"] if v["name"].startswith("gelu")} == {48}
    path = tmp_path / "p.json"
    path.write_bytes(done.stdout)
    d = data(view(a, "--profile", str(path)))
    costs = {i: (us, size) for i, us, size in zip(*[iter(d["costs"])] * 3, strict=True)}
    assert {d["texts"][d["items"][i][3]] for i in costs} >= {"aten.linear.default", "aten.gelu.default"}
    assert all(us >= 0 and size >= 0 for us, size in costs.values()) and sum(us for us, _ in costs.values()) > 0
    total = sum(s["us"] for s in profile["steps"] if s["name"])
    assert sum(us for us, _ in costs.values()) == pytest.approx(total, rel=1e-4)
    assert data(view(a))["costs"] == []


@in_browser
def test_costs_in_a_browser(pair, browser, tmp_path) -> None:
    a, *_ = pair
    path, page = tmp_path / "p.json", tmp_path / "page.html"
    values = [{"name": "linear", "us": 3, "bytes": 10}, {"name": "gelu", "us": 1.5, "bytes": 2000}]
    path.write_text(json.dumps({"values": [*values, {"name": "nobody", "us": 1}]}))
    page.write_text(view(a, "--profile", str(path)))
    browser.load(page)
    assert browser.run("ingotView.heat()") == "time" and "3 us of 4.5 us" in browser.run("ingotView.legend()")
    assert browser.run("ingotView.micros(0)") == 4.5
    browser.key("m")
    assert browser.run("ingotView.heat()") == "memory" and "2 kB of 2.01 kB" in browser.run("ingotView.legend()")
    browser.key("m")
    assert browser.run("ingotView.heat()") == "" and browser.problems() == []


def test_the_report_of_a_draft(tmp_path) -> None:
    class Asks(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    report = torch.export._draft_export.draft_export(Asks(), (torch.ones(4),))._report.to_json()
    path = tmp_path / "report.json"
    path.write_text(report)
    page = view(path)
    assert "data_dependent" in page and "if x.sum() &#62; 0" in page and "<script" not in page
    issue = json.loads(report)["issues"][0]
    for text in HOSTILE:
        hostile = {"issues": [{**{k: text for k in issue}, "line": 1, "frames": [{"file": text, "code": text}] * 2}]}
        path.write_text(json.dumps(hostile))
        tags, ours = Tags(), view(path)
        tags.feed(ours)
        assert {t for t, _ in tags.seen} <= set("html head meta title style body h1 h2 h3 p section div small pre "
                                                "table tr th td details summary".split())
        assert not re.search("[\u202e\u2028\x1b]", ours)


class Served:
    """A server of `ingot view --serve`."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen([INGOT, "view", *words, "--serve"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/[0-9a-f]{32}/", self.address)[1])
        self.path = "/" + self.address.split("/", 3)[3]

    def ask(self, path: str, host: str | None = None, method: str = "GET") -> tuple[int, dict, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.headers), body

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


def test_a_server_for_this_machine(program) -> None:
    served = Served(str(program))
    try:
        status, head, body = served.ask(served.path)
        assert status == 200 and b"ingotView" in body and b"connect-src 'self'" in body
        assert head["Cache-Control"] == "no-store" and "Access-Control-Allow-Origin" not in head
        status, _, part = served.ask(served.path + "part/0")
        assert status == 200 and json.loads(part)["items"] and served.ask(served.path + "part/1")[0] == 404
        assert served.ask("/")[0] == served.ask("/part/0")[0] == served.ask("/" + "0" * 32 + "/")[0] == 404
        assert served.ask(served.path + "../../etc/passwd")[0] == served.ask("/etc/passwd")[0] == 404
        assert served.ask(served.path, host="example.com")[0] == served.ask(served.path, host="127.0.0.1")[0] == 403
        assert served.ask(served.path, method="POST")[0] == 405
        # Connections that say nothing hold up nobody.
        idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(8)]
        assert served.ask(served.path)[0] == 200
        for s in idle:
            s.close()
        sockets = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [words[1] for words in sockets if words[3] == "0A"]
        assert f"0100007F:{served.port:04X}" in listening and f"00000000:{served.port:04X}" not in listening
    finally:
        assert served.end() == -signal.SIGINT


@in_browser
def test_large_models_come_in_parts(browser, tmp_path) -> None:
    class Long(torch.nn.Module):
        def forward(self, x):
            for _ in range(3000):
                x = (x + 1).relu()
            return x

    path = tmp_path / "long.pt2"
    torch.export.save(torch.export.export(Long(), (torch.ones(2),)), str(path))
    served = Served(str(path))
    try:
        browser.visit(served.address)
        browser.run("ingotView.ready.then(() => 1)")
        count = browser.run("ingotView.count")
        assert browser.run("ingotView.loaded()") == count > 6000
        asked = [r.removeprefix(served.address) for r in browser.requests() if r.startswith(served.address)]
        assert asked == ["", "part/0", "part/1"] and len(browser.requests()) == 3
        assert browser.run("ingotView.find('relu_2999').length") == 1 and browser.problems() == []
        assert browser.run("ingotView.overlap(0)") == 0
    finally:
        served.end()


@in_browser
def test_a_narrow_window(pair, browser, tmp_path) -> None:
    a, b, x = pair
    page = tmp_path / "page.html"
    page.write_text(view(a, str(b), "--inputs", str(x)))
    try:
        browser.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False)
        browser.load(page)
        boxes = browser.run("['top', 'side', 'legend'].map(i => document.getElementById(i).getBoundingClientRect())"
                            ".map(r => [r.left, r.top, r.right, r.bottom])")
        assert all(left >= 0 and right <= 400 for left, _, right, _ in boxes)
        top, side, legend = boxes
        assert top[3] <= legend[1] and legend[3] <= side[1]  # one below the other
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")
