"""Drawings with colours that follow the light or dark style of the page."""

from __future__ import annotations

import re

ROLES = {
    "#ffffff": "paper",
    "#000000": "ink",
    "#333333": "ink",
    "#555555": "soft",
    "#666666": "soft",
    "#888888": "faint",
    "#bbbbbb": "fainter",
    "#cccccc": "grid",
    "#dddddd": "grid",
    "#0072b2": "blue",
    "#7f3c8d": "violet",
}
"""Colours that would vanish on dark paper; the others stay, and so do the pixels of heat maps."""

COLOUR = re.compile(r"(?<=: )#[0-9a-f]{6}\b", re.IGNORECASE)


def adaptive(svg: str) -> str:
    """The drawing with ``var(--figure-ROLE, COLOUR)`` in place of these colours, and text in the page's ink."""

    def replaced(found: re.Match[str]) -> str:
        role = ROLES.get(found[0].lower())
        return f"var(--figure-{role}, {found[0]})" if role else found[0]

    return COLOUR.sub(replaced, svg)
