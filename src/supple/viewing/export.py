"""A result as an HTML page that needs nothing else."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.simulating.result import Result
from supple.viewing.camera import FIELD, bounds, first_look, fit
from supple.viewing.colours import By, entries, legend
from supple.viewing.movie import Tell, nothing
from supple.viewing.reached import motion
from supple.viewing.scenery import Scenery
from supple.viewing.stage import Stage, close_server, open_server
from supple.viewing.timeline import HOLD, Timeline
from supple.writing import check_target, write_file

Floats = NDArray[np.float64]

FRAMES = 150  #: states that are taken of a result, at most,
NUMBERS = 12_000_000  #: and so many numbers, unless asked for otherwise

#: viser's page lights bodies by a picture all around, and is pale until it has it. Without a graphics card that takes
#: longer than all else: it is held back. On a screen that is higher than wide the picture is square, as its first
#: view is. viser's remark that there is no graphics card would lie over the legend: it is put below.
WITHOUT_PICTURE = """<style>canvas { opacity: 1 !important }
[class*=Notifications-root] { top: auto !important; bottom: 4em !important }
@media (max-aspect-ratio: 1/1) { div:has(> div > canvas) { height: 100vw !important; margin-top: 4em } }</style><script>
(() => {
    const fetched = window.fetch;
    window.fetch = (what, ...how) => String(what.url ?? what).startsWith("data:image/jpeg")
        ? new Promise(() => {}) : fetched(what, ...how);
})();</script>"""

#: Over the picture: what colours mean, and the time of the run. viser's player knows seconds of its own; its slider has
#: them, and of each of these the words that belong to it are known.
CAPTION = """<div style="position:fixed;left:0.6em;top:0.5em;z-index:5;font:15px sans-serif;color:#28303a;
pointer-events:none;background:rgba(255,255,255,0.7);border-radius:4px"><div id="supple-time"
style="padding:0.3em 0.7em">{first}</div>{legend}</div><script>(() => {{
    const at = {at}, said = {said};
    const show = () => {{
        const slider = document.querySelector('[role="slider"]');
        const now = slider === null ? NaN : parseFloat(slider.getAttribute("aria-valuenow"));
        let i = at.findIndex(t => t > now + 1e-6);
        if (!Number.isNaN(now)) document.getElementById("supple-time").textContent = said[(i < 0 ? at.length : i) - 1];
        requestAnimationFrame(show);
    }};
    requestAnimationFrame(show);
}})();</script>"""


def frames_for(timeline: Timeline, asked: int | None) -> list[int]:
    """The states to take: as many as asked for, or as a page can bear."""
    if asked is not None and asked < 1:
        raise ViewError(f"there must be at least one picture, not {asked}")
    n = max(s.model.n_bodies for s in timeline.segments)
    return timeline.spread(asked or int(np.clip(NUMBERS // (10 * n), 2, FRAMES)))


def export_html(
    result: Result, path: str | Path, *, frames: int | None = None, by: By = "active", rods: Floats | None = None,
    tell: Tell = nothing,
) -> Path:  # fmt: skip
    """One file with viser's page and the motion in it, to be opened from anywhere, without a network."""
    check_target(path, ViewError)
    timeline = Timeline(result)
    chosen, speed = frames_for(timeline, frames), timeline.speed
    server = open_server(0)
    try:
        stage = Stage(server)
        stage.rods, stage.by, stage.largest_error = rods, by, timeline.largest_error
        stage.scenery = Scenery.of(result)
        _look(server, stage, timeline, rods)
        serializer: Any = None
        at = [max(float(timeline.times[i]) - float(timeline.times[0]), 0.0) / speed for i in chosen]
        for k, i in enumerate(chosen):
            state = timeline.state(i)
            stage.show(state)
            if serializer is None:  # what is there now is where it begins
                serializer = server.get_scene_serializer()
            if len(chosen) > 1:
                serializer.insert_sleep(max(at[k + 1] - at[k], 0.0) if k + 1 < len(chosen) else HOLD)
            tell(k + 1, len(chosen))
        text = serializer.as_html().replace("<head>", "<head>" + _alone() + WITHOUT_PICTURE, 1)
        by = by if timeline.active is not None else "own"
        shown = legend(entries(by, state.sleeping is not None, stage.acts))
        caption = _caption(at, [timeline.moment(i) for i in chosen], shown)
    finally:
        close_server(server)
    before, body, after = text.rpartition("</body>")
    write_file(path, before + caption + body + after, ViewError)
    return Path(path)


def _look(server: Any, stage: Stage, timeline: Timeline, rods: Floats | None) -> None:
    """The light, the ground, and a first view that holds the whole motion."""
    model, points = timeline.segments[0].model, motion(timeline, rods, stage.scenery)
    back, radius = first_look(model, points), bounds(points)[1]
    stage.set_scene(model, points, back)
    camera = server.initial_camera
    camera.fov, camera.near, camera.far = FIELD, 2e-3 * radius, 200.0 * radius
    camera.position, camera.look_at = fit(points, back, 1.0)


def _caption(at: list[float], said: list[str], shown: str) -> str:
    words = json.dumps(said).replace("<", "\\u003c")
    return CAPTION.format(first=escape(said[0]), legend=shown, at=json.dumps([round(t, 6) for t in at]), said=words)


def _alone() -> str:
    """Forbids a page to fetch anything from anywhere."""
    from supple.viewing.gate import POLICY

    return f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(socket="")}">'
