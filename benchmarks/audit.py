"""What is installed beside holmes_fit, and may it be? Every package of requirements.lock with its licence.

Run with ``python -m benchmarks.audit``. It asks the installed packages themselves, so it needs no network. A package
passes if its licence is known, and permissive or of a kind that asks nothing of the programs that use it (LGPL, MPL).
"""

import re
import sys
from importlib import metadata

from packaging.markers import Marker

from benchmarks import ROOT

LOCK = ROOT / "requirements.lock"
PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+))?", flags=re.MULTILINE)

# Names as packages write them: identifiers (SPDX), trove classifiers, and a few words of their own.
ALLOWED = re.compile(
    r"""
    MIT(-CMU)?(\ License)?
    | 0?BSD(-[234]-Clause)?(\ [23]-Clause)?(\ License)? | 2-clause\ BSD
    | Apache(-2\.0|\ 2\.0|\ License,\ Version\ 2\.0|\ Software\ License)? | LLVM-exception
    | PSF-2\.0 | Python\ Software\ Foundation\ License
    | ISC(\ License)? | Zlib | CC0-1\.0
    | MPL-2\.0 | Mozilla\ Public\ License\ 2\.0
    | LGPL-(2\.1|3\.0)(-only|-or-later)?
    """,
    flags=re.VERBOSE,
)
# How a licence begins, or what only it says, for packages that ship its text and do not name it.
TEXTS = {
    "GNU LESSER GENERAL PUBLIC LICENSE": "LGPL-3.0",
    "Redistribution and use in source and binary forms": "BSD",
    "Permission is hereby granted, free of charge": "MIT",
}
LONGEST_NAME = 60  # a longer field is the text of a licence


def locked(text: str) -> list[tuple[str, str, str]]:
    """Return name, version and condition of every package in a lock file."""
    return [(name, version, (condition or "").strip()) for name, version, condition in PINNED.findall(text)]


def licence_of(package: metadata.Distribution) -> str:
    """Return what a package says about its licence, an expression or names joined by AND; empty if nothing is known."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return expression
    classifiers = [entry.split(" :: ") for entry in about.get_all("Classifier") or []]
    named = [parts[-1] for parts in classifiers if parts[:2] == ["License", "OSI Approved"] and len(parts) > 2]
    if named:
        return " AND ".join(re.sub(r" \(.*\)$", "", name) for name in named)
    written = (about.get("License") or "").strip()
    if written and len(written) <= LONGEST_NAME:
        return written
    files = [path for path in package.files or [] if re.match(r"(licen[cs]e|copying)", path.name, re.IGNORECASE)]
    texts = " ".join([written, *(path.read_text() for path in files if path.suffix != ".py")])
    return " AND ".join(name for phrase, name in TEXTS.items() if phrase in " ".join(texts.split()))


def is_allowed(licence: str) -> bool:
    """Whether every licence in an expression is on the list."""
    names = re.split(r"\s+(?:AND|OR|WITH)\s+", re.sub(r"[()]", "", licence))
    return all(ALLOWED.fullmatch(name) for name in names)


def main() -> int:
    bad = []
    for name, version, condition in locked(LOCK.read_text(encoding="utf-8")):
        if condition and not Marker(condition).evaluate():
            print(f"{name:22s} {version:14s} not for this Python or machine ({condition})")
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            bad.append(f"{name} is not installed")
            continue
        licence = licence_of(package)
        print(f"{name:22s} {package.version:14s} {licence or 'unknown'}")
        if package.version != version:
            bad.append(f"{name} is {package.version}, and the lock says {version}")
        if not licence or not is_allowed(licence):
            bad.append(f"{name} has the licence {licence or '(none that is known)'}, which is not on the list")
    print("Known vulnerabilities are not looked up: that needs the network (pip-audit -r requirements.lock does it).")
    print("\n".join(bad) or "All licences are on the list, and all versions are those of the lock.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
