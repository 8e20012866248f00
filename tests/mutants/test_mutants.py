"""The tool that breaks the code: every change is one change, a wrong one is caught, and one that changes nothing survives."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache

from tests.mutants.__main__ import Trials, argued
from tests.mutants.operators import mutants
from tests.mutants.report import UNTRIED, fates, summary
from tests.mutants.selection import ROOT, STATEMENTS, Selection, chain_files, names_in_tests

SOURCE = '''"""Words - 1."""
from x import y
EDGE = 3
@final
class Rule:
    name = "1 + 2"
    def rewrite(self, expr):
        """1 + 2"""
        if expr > EDGE and not self.deep.has(a, b):
            return expr.subs(a, -b) + 2
        return max(expr ** 2, 0) * Add(expr, 1)
'''

EXPECTED = [
    *("3 -> 4", "3 -> 2", "condition -> False", "condition -> True", "And -> Or", "drop part 1 of And"),
    *("drop part 2 of And", "Gt -> GtE", "drop Not", "Add -> Sub", "drop .subs(...)", "arguments swapped", "drop USub"),
    *(
        "2 -> 3",
        "2 -> 1",
        "Mult -> Div",
        "arguments swapped",
        "max -> min",
        "Pow -> Mult",
        "2 -> 3",
        "2 -> 1",
        "0 -> 1",
    ),
    *("arguments swapped", "Add -> Mul", "1 -> 2"),
]

LOADED = """
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from tests.mutants import trial
from tests.mutants.operators import mutants
from tests.mutants.selection import ROOT
trial.load()
"""

TRIALS = """
file = "symslr/algebra/rules/rewriting/logarithm.py"
test = ["tests/algebra/test_calculus_rules.py::test_the_logarithm_of_a_product"]
wrong = next(m for m in mutants(file, (ROOT / file).read_text()) if m.function)
same = replace(wrong, edit=lambda node: None)
for mutant in (wrong, same):
    for on_import in (False, True):
        print(trial.under_tests(mutant, test, on_import=on_import).outcome)
print(trial.under_tests(wrong, [], on_import=False).outcome)
print(trial.passing(test) == set(test))
trial._in_a_child.__defaults__ = (1,)
with TemporaryDirectory() as folder:
    slow = Path(folder) / "test_slow.py"
    slow.write_text("def test_it():\\n    while True: pass\\n")
    print(trial.under_tests(wrong, [f"{slow}::test_it"], on_import=False).outcome)
"""

CHAINS = """
file, chain = "symslr/algebra/rules/measure/bayes_rule.py", "derivations/11_nishimori.py"
wrong = next(m for m in mutants(file, (ROOT / file).read_text()) if "return factor / p" in m.text and m.change == "Div -> Mult")
same = replace(wrong, edit=lambda node: None)
for mutant in (wrong, same):
    for on_import in (False, True):
        print(trial.under_chains(mutant, [chain], on_import=on_import).outcome)
made = mutants(chain, (ROOT / chain).read_text())
shorter = next(m for m in made if m.change.startswith("drop .apply"))
print(trial.under_check(shorter).outcome)
print(trial.under_check(replace(shorter, edit=lambda node: None)).outcome)
claimed = "derivations/10_bayes_risk.py"
made = mutants(claimed, (ROOT / claimed).read_text())
wrong = next(m for m in made if m.text.startswith(".claim(Delta**2 + 1") and m.change == "Add -> Sub")
for by_check in (False, True):
    print(trial.under_check(wrong, by_check=by_check).by.split()[0])
"""


def test_every_mutant_is_one_change() -> None:
    found = mutants("rule.py", SOURCE)
    assert [mutant.change for mutant in found] == EXPECTED
    assert len({mutant.key for mutant in found}) == len(found)
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in found:
        changed = mutant.source.splitlines()
        assert sum(one != two for one, two in zip(whole, changed, strict=True)) == 1, mutant.key
    assert {mutant.function for mutant in found} == {None, ("Rule.rewrite", 7)}


@cache
def said() -> list[str]:
    """By one process, which loads what is broken once: of chains first, as trials end with a shorter budget."""
    program = LOADED + CHAINS + TRIALS
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_a_wrong_rule_is_caught_and_the_right_one_survives() -> None:
    known = ["caught", "caught", "survived", "survived", "no test runs the line", "True", "the trial failed"]
    assert said()[8:] == known


def test_the_chains_that_a_mutant_makes_are_judged() -> None:
    assert said()[:8] == [
        *["caught"] * 2,
        *["survived"] * 2,
        "caught",
        "same chains",
        "statements",
        "check",
    ]


def test_a_test_is_chosen_by_the_names_in_it_and_in_its_tables() -> None:
    module = "tests/algebra/test_rules_edges.py"
    found = names_in_tests(module)
    assert "InterchangeSums" in found[f"{module}::test_refused"]
    assert "InterchangeSums" not in found[f"{module}::test_places"]
    selection = Selection()
    selection.named["InterchangeSums"].add("a test")
    file = "symslr/algebra/rules/blocks/sums.py"
    assert selection.naming(file, "InterchangeSums") == selection.naming(file, "_helper") == {"a test"}
    assert selection.naming("symslr/algebra/rules/blocks/deltas.py", "_helper") == set()


def test_the_report_says_what_became_of_each() -> None:
    files = ("symslr/theory/separation/rule.py", "derivations/rule.py")
    first, second, third, same, argued, left = (m for file in files for m in mutants(file, SOURCE)[:3])
    outcomes = {first: "caught", second: "caught", third: "survived", same: "same chains", argued: "survived"}
    tests = {first: "a good test", second: "a test that fails anyway"}
    kept = {m.key: {"outcome": outcome, "by": tests.get(m, ""), "seconds": 2.0} for m, outcome in outcomes.items()}
    items = (left, argued, same, third, second, first)
    made = fates(items, lambda m: kept.get(m.key), [argued.key, first.key], ["a test that fails anyway"])
    found = {fate.mutant.key: (fate.outcome, fate.is_wrong) for fate in made}
    assert found == {
        first.key: ("caught", True),
        second.key: ("survived", True),
        third.key: ("survived", True),
        same.key: ("same chains", False),
        argued.key: ("equivalent", False),
        left.key: (UNTRIED, False),
    }
    assert summary(made).splitlines() == [
        "derivations: 3 chosen, 2 tried, 1 equivalent, 1 same chains; 4 s of processor time",
        "symslr/theory/separation: 3 chosen, 3 tried, 1 caught, 2 survived; 6 s of processor time",
        "all: 6 chosen, 5 tried, 1 caught, 1 equivalent, 1 same chains, 2 survived; 10 s of processor time",
    ]


def test_the_tests_that_make_chains_name_their_files() -> None:
    test = f"{STATEMENTS}[11_nishimori]"
    assert chain_files([test, "tests/algebra/test_nodes.py::test_x"]) == {test: "derivations/11_nishimori.py"}
    assert (ROOT / STATEMENTS.partition("::")[0]).is_file()


def test_a_line_that_runs_on_import_is_seen_by_every_test_of_its_file() -> None:
    selection = Selection()
    for line, tests in {1: {""}, 2: {"one"}, 3: {"", "two"}}.items():
        selection.lines["file.py"][line].update(tests)
        selection.tests["file.py"].update(tests)
    assert selection.running("file.py", 2) == {"one"}
    assert selection.running("file.py", 1) == selection.running("file.py", 3) == {"one", "two"}
    assert selection.running("file.py", 9) == set()


def test_a_condition_is_tried_by_the_tests_in_which_it_chose_the_other_line() -> None:
    text = "def name(one):\n    return (\n        'one'\n        if one\n        else 'several'\n    )\n"
    wrong = next(mutant for mutant in mutants("file.py", text) if mutant.change.startswith("condition"))
    trials = Trials.__new__(Trials)
    trials.selection = Selection()
    for line, test in {2: "both", wrong.line: "one", 5: "several"}.items():
        trials.selection.lines["file.py"][line].add(test)
    trials.selection.naming = lambda file, inside: set()
    assert wrong.line > wrong.place.statement == 2
    assert trials.running(wrong) == {"both", "one"}


def test_what_is_argued_is_a_mutant_of_the_code_that_is_there() -> None:
    for key, why in argued().items():
        file = key.partition(" ")[0]
        assert key in {mutant.key for mutant in mutants(file, (ROOT / file).read_text(encoding="utf-8"))}, key
        assert why.endswith(".")
