"""Monte Carlo continual re-solving (Šustr, Kovařík and Lisý 2019; Schmid 2021, Section 20.5.2)."""

from ps_cfr_spiel.options import MonteCarloResolvingOptions
from ps_cfr_spiel.resolving.search import SampledSearcher
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.solvers.agents.continual_resolving import ContinualResolving


class MonteCarloResolving(ContinualResolving):
  """Continual re-solving whose searches sample their subgames, behind the same gadgets.

  The time of a search is that of its samples, in a subgame of any size; but the game is enumerated first,
  and the promises to the next search are exact best responses to its average. A search begins anew: it keeps
  no table of the one before. The random numbers of a search follow from the seed and its public state, so the
  bot and `tabularise` play alike.
  """

  options_type = MonteCarloResolvingOptions
  options: MonteCarloResolvingOptions

  def _make_searcher(self, subgames: Subgames) -> SampledSearcher:
    return SampledSearcher(subgames, self.settings, self._sampler(), self.options.seed)

  def _sampler(self) -> mccfr.TreeSampler:
    """The sampler by name, or as given; ValueError for another object."""
    given = self.options.sampler
    if given == "external":
      return mccfr.ExternalSampling()
    if given == "outcome":
      return mccfr.OutcomeSampling(mccfr.ZeroBaseline(), self.options.exploration)
    if isinstance(given, mccfr.TreeSampler) and not isinstance(given, mccfr.PublicSampling):
      return given
    raise ValueError(
      f"sampler must be 'external', 'outcome' or a sampler of histories such as ExternalSampling(), got "
      f"{given!r}."
    )

  @property
  def description(self) -> str:
    """The method with its settings, as text."""
    return f"Monte Carlo {super().description}, {self._sampler()}"
