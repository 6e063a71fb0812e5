"""The page of a sweep: its map, the run of a cell; and who is let in."""

from __future__ import annotations

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("viser")

import supple
from supple.viewing.sweep_page import SweepPage, page, show

PENDULUM = {"links": 2, "duration": 0.05, "dt": 0.01}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SweepPage]:
    path = tmp_path_factory.mktemp("sweep") / "s.zarr"
    supple.sweep("pendulum", {"angle": [0.5, 1.0, 1.5], "damping": [0, 0.5]}, fixed=PENDULUM, engine="serial", out=path)
    made = show(supple.load_sweep(path))
    thread = threading.Thread(target=made.serve)
    thread.start()
    yield made
    made.close()
    thread.join()


def got(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            assert answer.headers["X-Frame-Options"] == "DENY"
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_the_map_has_the_values_and_a_click_makes_the_run(served):
    code, text = got(served.url)
    assert code == 200 and "Click a cell" in text
    data = json.loads(re.search(r"const s = (\{.*?\}), at = ", text)[1])
    assert data["shape"] == [3, 2] and data["names"] == ["angle", "damping"] and data["numbers"] == list(range(6))
    assert data["units"]["kinetic"] == "J" and len(data["values"]["kinetic"]) == 6
    code, text = got(served.url + "run/5")
    assert code == 200 and "supple-time" in text and "0.050 s" in text


def test_nobody_else_is_let_in(served):
    other = served.url.replace(served.token, "x" * len(served.token))
    assert got(other)[0] == got(served.url, Host="evil.example:80")[0] == 403
    for path in ("run/6", "run/-1", "run/x", "run/" + "9" * 5000, "../x"):
        assert got(served.url + path)[0] in (404, 414), path
    assert served.url.startswith("http://127.0.0.1:")


def test_words_of_others_are_words_and_large_maps_are_thinned():
    def value(a, b):
        return 1 / (a - 6) if b == "y" else np.nan if a == 3 else float(a)

    s = supple.sweep(value, {"a": range(1000), "b": ["</script><b>", "y"]}, engine="serial")
    text = page(s, runs=False)
    assert "</script><b>" not in text and "Point at a cell" in text
    data = json.loads(re.search(r"const s = (\{.*?\}), at = ", text)[1].replace("\\u003c", "<"))
    assert data["shape"] == [334, 2] and data["values"]["result"][2] is None and data["numbers"][2] == 6
    assert data["failures"] == {"5": "ZeroDivisionError: division by zero"} and data["values"]["result"][5] is None


def test_who_leaves_before_the_answer_is_nobodys_trouble(served, capfd):
    host, port = served.url.removeprefix("http://").split("/")[0].split(":")
    for _ in range(3):
        with socket.create_connection((host, int(port))) as gone:
            gone.send(f"GET /{served.token}/run/1 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert got(served.url)[0] == 200
    got(served.url + "run/0")  # one at a time: the others are over
    assert "Traceback" not in capfd.readouterr().err


def test_a_page_has_a_bearable_number_of_cells():
    x = np.arange(90.0)
    s = supple.sweep(lambda a, b, c: a + b + c, {"a": x, "b": x, "c": x}, engine="serial", batch=10**6)
    data = json.loads(re.search(r"const s = (\{.*?\}), at = ", page(s, False))[1])
    shape = data["shape"]
    assert 50_000 < np.prod(shape) <= 200_000 and [len(v) for v in data["axes"]] == shape
    last = [v[-1] for v in data["axes"]]
    assert data["values"]["result"][-1] == sum(last) and s.parameters(data["numbers"][-1]) == dict(zip("abc", last))
