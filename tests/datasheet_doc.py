# SPDX-License-Identifier: BSD-3-Clause
"""Keeps docs/datasheet.md in step with the datasheet header: `datasheet_doc.py` checks, `--write` mends the tables."""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER = os.path.join(TOP, "hwmodel/include/hwmodel/datasheet.h")
DOC = os.path.join(TOP, "docs/datasheet.md")

text = open(HEADER, encoding="utf-8").read().replace("\\\n", " ")
registers = re.findall(r'X\((\w+), (0x[0-9A-F]+), (k\w+), ([^,]+), "((?:[^"\\]|\\.)*)"\)', text)
counters = re.findall(r'X\((\w+), "(\w+)", "([^"]*)"\)', text)
if len(registers) < 40 or len(counters) < 20:
    sys.exit(f"found {len(registers)} registers and {len(counters)} counters in {HEADER}: its form has changed")
access = {"kRo": "RO", "kRw": "RW", "kW1s": "W1S", "kW1c": "W1C"}
tables = {
    "registers": "| offset | name | access | reset | meaning |\n|---|---|---|---|---|\n" + "\n".join(
        f"| {int(o, 16):#05x} | {n[1:]} | {access[a]} | {r.strip()} | {m.replace(chr(92), '')} |" for n, o, a, r, m in registers),
    "counters": "| offset | name | meaning |\n|---|---|---|\n" + "\n".join(
        f"| {0x810 + 8 * i:#05x} | {n} | {m} |" for i, (_, n, m) in enumerate(counters)),
}
doc = open(DOC, encoding="utf-8").read()
fresh = doc
for name, table in tables.items():
    fresh = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda m: m.group(1) + table + m.group(2), fresh, flags=re.S)
if "--write" in sys.argv:
    open(DOC, "w", encoding="utf-8").write(fresh)
elif fresh != doc:
    sys.exit("docs/datasheet.md differs from the header: run python3 tests/datasheet_doc.py --write")
else:
    print(f"{len(registers)} registers and {len(counters)} counters agree")
