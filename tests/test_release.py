"""The base of a release: pinned workflows, one address, and a build without a jaxlib that does not exist."""

import os
import pathlib
import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement

import ps_cfr_spiel

ROOT = pathlib.Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the source archive has no workflows")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash_alike(path):
  """Each action by a hash of 40 digits with its version beside it; the same hash in all workflows."""
  used = re.findall(r"uses: *(\S+)(.*)", path.read_text())
  assert used
  everywhere = "".join(other.read_text() for other in WORKFLOWS)
  for action, comment in used:
    name, _, pin = action.partition("@")
    assert re.fullmatch(r"[0-9a-f]{40}", pin) and re.fullmatch(r" # v\d+(\.\d+)+", comment), action
    assert set(re.findall(rf"{re.escape(name)}@(\w+)", everywhere)) == {pin}


@pytest.mark.parametrize(
  ("tag", "code"),
  [(f"v{ps_cfr_spiel.__version__}", 0), (ps_cfr_spiel.__version__, 1), ("v99.0.0", 1), ("v", 1)],
)
def test_a_tag_other_than_the_version_is_refused(tag, code):
  """By the command of the workflow itself, on which all its other jobs wait."""
  text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
  command = re.search(r"if: github.ref_type == 'tag'\n +run: (.*)", text)
  assert command is not None
  done = subprocess.run(
    ["bash", "-e", "-c", command[1]], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}
  )
  assert done.returncode == code
  jobs = re.findall(r"^  (\w+):\n    (needs:|runs-on:|if:)", text.split("\njobs:\n")[1], re.M)
  assert [name for name, first in jobs if first == "runs-on:"] == ["version"]  # all others wait


def test_the_address_stands_in_one_place():
  """All links of the project begin with that of the repository, and no other file repeats it."""
  links = PROJECT["project"]["urls"]
  address = links["Repository"]
  assert all(link.startswith(address) for link in links.values())
  for path in [
    *ROOT.glob("*.md"),
    *ROOT.glob("*.cff"),
    *ROOT.glob("docs/*.md"),
    *ROOT.rglob("ps_cfr_spiel/**/*.py"),
  ]:
    assert address not in path.read_text(), path


@pytest.mark.parametrize(
  ("system", "machine", "python", "wanted"),
  [
    ("linux", "x86_64", "3.11", True),
    ("linux", "aarch64", "3.14", True),
    ("darwin", "arm64", "3.13", True),
    ("darwin", "x86_64", "3.13", False),
    ("linux", "riscv64", "3.13", False),
    ("linux", "x86_64", "3.15", False),
  ],
)
def test_the_build_asks_for_jaxlib_where_it_exists(system, machine, python, wanted):
  here = {"sys_platform": system, "platform_machine": machine, "python_version": python}
  needed = [Requirement(text) for text in PROJECT["build-system"]["requires"] if text.startswith("jaxlib")]
  assert sum(one.marker is not None and one.marker.evaluate(here) for one in needed) == wanted
