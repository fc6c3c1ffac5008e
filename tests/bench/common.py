# SPDX-License-Identifier: BSD-3-Clause
"""What the benches share: medians of several runs, a table for people, JSON lines for programs."""
import json
import statistics
import sys

AS_JSON = "--json" in sys.argv


def report(bench, case, unit, ours, peer=None, theirs=None, limit=None, note=""):
    """ours, theirs: values of the runs. limit: what cannot be passed (line, bus, real time)."""
    us = statistics.median(ours)
    them = statistics.median(theirs) if theirs else None
    row = {"bench": bench, "case": case, "unit": unit, "ours": round(us, 4), "peer": peer,
           "theirs": round(them, 4) if them is not None else None, "ratio": round(us / them, 3) if them else None,
           "limit": limit, "of_limit": round(us / limit, 4) if limit else None}
    if AS_JSON:
        print(json.dumps(row), flush=True)
        return
    text = f"{bench:8} {case:34} {us:10.3f} {unit:7} ({min(ours):.3f}-{max(ours):.3f})"
    if them is not None:
        text += f"  {peer} {them:.3f}, ratio {us / them:.2f}"
    if limit:
        text += f"  {100 * us / limit:.2f} % of {limit:.3f}"
    print(text + (f"  {note}" if note else ""), flush=True)
