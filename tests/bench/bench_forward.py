# SPDX-License-Identifier: BSD-3-Clause
"""Stock testpmd, io forwarding on one core, in real time: awing ports on one cable beside net_memif, net_null, net_ring.

Both ways: two ports joined to each other, packets go round; figures are packets received on both ports together. One way:
net_null feeds card A, card B is drained by net_null; the figure is what card B receives. Bus: PCI-X 533, since PCI-X 266
(17.07 Gb/s) cannot carry 10 Gb/s both ways; the case "pcix266" shows that. Frame sizes count the FCS.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
import tty

from common import report

PMD = os.environ["AWING_PMD"]
RUNS, WARM_S, SECONDS = 3, 0.7, 1.5


def line_rate(size):
    """Frames a second of a 10 Gb/s line, in millions."""
    return 1e10 / (8 * (size + 20)) / 1e6


def run(vdevs, size, packets, options="", start="start tx_first 16"):
    """Starts testpmd, lets it forward, and returns the counters of all ports at the start and end of a window."""
    folder = tempfile.mkdtemp(prefix="awing-bench-")
    room = 2176 if size < 2000 else 9344
    args = ["dpdk-testpmd", "-l", "0,1", "--no-pci", "--no-huge", "-m", "1200", "--single-file-segments", "--file-prefix",
            f"awingb{os.getpid()}", "--log-level=lib.eal:error", "-d", PMD]
    for v in vdevs:
        args += ["--vdev", v]
    args += ["--", "-i", "--nb-cores=1", "--forward-mode=io", f"--total-num-mbufs={packets}", "--no-mlockall",
             f"--mbuf-size={room}", f"--txpkts={size - 4}"] + options.split()
    here, far = pty.openpty()
    tty.setraw(far)
    p = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=far, stderr=far, env=dict(os.environ, XDG_RUNTIME_DIR=folder))
    os.close(far)

    def say(command):
        p.stdin.write((command + "\n").encode())
        p.stdin.flush()

    text = b""

    def until(mark):
        nonlocal text
        while mark not in text:
            try:
                piece = os.read(here, 65536)
            except OSError:
                raise SystemExit("testpmd ended: " + text.decode(errors="replace")[-800:]) from None
            text += piece
        seen, _, text = text.partition(mark)
        return seen.decode(errors="replace")

    def counters():
        say("show port stats all\nzz")
        at = time.monotonic()
        said = until(b"zz\r\n")
        return at, [int(n) for n in re.findall(r"RX-packets: (\d+)", said)], [int(n) for n in re.findall(r"RX-missed: (\d+)", said)]

    until(b"testpmd> ")
    say(start)
    time.sleep(WARM_S)
    a = counters()
    time.sleep(SECONDS)
    b = counters()
    say("stop")
    say("quit")
    try:
        while os.read(here, 65536):
            pass
    except OSError:
        pass
    p.wait()
    os.close(here)
    return a, b


def rate(result, ports):
    (t0, rx0, _), (t1, rx1, _) = result
    return sum(rx1[i] - rx0[i] for i in ports) / (t1 - t0) / 1e6


def lost(result):
    return sum(result[1][2])


def main():
    quick = "--quick" in sys.argv
    for size in (64, 512, 1518, 9018):
        scatter = "" if size < 2000 else " --max-pkt-len=9018"
        # Streams that hold a millisecond of line, which the host may be away for; at 64 octets what fits the cache is faster.
        streams = "" if size < 1500 else ",tx_stream=1024k,rx_stream=1024k"
        memif_dir = tempfile.mkdtemp()
        bsize = 2048 if size < 2000 else 9216
        memif = [f"net_memif0,role=server,id=0,socket={memif_dir}/m.sock,socket-abstract=no,bsize={bsize}",
                 f"net_memif1,role=client,id=0,socket={memif_dir}/m.sock,socket-abstract=no,bsize={bsize}"]
        kinds = {
            "awing": ([f"net_awing0,wire=c0,bus=pcix533{streams}", f"net_awing1,wire=c0,bus=pcix533{streams}"], scatter),
            "memif": (memif, ""),
            "null": ([f"net_null0,size={size - 4}", f"net_null1,size={size - 4}"], ""),
            "ring": (["net_ring0", "net_ring1"], ""),
            "pcix266": ([f"net_awing0,wire=c0{streams}", f"net_awing1,wire=c0{streams}"], scatter),
        }
        rates = {k: [] for k in kinds}
        losses = {"awing": 0, "pcix266": 0}
        for _ in range(1 if quick else RUNS):
            for kind, (vdevs, options) in kinds.items():
                r = run(vdevs, size, 16384, options)
                rates[kind].append(rate(r, (0, 1)))
                if kind in losses:
                    losses[kind] += lost(r)
        case = f"{size}B both ways"
        limit = round(2 * line_rate(size), 4)
        report("forward", case, "Mpps", rates["awing"], "net_memif", rates["memif"], limit, f"[lost {losses['awing']}]")
        for other in ("null", "ring"):
            report("forward", f"{case} beside net_{other}", "Mpps", rates["awing"], f"net_{other}", rates[other], limit)
        report("forward", f"{case} pcix266", "Mpps", rates["pcix266"], limit=limit, note=f"[bus-bound, lost {losses['pcix266']}]")

        one, losses = [], 0
        for _ in range(1 if quick else RUNS):
            # Ports in the order 0 null -> 1 awing A ... awing B 2 -> 3 null: pairs (0,1) and (2,3).
            r = run([f"net_null0,size={size - 4}", f"net_awing0,wire=c0{streams}", f"net_awing1,wire=c0{streams}", f"net_null1,size={size - 4},no-rx=1"], size,
                    32768, scatter, start="start")
            one.append(rate(r, (2,)))
            losses += r[1][2][2]
        report("forward", f"{size}B one way", "Mpps", one, limit=round(line_rate(size), 4), note=f"[lost {losses}]")


main()
