"""The page to explore a problem at many budgets: one file of HTML with its numbers, its style and its script within it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from designer.base.version import VERSION
from designer.reports.html import DARK, LIGHT, POLICY, TEMPLATES, template, variables
from designer.reports.pictures.style import PALETTE


def explorer_html(found: Mapping[str, Any]) -> str:
    """What `explored` found as a page that loads nothing: the same numbers give the same bytes.

    Raises `InvalidProblem` where Jinja2 (extra `report`) is missing.
    """
    from markupsafe import Markup

    script = (TEMPLATES / "explore.js").read_text(encoding="utf-8")
    # Browsers run the one script of this digest, whatever a name in the data says.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    numbers = json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    made: str = template("explore.html.jinja").render(
        title=found["title"],
        software=f"dp-designer {VERSION}",
        policy=f"{POLICY}; script-src 'sha256-{digest}'",
        light=variables(LIGHT),
        dark=variables(DARK),
        palette=PALETTE,
        script=Markup(script),
        numbers=Markup(numbers.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")),
        choices=found["choices"],
        reports=found["reports"],
    )
    return made
