"""The one grammar of what users type: moves (`moves`). Text in, data out, and back again.

May use: `arguments`. Every command, flag, page and Python call reads its text here, so a text means the same
everywhere; what is not understood is refused with the place of the fault.
"""

from ps_cfr_spiel.notation.moves import find_action, find_one_action, grouped, letters, split_words
