"""The report of `check_game`: a line for each law."""

import dataclasses
import enum
import itertools
from typing import Any

from ps_cfr_spiel.poker import describe

UNCHECKED = "not checked: "  # before the reason


class Verdict(enum.StrEnum):
  """A law holds; is broken, so `build_tree` refuses the game; or is worth a note."""

  PASS = "PASS"
  FAIL = "FAIL"
  NOTE = "NOTE"


@dataclasses.dataclass(frozen=True)
class Finding:
  """A line of a report.

  Attributes:
    law: its name.
    verdict: see `Verdict`.
    found: the text; for a broken law it names the state or the history.
  """

  law: str
  verdict: Verdict
  found: str

  def __str__(self):
    return f"{self.verdict}  {self.law + ':':24}{self.found}"


@dataclasses.dataclass(frozen=True)
class Report:
  """The findings of `check_game`.

  Attributes:
    game: the game string.
    findings: one for each law.
    summary: the size of the public tree, as in `PublicTree.summary`; empty without a tree.
  """

  game: str
  findings: tuple[Finding, ...]
  summary: str = ""

  @property
  def fit(self) -> bool:
    """True if `build_tree` accepts the game: no law is broken."""
    return not any(finding.verdict == Verdict.FAIL for finding in self.findings)

  def assert_fit(self) -> None:
    """Raise AssertionError with the whole report unless the game is fit; for tests."""
    if not self.fit:
      raise AssertionError(f"not fit for build_tree:\n{self}")

  def verdict(self, law: str) -> Verdict:
    """The verdict on one law; KeyError for an unknown name."""
    return {finding.law: finding.verdict for finding in self.findings}[law]

  def facts(self) -> dict[str, Any]:
    """The report as JSON values."""
    findings = [{"law": f.law, "verdict": str(f.verdict), "found": f.found} for f in self.findings]
    return {"game": self.game, "fit": self.fit, "findings": findings}

  def _lines(self) -> list[str]:
    """A line for each finding, and one together for laws that were not checked for the same reason."""
    lines: list[str] = []
    for found, group in itertools.groupby(self.findings, lambda finding: finding.found):
      same = list(group)
      if found.startswith(UNCHECKED) and len(same) > 1:
        laws = ", ".join(finding.law for finding in same)
        same = [Finding("not checked", same[0].verdict, f"{laws}: {found.removeprefix(UNCHECKED)}")]
      lines += map(str, same)
    return lines

  def __str__(self):
    broken = [finding.law for finding in self.findings if finding.verdict == Verdict.FAIL]
    verdict = "fit for build_tree" if self.fit else f"not fit for build_tree: {', '.join(broken)}"
    parts = [describe(self.game), "\n".join(self._lines()), self.summary, verdict]
    return "\n\n".join(part for part in parts if part)
