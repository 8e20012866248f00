"""The documentation site: MyST text, notebooks executed by the build, formulas as MathML that needs no script."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from symslr import __version__

project = "symslr"
author = "symslr developers"
release = version = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "mathml",
    "quantities",
    "rules_table",
    "terminal",
]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/latex", 5)]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # fields of two classes may share a name

html_theme = "furo"
html_title = f"symslr {__version__}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["symslr.css"]
html_copy_source = False


def setup(app):
    """Three habits of the library that Sphinx does not know."""

    # In a docstring |x| is an absolute value, not a substitution of reStructuredText.
    def bars(app, what, name, obj, options, lines):
        lines[:] = [line.replace("|", r"\|") for line in lines]

    # What SymPy's metaclass writes into every class of ours, such as is_real = True, is no part of the reference.
    def assumptions(app, what, name, obj, skip, options):
        return True if name == "default_assumptions" or (name.startswith("is_") and isinstance(obj, bool)) else None

    # What stands before a colon in the first line of a property is no type, as Napoleon takes it.
    def colon(app, what, name, obj, options, lines):
        kind = next((line for line in lines if line.startswith(":type: ")), None)
        if what == "property" and kind is not None:
            lines.remove(kind)
            lines[0] = f"{kind.removeprefix(':type: ')}: {lines[0]}"

    app.connect("autodoc-process-docstring", colon, priority=600)
    app.connect("autodoc-process-docstring", bars, priority=1000)
    app.connect("autodoc-skip-member", assumptions)
