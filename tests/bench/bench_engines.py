# SPDX-License-Identifier: BSD-3-Clause
"""Millions of line clocks a second of each engine without DPDK around it: one card, its line looped to itself, both
directions at full load. Real time is 156.25. PCI-X 533, since no slower bus carries both directions at wire rate."""
import os
import subprocess

from common import report

REAL_TIME = 156.25
RUNS = 5
program = os.path.join(os.environ["AWING_BUILD"], "tests/bench/bench_engines")

for engine, dma, size, model_us in (("fast", "stream", 64, 200000), ("fast", "stream", 1518, 400000), ("fast", "stream", 9018, 400000),
                                    ("fast", "ring", 64, 100000), ("fast", "ring", 1518, 400000),
                                    ("reference", "stream", 64, 10000), ("reference", "stream", 1518, 10000),
                                    ("reference", "ring", 64, 10000), ("reference", "ring", 1518, 10000)):
    runs, frames, drops = [], 0, 0
    for _ in range(RUNS):
        out = subprocess.run([program, engine, dma, str(size), str(model_us), "pcix533"], capture_output=True, text=True,
                             check=True).stdout.split()
        runs.append(float(out[1]))
        frames, drops = int(out[3]), int(out[4])
    name = f"{engine} {size}B both ways" + (" rings" if dma == "ring" else "")
    wire = model_us * 1e4 / (8 * (size + 20))
    report("engines", name, "Mclk/s", runs, limit=REAL_TIME,
           note=f"[{100 * frames / wire:.1f} % of wire rate in the model, {drops} dropped]")
