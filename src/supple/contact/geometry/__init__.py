"""Where shapes touch, or may do so within a step.

finding     all touches: where shapes touch, or may do so within a step
spans       broad phase: bounding boxes, sorted along the longest axis
points      spheres and corners against each other, planes and boxes
capsules    capsules against spheres, boxes and each other
boxes       boxes against each other
convex      cylinders and hulls against everything
faces       faces, edges and vertices by which convex shapes touch
outlines    polygons: growing, reducing, clipping
patches     parallel edges, and deep overlap
support     distance between convex shapes
parting     the shortest way out of an overlap
expanding   the same, by an expanding polytope
hulls       how the farthest vertex of a hull is found
heights     height fields
hills       their vertices, and the way out for shapes deep inside
volumes     bounding boxes of parts of a body, for adaptive dynamics
"""
