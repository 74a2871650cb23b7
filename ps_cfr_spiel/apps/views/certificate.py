"""The public tree as text: a certificate to read, compare and pin in a test.

One line for each public state, indented by depth: its number, the move to it, the acting player, each
player's possible knowledge there, and the number of histories. After the certificates of OpenSpiel's
`infostate_tree.h`.
"""

import pyspiel

from ps_cfr_spiel import PublicTree


def certificate(tree: PublicTree, depth: int | None = None, infostates: bool = True) -> str:
  """A public tree as indented text, down to `depth` steps below the root.

  Both players' infostates at each public state are listed, or only counted; ValueError without public states.
  """
  check_public_states(tree)
  lines, stack = [], [(0, 0)]
  while stack:
    number, level = stack.pop()
    lines.append("  " * level + describe_state(tree, number, infostates))
    if depth is None or level < depth:
      stack += [(child, level + 1) for child in reversed(tree.names.children[number])]
  return "\n".join(lines)


def describe_state(tree: PublicTree, number: int, infostates: bool = True) -> str:
  """One public state in a line; see `certificate`."""
  labels, player = tree.names, tree.names.public_states[number].player
  chance = player == pyspiel.PlayerId.CHANCE
  mover = f"player {player}" if player >= 0 else "chance" if chance else "end"
  known, count = labels.source.possible_infostates(number), labels.source.count(number)
  listed = (f"{{{', '.join(map(repr, sorted(names)))}}}" for names in known)
  sets = listed if infostates else (f"{len(names):,}" for names in known)
  histories = f"{count:,} {'history' if count == 1 else 'histories'}"
  return f"#{number} {labels.move_to(number)}: {mover}, {' x '.join(sets)}, {histories}"


def check_public_states(tree: PublicTree) -> None:
  """ValueError if a tree has no public states."""
  if not tree.names.public_states:
    raise ValueError("This tree has no public states; build it without public_states='none'.")
