"""symslr where only its own dependencies are installed: formulas and numbers work, the rest names its extra.

Run by `make package` with the interpreter of an environment that holds the wheel and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

KERNEL = ("--length", "3", "--nu", "1", "--kernel", "log(1+exp(x))", "--normalise", "sum", "--digits", "8")


def symslr(*arguments: str, folder: Path, status: int = 0) -> str:
    """What the command prints, on both streams."""
    command = [sys.executable, "-I", "-m", "symslr", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == status, f"symslr {' '.join(arguments)} exited {done.returncode}:\n{said}"
    return said


def refusal(call: Callable[[], object]) -> str:
    """The message of the ValueError that a call raises."""
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{call} went through where its extra is missing")


def main() -> None:
    import symslr as package
    from symslr.extras import BRINGS, need

    assert Path(package.__file__).is_relative_to(sys.prefix), f"{package.__file__} is not the installed wheel"
    for extra, modules in BRINGS.items():
        for module in modules:
            assert find_spec(module) is None, f"{module} is installed; expected the core dependencies alone"
            expected = f"this needs {module}, which is not installed: pip install 'symslr[{extra}]'"
            assert refusal(lambda module=module: need(module, "this")) == expected
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        risk = json.loads(symslr("risk", *KERNEL, "--json", folder=folder))
        # Softplus normalised by its sum: worse than the Bayes risk 0.48113, better than linear attention's 6/11.
        assert 0.48113 < float(risk["value"]) < 6 / 11, risk
        symslr("new", "mine", folder=folder)
        assert '"verdict": "true"' in symslr("check", "mine/own_rule.py", "--json", folder=folder)
        symslr("derive", "mine", "--latex", "--out", "paper", folder=folder)
        assert sorted(path.name for path in (folder / "paper").iterdir()) == [
            "fragments",
            "macros.tex",
            "references.bib",
        ]
        said = symslr("report", "mine", "--out", "report", folder=folder, status=2)
        assert said == (
            "symslr: a report needs latex2mathml, which is not installed: pip install 'symslr[figures]'\n"
        ), said
    print("symslr works alone")


if __name__ == "__main__":
    main()
