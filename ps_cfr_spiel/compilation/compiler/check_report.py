"""The report of `check_game`: a line for each check."""

import dataclasses
import enum
import itertools
from typing import Any

from ps_cfr_spiel.cards.poker import describe

UNCHECKED = "not checked: "  # before the reason


class Verdict(enum.StrEnum):
  """A check passes; fails, so `build_tree` refuses the game; or is worth a note."""

  PASS = "PASS"
  FAIL = "FAIL"
  NOTE = "NOTE"


HISTORIES, KEYED = "histories", "keyed_form()"  # checks that `Report.trainable` asks for


@dataclasses.dataclass(frozen=True)
class Finding:
  """A line of a report.

  Attributes:
    check: its name.
    verdict: see `Verdict`.
    text: for a failed check it names the state or the history.
  """

  check: str
  verdict: Verdict
  text: str

  def __str__(self):
    return f"{self.verdict}  {self.check + ':':24}{self.text}"


@dataclasses.dataclass(frozen=True)
class Report:
  """The findings of `check_game`.

  Attributes:
    game: the game string.
    findings: one for each check.
    summary: the size of the public tree, as in `PublicTree.summary`; empty without a tree.
  """

  game: str
  findings: tuple[Finding, ...]
  summary: str = ""

  @property
  def solvable(self) -> bool:
    """True if `build_tree` accepts the game: no check fails."""
    return not any(finding.verdict == Verdict.FAIL for finding in self.findings)

  @property
  def trainable(self) -> bool:
    """True if the game has keys of its own (`keyed_game`), and no check fails but that of its size."""
    failed = {finding.check for finding in self.findings if finding.verdict == Verdict.FAIL}
    return failed <= {HISTORIES} and any(finding.check == KEYED for finding in self.findings)

  def assert_solvable(self) -> None:
    """Raise AssertionError with the whole report unless the game can be solved; for tests."""
    if not self.solvable:
      raise AssertionError(str(self))

  def verdict(self, check: str) -> Verdict:
    """The verdict on one check; KeyError for an unknown name."""
    return {finding.check: finding.verdict for finding in self.findings}[check]

  def facts(self) -> dict[str, Any]:
    """The report as JSON values."""
    findings = [{"check": f.check, "verdict": str(f.verdict), "text": f.text} for f in self.findings]
    verdicts = {"solvable": self.solvable, "trainable": self.trainable}
    return {"game": self.game, **verdicts, "findings": findings}

  def _lines(self) -> list[str]:
    """A line for each finding, and one together for checks that were not checked for the same reason."""
    lines: list[str] = []
    for text, group in itertools.groupby(self.findings, lambda finding: finding.text):
      same = list(group)
      if text.startswith(UNCHECKED) and len(same) > 1:
        checks = ", ".join(finding.check for finding in same)
        same = [Finding("not checked", same[0].verdict, f"{checks}: {text.removeprefix(UNCHECKED)}")]
      lines += map(str, same)
    return lines

  def __str__(self):
    failed = [finding.check for finding in self.findings if finding.verdict == Verdict.FAIL]
    verdict = "OK: can be solved" if self.solvable else f"cannot be solved: {', '.join(failed)}"
    if self.trainable and not self.solvable:
      verdict = "OK: too large to be compiled, and can be trained by its keys (train)"
    parts = [describe(self.game), "\n".join(self._lines()), self.summary, verdict]
    return "\n\n".join(part for part in parts if part)
