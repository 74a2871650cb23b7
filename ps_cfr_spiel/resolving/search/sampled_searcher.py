"""Searches by Monte Carlo CFR: Monte Carlo continual re-solving (Šustr, Kovařík and Lisý 2019).

A search samples the histories of its subgame with the gadget (`sampled_problems`). The promises to the next
search are best responses to its average, as after any search here; the paper averages sampled values.
"""

from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel.backend.device import to_device
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.resolving.search.problems import Problem
from ps_cfr_spiel.resolving.search.promises import Search
from ps_cfr_spiel.resolving.search.sampled_problems import SAMPLED, sampled_problem
from ps_cfr_spiel.resolving.search.searcher import Searcher
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings
from ps_cfr_spiel.resolving.subgames import Gadget, GadgetTree, Subgames
from ps_cfr_spiel.sampling import mccfr


class SampledSearcher(Searcher):
  """A searcher whose iterations are samples: of two trajectories or traversals, one for each player.

  A search begins in one public state; its random numbers follow from the seed, the player and that state, so
  that a search does not depend on others but those on the way.
  """

  def __init__(self, subgames: Subgames, settings: SearchSettings, sampler: mccfr.TreeSampler, seed: int):
    """Make a searcher; ValueError for a game or settings that cannot be sampled."""
    super().__init__(subgames, settings)
    source, game = history_origin(subgames.labels), subgames.labels.game
    if source is None:
      raise ValueError(
        f"{game} has a Bayesian form, whose histories are not listed; search it by ContinualResolving."
      )
    if settings.gadget not in SAMPLED.values():
      raise ValueError(f"Searches by samples take the gadgets {', '.join(SAMPLED)}, got {settings.gadget!r}.")
    self.sampler, self.seed = sampler, seed  #: as given
    self._rule = mccfr.check_rule(make_rule(settings.rule))
    self._histories = mccfr.histories_to_sample(subgames.tree, source.histories)

  def resolve(self, search: Search, places: Sequence[int]) -> Search:
    """See `Searcher`; one place after the other, each by all iterations."""
    seconds = 0.0
    for place in places:
      search = super().resolve(search, [place])
      seconds += search.seconds
    return search._replace(seconds=seconds)

  def solved(self, problem: Problem, gadget: Gadget, game: GadgetTree):
    whole, dtype = self.subgames.tree, self.settings.dtype
    tree = to_device(sampled_problem(whole, self._histories, problem, gadget, game), dtype)
    number = np.random.SeedSequence([self.seed, problem.last.player, problem.subgame.public_states[0]])
    state = mccfr.init(tree, self.sampler, int(number.generate_state(1)[0]), dtype)
    state = mccfr.run(tree, state, self.settings.iterations, sampler=self.sampler, rule=self._rule)
    average = jax.tree.map(np.asarray, state.tables.average)
    return mccfr.strategies(tree, average.total), []
