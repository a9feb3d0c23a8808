# SPDX-License-Identifier: Apache-2.0
"""Pages of `ingot view`: what stands in them, and how they behave in a browser (where Chromium is installed)."""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

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
