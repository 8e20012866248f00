"""Output: LaTeX, PDF, one HTML page, figures and their tables, the bibliography."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symslr.export.abstract import Abstract as Abstract
    from symslr.export.abstract import abstract_in as abstract_in
    from symslr.export.bibliography import REFERENCES as REFERENCES
    from symslr.export.bibliography import Reference as Reference
    from symslr.export.bibliography import UnknownReference as UnknownReference
    from symslr.export.bibliography import read_references as read_references
    from symslr.export.breaking import latex_lines as latex_lines
    from symslr.export.figures import Figure as Figure
    from symslr.export.notation import Notation as Notation
    from symslr.export.notation import notation_in as notation_in
    from symslr.export.printing import house_latex as house_latex
    from symslr.export.report import ReportFiles as ReportFiles
    from symslr.export.report import latex_of as latex_of
    from symslr.export.report import write_fragments as write_fragments
    from symslr.export.report import write_latex as write_latex
    from symslr.export.report import write_report as write_report
    from symslr.export.staging import kept_in as kept_in
    from symslr.export.standard import standard_figures as standard_figures
    from symslr.export.theorem import Form as Form
else:
    from symslr.lazily import handed_on

    __getattr__, __dir__, __all__ = handed_on(__name__, __file__)
