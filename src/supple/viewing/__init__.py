"""Looking at bodies in a browser page, by viser: recordings, and runs while they go on.

    gate      who is let into a page
    messages  what a page may ask for
    batch     many instances of one mesh, each fixed to a body
    shapes    what is drawn of a model: visuals, rods, dots
    solids    the visuals of a file: solids, and meshes with their colours; contact shapes
    turned    meshes that are round about an axis
    colours   active and rigid, or by error; what they mean
    nodes     batches in the scene of a page
    stage     the page: the drawn body, what can be picked, the light, the camera
    picking   which body a click is on
    panel     what recordings and live runs have in common beside it
    plots     energy, error and active joints over time
    timeline  the states of a result by their number
    growing   a recording that is being written
    player    a result with play, pause and scrub
    live      a run while it goes on, with sliders
    export    an HTML page that needs nothing else; a moving picture

viser is an extra: pip install 'supple[view]'.
"""
