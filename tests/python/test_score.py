# SPDX-License-Identifier: Apache-2.0
"""ingot score: one result per row, whatever happens to the process."""

import json
import mmap
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
import zipfile

import numpy
import pytest

import ingot as torch
from ingot.batch import Predictor, score
from ingot.batch.files import need
from ingot.batch.sources import Csv, open_source

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")


class Affine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.fc(x), x.sum(1)


class Lookup(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids).sum(1)


class Brightness(torch.nn.Module):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image.mean([2, 3])


def saved(model: torch.nn.Module, example: torch.Tensor, path: pathlib.Path, *dims: int) -> pathlib.Path:
    names = {dim: torch.export.Dim(f"d{dim}") for dim in dims}
    torch.export.save(torch.export.export(model.eval(), (example,), dynamic_shapes=(names,)), path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    torch.manual_seed(0)
    return saved(Affine(), torch.ones(8, 4), tmp_path_factory.mktemp("model") / "m.pt2", 0)


def rows(count: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).standard_normal((count, 4)).astype("float32")


def check(path: pathlib.Path, model: pathlib.Path, x: numpy.ndarray) -> None:
    with numpy.load(path) as out:
        assert out["row"].tolist() == list(range(len(x)))
        want = torch.open(model)(x)
        numpy.testing.assert_allclose(out["linear"], want[0], rtol=1e-5, atol=1e-6)
        numpy.testing.assert_allclose(out["sum_1"], want[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_npz(model: pathlib.Path, tmp_path: pathlib.Path, threads: int) -> None:
    x = rows(1001)
    numpy.savez(tmp_path / "in.npz", x=x)
    seen: list[tuple[int, int]] = []
    report = score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=100, batch=7, threads=threads,
                   progress=lambda done, total: seen.append((done, total)))
    assert (report.rows, report.scored, report.bad, report.parts, report.taken_up) == (1001, 1001, 0, 11, 0)
    assert len(seen) == 11 and seen[-1] == (1001, 1001)
    check(tmp_path / "out.npz", model, x)
    assert sorted(os.listdir(tmp_path)) == ["in.npz", "out.npz"]


def test_a_fixed_batch_is_filled_up(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    path = saved(Affine(), torch.ones(8, 4), tmp_path / "m.pt2")
    numpy.savez(tmp_path / "in.npz", x=rows(21))
    score(path, tmp_path / "in.npz", tmp_path / "out.npz", batch=5)
    with numpy.load(tmp_path / "out.npz") as out:
        numpy.testing.assert_allclose(out["sum_1"], rows(21).sum(1), rtol=1e-5, atol=1e-6)


def test_bad_rows_of_csv(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    lines = [f'"n\n""{i}""",1,2,3,{i}' for i in range(600)]
    lines[7] = "x,1,2,oops,4"
    lines[300] = "1,2"
    lines[599] = "x,1,,3,4"
    (tmp_path / "in.csv").write_text("name,a,b,c,d\n" + "\n".join(lines) + "\n")
    report = score(model, tmp_path / "in.csv", tmp_path / "out.csv", inputs={"x": ["a", "b", "c", "d"]},
                   keep=("name",), outputs=("sum_1",), part_rows=90)
    assert (report.scored, report.bad) == (597, 3)
    written = Csv(str(tmp_path / "out.csv"))
    assert written.columns == ["row", "name", "sum_1"] and written.rows == 597
    found = written.read(written.columns, 0, 597)
    good = [i for i in range(600) if i not in (7, 300, 599)]
    assert found["row"] == [str(i) for i in good]
    assert found["name"] == [f'n\n"{i}"' for i in good]
    assert [float(v) for v in found["sum_1"]] == [6.0 + i for i in good]
    bad = [json.loads(line) for line in (tmp_path / "out.csv.bad.jsonl").read_text().splitlines()]
    assert [b["row"] for b in bad] == [7, 300, 599]
    for line, words in zip(bad, ["'oops'", "2 fields, expected 5", "no value"], strict=True):
        assert words in line["reason"]


def test_quotes_within_fields_of_csv(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    lines = [f'{i}" pipe,"[1, 2, 3, {i}]"' for i in range(700)]
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbf" + ('"name",x\r\n\r\n' + "\r\n".join(lines)).encode())
    report = score(model, tmp_path / "in.csv", tmp_path / "out.csv", keep=("name",), part_rows=90)
    assert (report.rows, report.scored) == (700, 700)
    found = Csv(str(tmp_path / "out.csv")).read(["name", "sum_1"], 0, 700)
    assert found["name"] == [f'{i}" pipe' for i in range(700)]
    assert [float(v) for v in found["sum_1"]] == [6.0 + i for i in range(700)]
    (tmp_path / "open.csv").write_text('a\n1\n"2\n3\n')
    with pytest.raises(ValueError, match="record at byte 4 does not end"):
        Csv(str(tmp_path / "open.csv"))


class Choice(torch.nn.Module):
    def forward(self, x: torch.Tensor, on: torch.Tensor) -> torch.Tensor:
        return torch.where(on, x, 0)


def test_values_that_the_type_cannot_hold(tmp_path: pathlib.Path) -> None:
    names = {0: torch.export.Dim("d0")}
    example = (torch.ones(4, dtype=torch.int8), torch.ones(4, dtype=torch.bool))
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(Choice(), example, dynamic_shapes=(names, names)), path)
    numpy.savez(tmp_path / "in.npz", x=numpy.array([5, 127, 128, -129, -128]), on=numpy.ones(5, bool))
    (tmp_path / "in.csv").write_text("x,on\n5,true\n127,False\n128,1\n7,0\n9,maybe\n")
    for data, good, bad in [("in.npz", [5, 127, -128], [2, 3]), ("in.csv", [5, 0, 0], [2, 4])]:
        score(path, tmp_path / data, tmp_path / "out.npz", batch=2)
        with numpy.load(tmp_path / "out.npz") as out:
            assert out["where"].tolist() == good
        reasons = (tmp_path / "out.npz.bad.jsonl").read_text().splitlines()
        assert [json.loads(line)["row"] for line in reasons] == bad


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_bfloat16(tmp_path: pathlib.Path) -> None:
    path = saved(Twice(), torch.ones(4, 3, dtype=torch.bfloat16), tmp_path / "m.pt2", 0)
    numpy.savez(tmp_path / "in.npz", x=numpy.arange(30, dtype="float32").reshape(10, 3))
    score(path, tmp_path / "in.npz", tmp_path / "out.npz")
    with numpy.load(tmp_path / "out.npz") as out:
        assert out["mul"].tolist() == (2 * numpy.arange(30.0).reshape(10, 3)).tolist()


def test_parts_without_a_job_count_for_nothing(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    numpy.savez(tmp_path / "in.npz", x=rows(300))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    for remove in (True, False):
        with pytest.raises(KeyboardInterrupt):
            score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=100, progress=stop)
        folder = tmp_path / "out.npz.parts"
        for part in folder.glob("*.npz"):
            if not remove:  # as if another job had written it
                part.rename(part.with_name("0" * 16 + part.name[16:]))
        if remove:
            (folder / "job.json").unlink()
        report = score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=100)
        assert report.taken_up == 0
        check(tmp_path / "out.npz", model, rows(300))


def test_no_result_at_all_is_a_failure(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.csv").write_text("x\na\nb\n")
    run = [sys.executable, "-m", "ingot.score", str(model), "--data", "in.csv", "--output", "out.csv"]
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 5 and "no row has a result" in ended.stderr


def test_rows_that_the_model_refuses(tmp_path: pathlib.Path) -> None:
    path = saved(Lookup(), torch.ones(4, 3, dtype=torch.int64), tmp_path / "m.pt2", 0)
    ids = numpy.arange(300).reshape(100, 3) % 10
    ids[17, 1] = 10
    ids[80, 0] = -3
    numpy.savez(tmp_path / "in.npz", ids=ids)
    report = score(path, tmp_path / "in.npz", tmp_path / "out.npz", batch=16)
    assert (report.scored, report.bad) == (98, 2)
    bad = [json.loads(line)["row"] for line in (tmp_path / "out.npz.bad.jsonl").read_text().splitlines()]
    assert bad == [17, 80]


@pytest.mark.parametrize(("change", "words"), [
    ({"inputs": {"y": "x"}}, "no input 'y'"),
    ({"inputs": {"x": "z"}}, "no column 'z'"),
    ({"keep": ("z",)}, "no column 'z' to keep"),
    ({"engine": "dask"}, "expected one of local, ray, spark"),
    ({"outputs": ("z",)}, "no output 'z'"),
    ({"batch": 0}, "at least 1"),
])
def test_wrong_questions(model: pathlib.Path, tmp_path: pathlib.Path, change: dict, words: str) -> None:
    numpy.savez(tmp_path / "in.npz", x=rows(3))
    with pytest.raises(ValueError, match=words):
        score(model, tmp_path / "in.npz", tmp_path / "out.npz", **change)
    assert sorted(os.listdir(tmp_path)) == ["in.npz"]


def test_nothing_that_is_read_is_overwritten(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    data = tmp_path / "in.npz"
    numpy.savez(data, x=rows(3))
    before = data.read_bytes()
    (tmp_path / "link.npz").symlink_to("in.npz")
    for output, bad in ((data, None), (tmp_path / "link.npz", None), (tmp_path / "out.npz", data),
                        (tmp_path / "out.npz", tmp_path / "out.npz"), (tmp_path / "out.npz", model)):
        with pytest.raises(ValueError, match="cannot be the same file"):
            score(model, data, output, bad=bad)
    assert data.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="no such folder"):
        score(model, data, tmp_path / "missing" / "out.npz")
    assert sorted(os.listdir(tmp_path)) == ["in.npz", "link.npz"]


def test_kept_columns_have_names_of_their_own(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    numpy.savez(tmp_path / "in.npz", x=rows(3), row=numpy.arange(3), linear=numpy.arange(3), id=numpy.arange(3))
    for keep, words in ((("row",), "numbers of the rows"), (("linear",), "an output"), (("id", "id"), "twice")):
        with pytest.raises(ValueError, match=words):
            score(model, tmp_path / "in.npz", tmp_path / "out.npz", keep=keep)
    score(model, tmp_path / "in.npz", tmp_path / "out.npz", keep=("id", "linear"), outputs=("sum_1",))


def test_another_job_is_not_taken_up(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    numpy.savez(tmp_path / "in.npz", x=rows(300))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=100, progress=stop)
    with pytest.raises(ValueError, match="rows per part"):
        score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=50)
    report = score(model, tmp_path / "in.npz", tmp_path / "out.npz", part_rows=50, fresh=True)
    assert report.taken_up == 0
    check(tmp_path / "out.npz", model, rows(300))


class Total(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum()


def test_an_output_without_rows_is_no_fault_of_a_row(tmp_path: pathlib.Path) -> None:
    path = saved(Total(), torch.ones(8, 4), tmp_path / "m.pt2", 0)
    numpy.savez(tmp_path / "in.npz", x=rows(30))
    with pytest.raises(ValueError, match="Choose outputs with a result per row"):
        score(path, tmp_path / "in.npz", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


# ---- crashes

# Ends the process without any clean-up when the nth file is renamed into place: before or after it.
CRASHING = """
import os, signal, sys
from ingot.score import main
left, late = int(sys.argv[1]), sys.argv[2] == "late"
rename = os.replace
def replace(a, b):
    global left
    left -= 1
    if left == 0 and not late:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(a, b)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
sys.exit(main(sys.argv[3:]))
"""


@hypothesis.settings(max_examples=8, deadline=None,
                     suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(points=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=3),
                  threads=st.integers(1, 2))
def test_killed_at_any_rename(model: pathlib.Path, tmp_path: pathlib.Path, points: list, threads: int) -> None:
    x = rows(500)
    x = numpy.concatenate([x, x])
    numpy.savez(tmp_path / "in.npz", x=x)
    out = tmp_path / "out.npz"
    arguments = [str(model), "--data", str(tmp_path / "in.npz"), "--output", str(out), "--part", "150",
                 "--threads", str(threads)]
    for at, late in points:
        run = [sys.executable, "-c", CRASHING, str(at), "late" if late else "early", *arguments]
        ended = subprocess.run(run, capture_output=True, text=True, timeout=60)
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        assert not out.exists() or numpy.load(out)["row"].tolist() == list(range(len(x)))
    score(model, tmp_path / "in.npz", out, part_rows=150, inputs={})
    check(out, model, x)
    left = [name for name in os.listdir(tmp_path) if not name.startswith(".out.npz.bad.jsonl")]
    assert sorted(left) == ["in.npz", "out.npz"]
    for name in os.listdir(tmp_path):
        os.unlink(tmp_path / name)


def test_killed_at_any_moment(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = rows(20000)
    numpy.savez(tmp_path / "in.npz", x=x)
    out = tmp_path / "out.npz"
    run = [sys.executable, "-m", "ingot.score", str(model), "--data", str(tmp_path / "in.npz"), "--output", str(out),
           "--part", "16", "--batch", "4"]
    job = subprocess.Popen(run)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(tmp_path.glob("out.npz.parts/*.npz"))) < 20:
        time.sleep(0.01)
    job.kill()
    job.wait()
    assert not out.exists()
    ended = subprocess.run([*run, "--json"], capture_output=True, text=True, timeout=120, check=True)
    report = json.loads(ended.stdout)
    assert report["taken_up"] >= 20 and report["scored"] == 20000
    check(out, model, x)


# ---- the predictor


def test_the_predictor_travels(model: pathlib.Path) -> None:
    predictor = Predictor(model, outputs=("sum_1",))
    x = rows(5)
    want = predictor.predict({"x": x})
    copy = pickle.loads(pickle.dumps(predictor))
    numpy.testing.assert_array_equal(copy({"x": x, "id": numpy.arange(5)})["sum_1"], want["sum_1"])
    with pytest.raises(ValueError, match="row 0 of the batch.*shape"):
        copy({"x": [[1.0, 2.0]]})


# ---- what needs other packages


def table(x: numpy.ndarray, path: pathlib.Path, compression: str = "snappy") -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lists = [row.tolist() for row in x]
    if len(x) > 40:
        lists[3], lists[40] = None, [1.0, 2.0]
    values = pyarrow.table({"x": pyarrow.array(lists, pyarrow.list_(pyarrow.float32())),
                            "id": [f"r{i}" for i in range(len(x))]})
    parquet.write_table(values, path, row_group_size=77, compression=compression)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_parquet(model: pathlib.Path, tmp_path: pathlib.Path, ending: str) -> None:
    x = rows(500)
    table(x, tmp_path / "in.parquet")
    out = tmp_path / f"out.{ending}"
    report = score(model, tmp_path / "in.parquet", out, part_rows=100, keep=("id",))
    assert (report.scored, report.bad) == (498, 2)
    good = [i for i in range(500) if i not in (3, 40)]
    if ending == "csv":
        assert Csv(str(out)).read(["id"], 0, 498)["id"] == [f"r{i}" for i in good]
        return
    import pyarrow.ipc
    import pyarrow.parquet
    found = pyarrow.parquet.read_table(out) if ending == "parquet" else pyarrow.ipc.open_file(out).read_all()
    assert found["row"].to_pylist() == good and found["id"].to_pylist() == [f"r{i}" for i in good]
    numpy.testing.assert_allclose(numpy.array(found["linear"].to_pylist()), torch.open(model)(x)[0][good], rtol=1e-5,
                                  atol=1e-6)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_fields_of_structs_are_columns(model: pathlib.Path, tmp_path: pathlib.Path, ending: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    x = rows(50)
    lists = [row.tolist() for row in x]
    lists[7] = [1.0, None, 2.0, 3.0]
    inner = [None if i == 5 else {"x": row, "tag": {"id": i}} for i, row in enumerate(lists)]
    kind = pyarrow.struct([("x", pyarrow.list_(pyarrow.float32())), ("tag", pyarrow.struct([("id", pyarrow.int64())]))])
    values = pyarrow.table({"a.b": list(range(50)), "a": pyarrow.array(inner, kind)})
    data = tmp_path / f"in.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(values, data, row_group_size=16)
    else:
        with pytest.importorskip("pyarrow.ipc").new_file(data, values.schema) as file:
            file.write_table(values, max_chunksize=16)
    assert open_source(str(data)).columns == ["a.b", "a", "a.x", "a.tag", "a.tag.id"]
    out = tmp_path / "out.csv"
    report = score(model, data, out, inputs={"x": "a.x"}, keep=("a.tag.id", "a.b", "a.tag"), part_rows=20)
    assert (report.scored, report.bad) == (48, 2)
    found = Csv(str(out)).read(["a.tag.id", "a.b", "a.tag"], 0, 48)
    good = [str(i) for i in range(50) if i not in (5, 7)]
    assert found["a.tag.id"] == found["a.b"] == good and found["a.tag"][0] == '{"id": 0}'
    reasons = [json.loads(line) for line in (tmp_path / "out.csv.bad.jsonl").read_text().splitlines()]
    assert [r["row"] for r in reasons] == [5, 7] and "[1.0, None, 2.0, 3.0]" in reasons[1]["reason"]
    data.write_bytes(data.read_bytes()[:20])
    with pytest.raises(ValueError, match=f"in.{ending}: "):
        open_source(str(data))


def test_rows_of_different_lengths(tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = saved(Lookup(), torch.ones(4, 3, dtype=torch.int64), tmp_path / "m.pt2", 0, 1)
    ids = [[i % 10] * (2 + i % 3) for i in range(50)]
    parquet.write_table(pyarrow.table({"ids": ids}), tmp_path / "in.parquet")
    score(path, tmp_path / "in.parquet", tmp_path / "out.parquet", batch=4, part_rows=20)
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found["row"].to_pylist() == list(range(50))
    session = torch.open(path)
    want = [session(numpy.array([row] * 2))[0] for row in ids]
    numpy.testing.assert_allclose(numpy.array(found[session.outputs[0].name].to_pylist()), want, rtol=1e-5, atol=1e-6)


def test_results_of_different_lengths(tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = saved(Twice(), torch.ones(4, 3), tmp_path / "m.pt2", 0, 1)
    x = [[float(i)] * (2 if i < 20 else 2 + i % 3) for i in range(50)]
    parquet.write_table(pyarrow.table({"x": x}), tmp_path / "in.parquet")
    score(path, tmp_path / "in.parquet", tmp_path / "out.parquet", part_rows=20)  # the first part has one length
    found = parquet.read_table(tmp_path / "out.parquet")["mul"].to_pylist()
    assert found == [[2 * v for v in row] for row in x]
    with pytest.raises(ValueError, match="use .parquet"):
        score(path, tmp_path / "in.parquet", tmp_path / "out.npz", part_rows=20)


def test_images(tmp_path: pathlib.Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = saved(Brightness(), torch.ones(2, 3, 6, 8), tmp_path / "m.pt2", 0)
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for i in range(10):
        where = folder / "more" if i % 2 else folder
        image.new("RGB", (20, 10), (25 * i, 0, 255)).save(where / f"{i}.png")
    (folder / "broken.jpg").write_bytes(b"no image")
    report = score(path, folder, tmp_path / "out.csv", batch=4, mean=[0, 0, 1], std=[1, 1, 2])
    assert (report.scored, report.bad) == (10, 1)
    found = Csv(str(tmp_path / "out.csv")).read(["file", "mean"], 0, 10)
    for name, value in zip(found["file"], found["mean"]):
        number = int(name.split("/")[-1].split(".")[0])
        numpy.testing.assert_allclose(json.loads(value), [25 * number / 255, 0, 0], atol=1e-6)
    assert "broken.jpg" in (tmp_path / "out.csv.bad.jsonl").read_text()


class Mortal(Predictor):
    """Ends the process that it runs in, in the middle of a part and without any clean-up, as often as it was told."""

    def __init__(self, path: pathlib.Path, folder: str, deaths: int) -> None:
        super().__init__(path)
        self.folder, self.deaths, self.calls = folder, deaths, 0

    def predict(self, arrays: dict) -> dict:
        self.calls += 1
        if self.calls == 60:  # each process does two parts, and dies in its third
            for i in range(self.deaths):
                try:
                    pathlib.Path(self.folder, str(i)).touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(arrays)


def test_ray_with_killed_workers(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")
    x = rows(3000)
    numpy.savez(tmp_path / "in.npz", x=x)
    ray.init(num_cpus=4, include_dashboard=False, logging_level="ERROR",
             runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}})
    (tmp_path / "deaths").mkdir()
    mortal = Mortal(model, str(tmp_path / "deaths"), 4)
    seen: list[int] = []
    try:
        report = score(mortal, tmp_path / "in.npz", tmp_path / "out.npz", engine="ray", workers=3, part_rows=50,
                       batch=2, progress=lambda done, total: seen.append(done))
    finally:
        ray.shutdown()
    assert len(list((tmp_path / "deaths").iterdir())) == 4
    assert (report.scored, report.bad, report.parts) == (3000, 0, 60)
    assert seen == list(range(50, 3001, 50))  # no part was reported twice
    check(tmp_path / "out.npz", model, x)


def test_spark(model: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    try:
        session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    except Exception as error:
        pytest.skip(f"no Java machine: {type(error).__name__}")
    x = rows(1000)
    table(x[:20], tmp_path / "own.parquet", "none")  # Spark's own snappy does not load where musl is installed too
    numpy.savez(tmp_path / "in.npz", x=x)
    try:
        report = score(model, tmp_path / "in.npz", tmp_path / "out.npz", engine="spark", part_rows=100)
        frame = session.read.parquet(str(tmp_path / "own.parquet"))
        predictor = Predictor(model, outputs=("sum_1",))
        column = frame.select(predictor.udf("linear", "array<float>")(frame.x)).collect()
        own = frame.mapInArrow(predictor.map_arrow, "x array<float>, id string, sum_1 float").collect()
    finally:
        session.stop()
    assert (report.scored, report.parts) == (1000, 10)
    check(tmp_path / "out.npz", model, x)
    numpy.testing.assert_allclose([row[0] for row in column], torch.open(model)(x[:20])[0], rtol=1e-5, atol=1e-6)
    numpy.testing.assert_allclose([row["sum_1"] for row in own], x[:20].sum(1), rtol=1e-5, atol=1e-6)


def is_mapped(owner: object) -> bool:
    while owner is not None and not isinstance(owner, mmap.mmap):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner is not None


def test_arrays_of_npz_stay_in_the_file(tmp_path: pathlib.Path) -> None:
    x = numpy.random.default_rng(1).standard_normal((5, 3)).astype("float32")
    arrays = {"c": x, "f": numpy.asfortranarray(x), "big": x.astype(">f8"), "whole": numpy.arange(5)}
    arrays["text"] = numpy.array(list("abcde"))
    for save, mapped in ((numpy.savez, True), (numpy.savez_compressed, False)):
        path = tmp_path / "in.npz"
        save(path, **arrays)
        source = open_source(str(path))
        assert source.rows == 5 and source.columns == list(arrays)
        for name, array in arrays.items():
            read = source.read([name], 1, 4)[name]
            assert read.dtype == array.dtype and (read == array[1:4]).all()
            assert is_mapped(read) == mapped
    numpy.savez(tmp_path / "none.npz", x=numpy.zeros((0, 4), "float32"))
    assert open_source(str(tmp_path / "none.npz")).rows == 0
    numpy.savez(tmp_path / "cut.npz", x=x)
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole.replace(b"(5, 3)", b"(9, 3)"))  # more elements than the member has
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        open_source(str(tmp_path / "cut.npz"))


def test_missing_packages_are_named_with_their_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"the engine ray needs .* \(pip install 'ray\[data\]'\)"):
        need("ray.data")
