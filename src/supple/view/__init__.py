"""Looking at bodies in a browser page, by viser: recordings, and runs while they go on.

    shapes    what is drawn of a model: rods, solids, meshes, many of one shape at a time
    colours   active and rigid, or by error
    stage     the page: the drawn body, what can be picked, the camera
    picking   which body a click is on
    panel     what recordings and live runs have in common beside it
    plots     energy, error and active joints over time
    timeline  the states of a result by their number
    player    a result with play, pause and scrub
    live      a run while it goes on, with sliders
    export    an HTML page that needs nothing else; a moving picture

viser is an extra: pip install 'supple[view]'.
"""
