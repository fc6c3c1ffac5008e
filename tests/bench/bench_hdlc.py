# SPDX-License-Identifier: BSD-3-Clause
"""GB/s of frame octets (address to last information octet) that become line octets and back, with FCS-32, by one core. The
peer is the table-driven loop of the textbooks, an octet at a time, in the same program; the limit is memcpy of the frames."""
import os
import statistics
import subprocess

from common import report

RUNS = 7
program = os.path.join(os.environ["AWING_BUILD"], "tests/bench/bench_hdlc")

out = subprocess.run([program, str(RUNS)], capture_output=True, text=True, check=True).stdout
cases = {}
for line in out.splitlines():
    what, size, payload, *speeds = line.split()
    cases.setdefault(f"{what} {size}B {payload}", []).append([float(s) for s in speeds])
for name, runs in sorted(cases.items(), key=lambda c: (c[0].split()[0])):
    ours, textbook, memcpy = zip(*runs)
    report("hdlc", name, "GB/s", ours, peer="textbook", theirs=textbook, limit=round(statistics.median(memcpy), 3))
