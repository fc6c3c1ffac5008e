# SPDX-License-Identifier: BSD-3-Clause
"""Keeps docs/datasheet*.md in step with the datasheet headers: `datasheet_doc.py` checks, `--write` mends the tables."""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = os.path.join(TOP, "hwmodel/include/hwmodel")
ACCESS = {"kRo": "RO", "kRw": "RW", "kW1s": "W1S", "kW1c": "W1C"}


def rows(header, least_registers, least_counters):
    """Registers and counters that a header declares; it must hold at least so many, or its form has changed."""
    text = open(os.path.join(INCLUDE, header), encoding="utf-8").read().replace("\\\n", " ")
    registers = re.findall(r'X\((\w+), (0x[0-9A-F]+), (k\w+), ([^,]+), "((?:[^"\\]|\\.)*)"\)', text)
    counters = re.findall(r'X\((\w+), "(\w+)", "([^"]*)"\)', text)
    if len(registers) < least_registers or len(counters) < least_counters:
        sys.exit(f"found {len(registers)} registers and {len(counters)} counters in {header}: its form has changed")
    return registers, counters


def tables(registers, counters, first_counter):
    return (
        "| offset | name | access | reset | meaning |\n|---|---|---|---|---|\n" + "\n".join(
            f"| {int(o, 16):#05x} | {n[1:]} | {ACCESS[a]} | {r.strip()} | {m.replace(chr(92), '')} |" for n, o, a, r, m in registers),
        "| offset | name | meaning |\n|---|---|---|\n" + "\n".join(
            f"| {0x810 + 8 * (first_counter + i):#05x} | {n} | {m} |" for i, (_, n, m) in enumerate(counters)))


awing, oc48 = rows("datasheet.h", 40, 20), rows("datasheet_oc48.h", 8, 8)
for name, prefix, (registers, counters), first in (("datasheet.md", "", awing, 0), ("datasheet-oc48.md", "oc48 ", oc48, len(awing[1]))):
    path = os.path.join(TOP, "docs", name)
    doc = fresh = open(path, encoding="utf-8").read()
    for kind, table in zip(("registers", "counters"), tables(registers, counters, first)):
        fresh = re.sub(rf"(<!-- {prefix}{kind} -->\n).*?(\n<!-- end -->)", lambda m: m.group(1) + table + m.group(2), fresh, flags=re.S)
    if "--write" in sys.argv:
        open(path, "w", encoding="utf-8").write(fresh)
    elif fresh != doc:
        sys.exit(f"docs/{name} differs from the header: run python3 tests/datasheet_doc.py --write")
    else:
        print(f"docs/{name}: {len(registers)} registers and {len(counters)} counters agree")
