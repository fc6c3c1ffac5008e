# SPDX-License-Identifier: BSD-3-Clause
"""Prints the line that counts a meson test run: count.py TESTLOG STATUS. Exits non-zero on failure or on no test."""
import json
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
try:
    with open(sys.argv[1], encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            result = test["result"]
            kind = "passed" if result in ("OK", "EXPECTEDFAIL") else "skipped" if result == "SKIP" else "failed"
            counts[kind] += 1
            if kind == "skipped":
                last = (test.get("stdout") or test.get("stderr") or "no reason given").strip().splitlines()[-1:]
                print(f"SKIPPED: {test['name']}: {last[0] if last else 'no reason given'}")
except OSError as error:
    print(f"no test log: {error}")
if sys.argv[2] != "0" and not counts["failed"]:
    print(f"meson test itself failed, exit {sys.argv[2]}")
    counts["failed"] = 1
print(f"{counts['passed']} passed, {counts['failed']} failed" + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
sys.exit(1 if counts["failed"] or counts["passed"] == 0 else 0)
