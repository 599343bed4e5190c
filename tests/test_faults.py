"""The list of deliberate faults has not gone stale: every fault still applies, and its tests are there."""

import ast
from pathlib import Path

from benchmarks.faults import ROOT, judged, read_faults

FAULTS = read_faults()


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_there_are_enough_faults_and_no_two_are_the_same() -> None:
    assert len(FAULTS) >= 30
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


def test_every_fault_applies_exactly_once_and_is_python() -> None:
    for fault in FAULTS:
        source = fault.applied((ROOT / fault.file).read_text(encoding="utf-8"))
        compile(source, fault.file, "exec")


def test_every_fault_names_tests_that_are_there() -> None:
    files = {test.split("::")[0] for fault in FAULTS for test in fault.tests}
    known = {file: functions_of(ROOT / file) for file in files}
    for fault in FAULTS:
        assert fault.tests
        for test in fault.tests:
            file, name = test.split("::")
            assert name.split("[")[0] in known[file], f"{fault.name}: {test}"


def test_only_a_failed_test_counts_as_caught() -> None:
    assert judged(1, "E   assert 1 == 2") == ("caught", "assert 1 == 2")
    assert judged(0, "3 passed")[0] == "MISSED"
    assert judged(1, "E   NameError: name 'x' is not defined")[0] == "BROKEN"
    assert judged(1, "E   Failed: Timeout (>3600.0s) from pytest-timeout.")[0] == "BROKEN"
    for code in (2, 3, 4, 5, -11):  # interrupted, internal error, usage, nothing collected, killed
        assert judged(code, "no tests ran")[0] == "BROKEN"
