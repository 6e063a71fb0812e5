"""What only a CPU can do: everything outside this package that needs it imports it from here, by these names.

    prefetching       fetch, fetch_from; LINE, the numbers in a cache line                          [prefetching.py]
    four states       lanes_type, a number that is a SIMD register of WIDTH float64; lanes_vector;
                      load_four and store_four, four neighbours of a vector as a register           [lanes.py]
    six numbers       a spatial vector in two registers: make_six, six and set_six in memory, entry,
                      dot, absolute, sum_of_six, swap_pairs                       [sixes.py, plain_sixes.py]
    Python objects    function_of makes a Python function of an entry kernel, which is given Python objects by their
                      addresses: its signature, ONE_ARGUMENT or ARGUMENTS; header_of; what it asks of them, is_none,
                      fits_vector, fits_matrix; their numbers, data_of and floats_of; what it returns, new_array
                      (release), status_object of OK, ODD or another status, none_object, refuse with an Object
                                                                                                    [python_objects.py]

On a processor without these, prefetching does nothing, one state takes the place of four, six numbers are six numbers
as in plain_sixes.py, and entry kernels, which are in exact/call_kernels.py and exact/factor_entries.py, are replaced by
whatever starts a kernel there. The algorithms stay as they are.
"""

from supple.spatial.cpu.lanes import WIDTH, lanes_type, lanes_vector, load_four, store_four
from supple.spatial.cpu.prefetching import LINE, fetch, fetch_from
from supple.spatial.cpu.python_objects import (
    ARGUMENTS,
    ODD,
    OK,
    ONE_ARGUMENT,
    Object,
    data_of,
    fits_matrix,
    fits_vector,
    floats_of,
    function_of,
    header_of,
    is_none,
    new_array,
    none_object,
    refuse,
    release,
    status_object,
)
from supple.spatial.cpu.sixes import absolute, dot, entry, make_six, set_six, six, sum_of_six, swap_pairs

__all__ = [
    "ARGUMENTS",
    "LINE",
    "ODD",
    "OK",
    "ONE_ARGUMENT",
    "WIDTH",
    "Object",
    "absolute",
    "data_of",
    "dot",
    "entry",
    "fetch",
    "fetch_from",
    "fits_matrix",
    "fits_vector",
    "floats_of",
    "function_of",
    "header_of",
    "is_none",
    "lanes_type",
    "lanes_vector",
    "load_four",
    "make_six",
    "new_array",
    "none_object",
    "refuse",
    "release",
    "set_six",
    "six",
    "status_object",
    "store_four",
    "sum_of_six",
    "swap_pairs",
]
