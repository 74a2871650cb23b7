"""CFR-D: a trunk in memory, and subgames that are solved apart and thrown away (Burch et al. 2014)."""

from ps_cfr_spiel.options import CFRDOptions
from ps_cfr_spiel.resolving.search import CFRValues, SearchSettings, TrunkSearches, ValuesApart
from ps_cfr_spiel.resolving.subgames import PublicStates
from ps_cfr_spiel.solvers.agents.on_demand_resolving import OnDemandResolving


class CFRD(OnDemandResolving):
  """A solution of a game in memory for its trunk and one subgame at a time.

  The first search finds a strategy of the trunk; below, play is found again by a gadget, with the opponent's
  average values in the trunk as promises (Schmid 2021, Sections 20.2 and 20.3).
  """

  options_type = CFRDOptions
  options: CFRDOptions

  searches: TrunkSearches

  def _make_states(self, settings: SearchSettings) -> PublicStates:
    given = self.options  # histories, which trunk and subgames have in common
    return PublicStates(self.game, given.public_states, given.limit, given.memory)

  def _make_searches(self, states: PublicStates, settings: SearchSettings) -> TrunkSearches:
    given = settings.changed(value_function=ValuesApart())
    below = CFRValues(self.options.below, self.options.rule)
    return TrunkSearches(states, given, below, self.options.keep_trees, self.options.seconds)

  @property
  def largest(self) -> int:
    """Most bytes of trees and tables at once so far, without kept trees."""
    return self.searches.largest
