"""A table of a Cheat player's lies and challenges."""

from ps_cfr_spiel.games import cheat


def behaviour_text(behaviour: cheat.Behaviour) -> str:
  """Rates of lies, challenges and right challenges, a line for each number of cards claimed and each rank."""
  claims = [f"{cards} card{'s' if cards > 1 else ''}" for cards in range(1, len(behaviour.laid) + 1)]
  ranks = [f"rank {rank}" for rank in cheat.RANKS[: behaviour.laid.shape[1]]]
  lines = [f"{'claim':<10}{'discards':>10}{'lies':>8}{'heard':>10}{'challenged':>12}{'rightly':>9}"]
  for axis, names in ((1, claims), (0, ranks)):
    counts = behaviour.laid.sum(axis), behaviour.heard.sum(axis)
    for name, laid, heard, rates in zip(names, *counts, behaviour.rates(axis).T, strict=True):
      lies, called, right = (" -" if rate != rate else f"{100 * rate:.1f}%" for rate in rates)
      lines.append(f"{name:<10}{laid:>10,}{lies:>8}{heard:>10,}{called:>12}{right:>9}")
  return "\n".join(lines)
