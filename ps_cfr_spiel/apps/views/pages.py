"""The pages of this package: a template with the common style and scripts, and its data, in one text."""

import json
from importlib import resources

from ps_cfr_spiel.arguments import JSON


def page_of(template: str, data: dict[str, JSON]) -> str:
  """A page that needs no other file: `template` with `page.css`, `page.js` and its data put in."""
  text = _file(template)
  for mark, part in (("/*STYLE*/", _file("page.css")), ("/*COMMON*/", _file("page.js"))):
    text = text.replace(mark, part.rstrip("\n"))
  return text.replace("/*DATA*/", as_json(data))  # last: the data may have any text


def spot_page(data: dict[str, JSON]) -> str:
  """The page on which a spot of hold'em is made: its fields, and the state of the solve."""
  return page_of("spot.html", data)


def as_json(data: dict[str, JSON]) -> str:
  """Data as text that cannot end a script."""
  return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _file(name: str) -> str:
  return resources.files("ps_cfr_spiel.apps.views").joinpath(name).read_text(encoding="utf-8")
