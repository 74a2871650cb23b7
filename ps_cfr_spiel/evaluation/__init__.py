"""Measures of strength: exploitability, matches, runs side by side, comparison with OpenSpiel.

May import: solvers and lower layers. `exploitability` takes any policy; `match_play` is for bots and
policies, `table_play` seats a person; `sampling_runs` measures many runs at once, `points` has the schedule;
`comparison` sets this package's solvers beside OpenSpiel's.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
