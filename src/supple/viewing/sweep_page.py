"""A page with the map of a sweep: a cell that is clicked shows its run.

Served to this machine only, at an address that nobody else knows (as gate.py has it). The run of a cell is made when it
is asked for, one at a time.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from supple.errors import SuppleError, ViewError, printable
from supple.simulating.run import follow
from supple.sweeping.result import Sweep
from supple.viewing.export import export_html
from supple.viewing.gate import HEADERS, HERE, POLICY, REFUSED
from supple.viewing.stage import HOST

MOST_SAID = 10_000  #: failures
MOST = 400  #: cells along a side; of more, every second, third and so on is shown
MOST_CELLS = 200_000

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>%(title)s</title>
<meta name="viewport" content="width=device-width">
<style>body { font: 15px sans-serif; color: #28303a; margin: 1.2em; max-width: 72em }
canvas { width: 100%%; height: 60vh; image-rendering: pixelated; border: 1px solid #cdd5db; cursor: crosshair;
background: #eee } #said { min-height: 3em; white-space: pre-wrap } label { margin-right: 1.2em }
.axis { display: flex; justify-content: space-between } .bar { display: inline-block; width: 8em; height: 0.8em;
margin: 0 0.5em; background: linear-gradient(90deg, #440154, #3b528b, #21918c, #5ec962, #fde725) }</style>
<h1 style="font-size:1.3em">%(title)s</h1><p id="choose"></p><div id="top" class="axis"></div><canvas id="map"></canvas>
<div id="bottom" class="axis"></div><p id="said" aria-live="polite"></p><p>%(hint)s</p><script>
const s = %(data)s, at = s.shape.map(() => 0), long = s.shape.map((n, i) => i).filter(i => s.shape[i] > 1);
const [x, y] = [long[0] ?? 0, long[1] ?? -1];
const canvas = document.getElementById("map"), said = document.getElementById("said");
let name = s.first;
const run = () => at.reduce((sum, i, k) => sum * s.shape[k] + i, 0);
const value = () => s.values[name][run()];
const colour = t => { const c = [[68,1,84],[59,82,139],[33,145,140],[94,201,98],[253,231,37]], u = 4 * t,
  i = Math.min(3, Math.floor(u)); return c[i].map((a, k) => Math.round(a + (u - i) * (c[i + 1][k] - a))); };
function draw() {
  const known = s.values[name].filter(v => v !== null), low = known.reduce((a, b) => Math.min(a, b)),
    high = known.reduce((a, b) => Math.max(a, b));
  const w = s.shape[x], h = y < 0 ? 1 : s.shape[y], keep = [...at];
  canvas.width = w; canvas.height = h;
  const image = canvas.getContext("2d").createImageData(w, h);
  for (let j = 0; j < h; j++) for (let i = 0; i < w; i++) {
    at[x] = i; if (y >= 0) at[y] = j;
    const v = value(), k = 4 * ((h - 1 - j) * w + i);
    if (v !== null) image.data.set([...colour(high > low ? (v - low) / (high - low) : 0.5), 255], k);
  }
  at.splice(0, at.length, ...keep);
  canvas.getContext("2d").putImageData(image, 0, 0);
  const ends = k => [s.axes[k][0], s.axes[k].at(-1)];
  document.getElementById("bottom").innerHTML = "";
  document.getElementById("bottom").append(...[ends(x)[0], s.names[x] + " \\u2192", ends(x)[1]].map(word));
  document.getElementById("top").innerHTML = "";
  const up = y < 0 ? "" : s.names[y] + " \\u2191 from " + ends(y)[0] + " to " + ends(y)[1];
  const bar = word(""), scale = word(name + ": " + said_of(low));
  bar.className = "bar"; scale.append(bar, said_of(high) + " " + unit());
  document.getElementById("top").append(word(up), scale);
}
const said_of = v => String(+v.toPrecision(6));
const unit = () => [undefined, "1"].includes(s.units[name]) ? "" : s.units[name];
const word = text => { const e = document.createElement("span"); e.textContent = text; return e; };
function cell(event) {
  const box = canvas.getBoundingClientRect();
  at[x] = Math.min(canvas.width - 1, Math.floor((event.clientX - box.left) / box.width * canvas.width));
  if (y >= 0) at[y] = canvas.height - 1 -
    Math.min(canvas.height - 1, Math.floor((event.clientY - box.top) / box.height * canvas.height));
}
function tell() {
  const v = value(), given = s.names.map((n, k) => n + " = " + s.axes[k][at[k]]).join(", ");
  said.textContent = given + "\\n" + (v !== null ? name + " = " + said_of(v) + " " + unit() :
    run() in s.failures ? "failed: " + s.failures[run()] : name + ": missing");
}
canvas.onmousemove = event => { cell(event); tell(); };
canvas.onclick = event => { cell(event); if (s.runs) window.open("run/" + s.numbers[run()], "_blank"); };
const pick = (label, options, then) => {
  const l = document.createElement("label"), e = document.createElement("select");
  options.forEach((o, i) => e.add(new Option(o, i)));
  l.append(label + " ", e); e.onchange = () => { then(+e.value); draw(); };
  document.getElementById("choose").append(l); return e; };
const names = Object.keys(s.values);
pick("quantity", names, i => { name = names[i]; }).value = names.indexOf(name);
long.slice(2).forEach(k => pick(s.names[k], s.axes[k], i => { at[k] = i; }));
draw();
</script></html>"""


class SweepPage:
    """A server with the map. run: makes the result of a run by its number; None: there is none to be shown."""

    def __init__(self, sweep: Sweep, run: Callable[[int], Any] | None, port: int | None = None) -> None:
        self._run, self._size, self.token = run, len(sweep), secrets.token_urlsafe(24)
        self._page = page(sweep, run is not None)
        self._one = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        try:
            self._server = ThreadingHTTPServer((HOST, port or 0), handler)
        except OSError as e:
            raise ViewError(
                f"port {port} of this machine cannot be used: {e.strerror or e}; give another one"
            ) from None
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}/{self.token}/"

    def serve(self) -> None:
        """Until it is closed, or Ctrl-C."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, str]:
        """What an address below the token shows."""
        if path == "":
            return 200, self._page
        number = path.removeprefix("run/")
        if (
            self._run is None
            or not path.startswith("run/")
            or not (number.isdecimal() and len(number) < 12 and int(number) < self._size)
        ):
            return 404, "There is no such page.\n"
        with self._one, tempfile.TemporaryDirectory() as folder:
            try:
                return 200, export_html(self._run(int(number)), Path(folder) / "run.html").read_text()
            except SuppleError as e:
                return 200, f"<!doctype html><meta charset='utf-8'><title>run</title><p>{escape(printable(e))}</p>"


class _Handler(BaseHTTPRequestHandler):
    owner: SweepPage

    def do_GET(self) -> None:
        token, _, rest = self.path.removeprefix("/").partition("/")
        here = HERE.fullmatch(self.headers.get("Host", ""))
        if here is None or not secrets.compare_digest(token.encode(), self.owner.token.encode()):
            code, text = 403, REFUSED
        else:
            code, text = self.owner.answer(rest)
        content = text.encode()
        self.send_response(code)
        for name, value in (HEADERS | {"Content-Security-Policy": POLICY.format(socket="")}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"text/{'html' if code == 200 else 'plain'}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        with suppress(ConnectionError):  # who asked has gone
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def page(sweep: Sweep, runs: bool) -> str:
    """The map as a page that needs nothing else; with runs, a click asks for one."""
    first = sweep._to_show(None)
    steps = _steps(sweep.shape)
    some = tuple(slice(None, None, step) for step in steps)
    axes = [
        (sweep.axes[name] if name in sweep.axes else np.arange(n))[::step].tolist()
        for name, n, step in zip(sweep.dimensions, sweep.shape, steps)
    ]
    numbers = np.arange(len(sweep)).reshape(sweep.shape)[some]
    values = {
        name: [None if not np.isfinite(x) else x for x in sweep[name][some].reshape(-1).tolist()]
        for name in sweep.quantities
        if sweep._layouts[name].dtype.kind == "f"
        and sweep[name].shape == sweep.shape
        and np.isfinite(sweep[name]).any()
    }
    place = {number: i for i, number in enumerate(numbers.reshape(-1).tolist())}
    failures = {place[bad.run]: printable(bad.message) for bad in sweep.failures[:MOST_SAID] if bad.run in place}
    data = {
        "shape": numbers.shape, "names": sweep.dimensions, "axes": axes, "values": values, "units": sweep.units,
        "first": first if first in values else next(iter(values), None), "numbers": numbers.reshape(-1).tolist(),
        "runs": runs, "failures": failures,
    }  # fmt: skip
    if not values:
        raise ViewError("there is no map to show: no run gave a number")
    hint = "Click a cell to see its run." if runs else "Point at a cell to see its values."
    words = {"title": escape(printable(f"Sweep of {sweep.about.get('what', 'runs')}")), "hint": hint}
    return PAGE % (words | {"data": json.dumps(data, allow_nan=False).replace("<", "\\u003c")})


def _steps(shape: tuple[int, ...]) -> list[int]:
    """Along each axis, every how manieth cell is shown."""
    steps = [-(-n // MOST) for n in shape]
    while prod(-(-n // step) for n, step in zip(shape, steps)) > MOST_CELLS:
        longest = max(range(len(shape)), key=lambda i: shape[i] // steps[i])
        steps[longest] += 1
    return steps


def show(sweep: Sweep, port: int | None = None) -> SweepPage:
    """The page of a sweep; of a scene's, with its runs."""
    scene, groups = sweep.about.get("scene"), sweep.about.get("quantities")
    if not isinstance(scene, str) or not isinstance(groups, list):
        return SweepPage(sweep, None, port)
    from supple.sweeping.scene_runs import SceneTarget

    target = SceneTarget(scene)

    def run(number: int) -> Any:
        made = target.run_of(sweep.parameters(number))
        result = follow(made)
        result.rods = made.rods
        return result

    return SweepPage(sweep, run, port)
