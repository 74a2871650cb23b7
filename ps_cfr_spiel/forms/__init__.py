"""Games that describe themselves: what they say, and how their public states are numbered and named.

May use: tree and what is below it. `form` is the contract with such games and numbers their public states,
`deals` knows names and histories; the compiler makes trees of them.
"""

from ps_cfr_spiel.forms.deals import Deals, FormLabels
from ps_cfr_spiel.forms.form import BayesianForm, Form, Lines, PublicCardsForm

__all__ = [
  "BayesianForm",
  "Deals",
  "Form",
  "FormLabels",
  "Lines",
  "PublicCardsForm",
]
