"""Text for people: a strategy at a spot, charts, certificates, units.

May import: evaluation and lower layers. `public_state_view` has a strategy at one public state, `charts`
puts it into text, `certificate` does so with a public tree; `position_view` has beliefs about pieces on the
map of a game that has one; `explorer_page` puts a whole solution into a page for the browser, `board_report`
has reports over boards, `table_page` a person's game; `units` has all knowledge of single games' parameters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
