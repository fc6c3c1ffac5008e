#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every test that docs/mapos-conformance.md names exists, and every row names one or says No."""
import pathlib
import re
import sys

doc, tests = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
names = {p.name.removesuffix("_test.cpp"): re.findall(r'TEST_CASE\(\s*"([^"]*)"', p.read_text())
         for p in tests.glob("*_test.cpp")}
bad, rows = [], 0
for number, line in enumerate(doc.read_text().splitlines(), 1):
    cells = [c.strip() for c in line.strip().strip("|").split("|")]
    if not line.startswith("|") or len(cells) != 3 or cells[0] in ("section", "---"):
        continue
    rows += 1
    if cells[2].startswith("**No**"):
        continue
    for reference in cells[2].split("; "):
        file, _, begin = reference.partition(": ")
        if not begin or sum(n.startswith(begin) for n in names.get(file, [])) != 1:
            bad.append(f"{doc.name}:{number}: no test, or several: {reference}")
print("\n".join(bad) or f"{rows} requirements")
sys.exit(bool(bad) or rows == 0)
