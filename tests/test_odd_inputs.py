"""What a stranger may type, in ``odd_inputs.txt``: every line of it is answered in one line, in no time, with its status."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import pytest

from symslr.cli import main

TABLE = Path(__file__).with_name("odd_inputs.txt")
HANGS = 120.0
"""Seconds of processor time after which a row counts as one that hangs; the slowest was measured at 4."""

FILES: dict[str, str | bytes] = {
    "empty.toml": "",
    "notoml.toml": "task = [",
    "binary.toml": bytes(range(256)),
    "nul.toml": "name = 'a\\u0000b'\nweight = 'exp(chi[eps])'",
    "unknown.toml": "[task]\nweigth = '1'\n",
    "tables.toml": "[[task]]\nname = 'spiked'\n",
    "noname.toml": "task = 'spiked'\n",
    "code.toml": '[task]\nweight = \'__import__("os").system("true")\'\n',
    "negative.toml": "[task]\nweight = '1 - 2*chi[eps]'\n",
    "mean.toml": "[task]\nweight = 'exp(chi[eps])'\n",
    "student.toml": "[task]\nweight = '1'\nothers = '2/(pi*sqrt(3)*(1+x**2/3)**2)'\n"
    "[attention]\nkernel = 'x**2'\nnormalise = 'none'\n",
    "mix.toml": '[task]\nweight = "(exp(2*chi[eps]-2)+exp(-3*chi[eps]-9/2))/2"\n',
    "square.toml": '[task]\nweight = "chi[eps]**2"\n',
    "lap.toml": '[task]\nweight = "1"\nothers = "exp(-abs(x))/2"\n',
    "lapshift.toml": '[task]\nrelevant = "exp(-abs(x-3))/2"\nothers = "exp(-abs(x))/2"\n',
    "logistic.toml": '[task]\nrelevant = "exp(-(x-2))/(1+exp(-(x-2)))**2"\nothers = "exp(-x)/(1+exp(-x))**2"\n',
    "sel2.toml": '[task]\nweight = "L*chi[eps]**2/sum(chi[l]**2, l)"\n',
    "narrow.toml": '[task]\nrelevant = "exp(-(x-1)**2/(2*1e-12))/(1e-6*sqrt(2*pi))"\nothers = "exp(-x**2/2)/sqrt(2*pi)"\n',
    "wide.toml": '[task]\nrelevant = "exp(-x**2/(2*1e8))/(1e4*sqrt(2*pi))"\nothers = "exp(-x**2/2)/sqrt(2*pi)"\n',
    "cauchy.toml": '[task]\nrelevant = "1/(pi*(1+(x-4)**2))"\nothers = "1/(pi*(1+x**2))"\n',
    "half_line.toml": '[task]\nrelevant = "x*exp(-x)"\nothers = "exp(-x)"\nsupport = [0, "inf"]\n',
    "neg.toml": '[task]\nweight = "1+chi[eps]/10"\n',
    # what nothing would hear: the number would be that of another model
    "unheard_others.toml": '[task]\nname = "spiked"\nothers = "exp(-x)"\nsupport = [0, "inf"]\n[values]\nnu = 1\n',
    "unheard_law.toml": '[task]\nname = "max"\nothers = "garbage("\n[values]\nnu = 1\n',
    "unheard_support.toml": '[task]\nweight = "exp(chi[eps]-1/2)"\nsupport = [0, 1]\n',
    "unheard_offset.toml": '[task]\nnu = 1\n[attention]\nname = "linear"\noffset = "5"\n',
    "unheard_normalise.toml": '[task]\nnu = 1\n[attention]\nname = "softmax"\nnormalise = "none"\n',
    "unheard_name.toml": '[task]\nnu = 1\n[attention]\nname = "softmax"\nkernel = "1+x**2"\n',
    "unheard_noise.toml": '[task]\nname = "spiked"\nnoise = "1/2"\n[values]\nnu = 1\nDelta = 3\n',
    "unheard_length.toml": "[task]\nnu = 1\nlength = 3\n[values]\nL = 7\n",
    "unheard_weight_length.toml": '[task]\nweight = "exp(chi[eps]-1/2)"\nlength = 3\n[values]\nL = 7\n',
    "unheard_nu.toml": '[task]\nnu = 2\nname = "nu"\n[values]\nnu = 5\n',
    "unheard_weight_nu.toml": '[task]\nweight = "exp(chi[eps]-1/2)"\n[values]\nnu = 5\n',
    "number_name.toml": "[task]\nnu = 2\nname = 7\n",
    "lines_name.toml": '[task]\nnu = 2\nname = "a\\nb"\n',
    "unheard_common.toml": "[common]\nlenght = 3\n[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = 2\n",
    "nosweep.toml": "[common]\nkind = 'bayes'\n",
    "nokind.toml": "[[sweep]]\nnu = 2\n",
    "bayes.toml": "[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = 2\n",
    "badkind.toml": "[[sweep]]\nkind = 'byes'\n",
    "badname.toml": "[[sweep]]\nkind = 'bayes'\nlenght = 3\n",
    "emptyaxis.toml": "[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = []\n",
    "huge.toml": "[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = {from = 0, to = 1, count = 9999999}\n",
    "log.toml": "[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = {from = 0, to = 1, count = 3, spacing = 'log'}\n",
    "nested.toml": "[[sweep]]\nkind = 'bayes'\nlength = 3\nnu = [[1]]\n",
    "notastore.sqlite": "this is no database, though it is long enough to be looked at as one",
    "sgd.toml": '[model]\nteachers = ["u"]\nlength = 1\nlabel = "u[1]"\n'
    '[student]\nfields = ["w"]\npredictor = "w[1]"\nloss = "square"\n',
    "bad.py": "derivations = 3\n",
    "raises.py": "raise RuntimeError('no')\n",
    "syntax.py": "def (\n",
    "exit.py": "raise SystemExit(0)\n",
    "exits.py": "def derive_nothing():\n    raise SystemExit(0)\n",
}


def rows() -> list[tuple[str, int, str]]:
    """(command, status, line): a row is ``$ symslr ...``, then ``STATUS LINE``."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    commands, said = lines[::2], lines[1::2]
    split = [line.partition(" ") for line in said]
    return [
        (command.removeprefix("$ symslr "), int(status), line) for command, (status, _, line) in zip(commands, split)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the rows name, and one more folder without any."""
    place = tmp_path_factory.mktemp("odd")
    for name, text in FILES.items():
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (place / "folder").mkdir()
    return place


@pytest.mark.parametrize(("command", "status", "line"), rows())
def test_a_row(monkeypatch: pytest.MonkeyPatch, capsys, folder: Path, command: str, status: int, line: str) -> None:
    monkeypatch.chdir(folder)
    began = time.process_time()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    assert time.process_time() - began < HANGS
    out, err = capsys.readouterr()
    said = err.replace(f"{folder}{os.sep}", "")
    assert (ended.value.code, said) == (status, "" if status == 0 else f"symslr: {line}\n")
    if status == 0:
        assert line in out


def test_there_are_many() -> None:
    assert len({command for command, _, _ in rows()}) == len(rows()) >= 80
