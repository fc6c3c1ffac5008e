# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own l3fwd-power example sleeps and wakes on the card's receive interrupts.  l3fwd_power.py SOURCES stream|ring

SOURCES: the example's folder of the DPDK source package (./awing setup fetches it). It is compiled as it is with the
installed DPDK and forwards between two ports in interrupt-only mode. Each port is plugged into a capture file whose bursts
come with pauses in between; what leaves goes to another one. Every packet must come out of the right port, once, in order,
with its TTL one less; and every burst must find the example asleep. Environment: AWING_PMD. Exit 77 = skipped, with the
reason.
"""
import glob
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PMD = os.environ.get("AWING_PMD", "")
LIMIT_S = float(os.environ.get("AWING_TEST_LIMIT_S", "60"))
BURSTS, PAUSE_NS = 40, 25_000_000


class Failure(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Failure(what)


def skip(why):
    print("l3fwd-power is not tried: " + why)
    sys.exit(77)


def build(sources, to):
    files = [os.path.join(sources, f) for f in ("main.c", "perf_core.c")]
    if not all(map(os.path.isfile, files)):
        skip(f"no example source in {sources}; ./awing setup takes it from the DPDK source package")
    flags = {k: subprocess.run(["pkg-config", k, "libdpdk"], capture_output=True, text=True, check=False).stdout
             for k in ("--cflags", "--libs")}
    done = subprocess.run(["cc", "-O2", *shlex.split(flags["--cflags"]), "-DALLOW_EXPERIMENTAL_API", *files, "-o", to,
                           *shlex.split(flags["--libs"])], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip("it does not compile: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(number, subnet, length):
    """A UDP packet for SUBNET.1.1.7 that carries its number; l3fwd-power sends it to port SUBNET - 1."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length - 14, number & 0xFFFF, 0, 64, 17, 0, bytes((10, 0, 0, 1)),
                     bytes((subnet, 1, 1, 7)))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    body = struct.pack("!HHHHI", 9, 9, length - 34, 0, number)
    return (bytes((2, 0, 0, 0, 0, 1)) + bytes((2, 0, 0, 0, 0, 2)) + b"\x08\x00" + ip + body).ljust(length, b"\x5a")


def write_capture(file, subnet):
    """Bursts of 1 to 50 packets 2 us apart, a pause after each; the two ports take turns. Returns how many packets."""
    number = 0
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))  # nanoseconds, Ethernet
        for burst in range(BURSTS):
            for i in range(1 + (burst * 7) % 50):
                data = packet(number, subnet, 60 + (number * 37) % 1400)
                ns = burst * PAUSE_NS + (PAUSE_NS // 2 if subnet == 1 and burst else 0) + i * 2000
                out.write(struct.pack("<IIII", 1000 + ns // 10**9, ns % 10**9, len(data), len(data)) + data)
                number += 1
    return number


def read_capture(file):
    with open(file, "rb") as f:
        data = f.read()
    at, packets = 24, []
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packets.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return packets


def ask(path, command):
    """DPDK's telemetry."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(5)
        s.connect(path)
        s.recv(1024)
        s.send(command.encode())
        return json.loads(s.recv(65536))[command.split(",")[0]]


def run(program, folder, dma):
    prefix = f"awingl3{os.getpid()}"
    wanted = [write_capture(f"{folder}/in{p}.pcap", 2 - p) for p in range(2)]
    log_file = f"{folder}/log"
    args = [program, "-l", "0", "--no-pci", "--no-huge", "-m", "512", "--file-prefix", prefix, "-d", PMD,
            "--log-level", "user1:info"]
    for p in range(2):
        args += ["--vdev", f"net_awing{p},wire=pcap:{folder}/in{p}.pcap+{folder}/out{p}.pcap,dma={dma},"
                 "mac=02:00:00:00:00:01"]
    args += ["--", "-p", "3", "--config=(0,0,0),(1,0,0)", "--no-numa", "--parse-ptype", "--interrupt-only"]
    env = dict(os.environ, XDG_RUNTIME_DIR=folder)
    if os.environ.get("AWING_PRELOAD"):
        env.update(LD_PRELOAD=os.environ["AWING_PRELOAD"], ASAN_OPTIONS="detect_leaks=0")
    start = time.monotonic()
    with open(log_file, "wb") as log:
        process = subprocess.Popen(args, stdout=log, stderr=log, env=env)
    done = [0, 0]
    try:
        while done != wanted and time.monotonic() < start + LIMIT_S:
            time.sleep(0.2)
            check(process.poll() is None, "it ended by itself: " + open(log_file, errors="replace").read()[-800:])
            sockets = [f for f in glob.glob(f"/run/dpdk/{prefix}/*.v2") + glob.glob(f"{folder}/dpdk/{prefix}/*.v2")]
            if not sockets:
                continue
            try:
                done = [ask(sockets[0], f"/ethdev/xstats,{1 - p}").get("tx_line_packets", 0) for p in range(2)]
                counts = [ask(sockets[0], f"/ethdev/xstats,{p}") for p in range(2)]
            except (OSError, TypeError, AttributeError, ValueError, KeyError):
                continue  # not ready yet
        process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if process.returncode is None:
            process.kill()
    seconds = time.monotonic() - start
    log = open(log_file, errors="replace").read()
    check(done == wanted, f"{done} packets left of {wanted} within {LIMIT_S:.0f} s: {log[-800:]}")
    check(process.returncode == 0, f"exit {process.returncode}: {log[-800:]}")
    for p in range(2):
        out = read_capture(f"{folder}/out{1 - p}.pcap")
        check(len(out) == wanted[p], f"{len(out)} packets in the capture of port {1 - p}, not {wanted[p]}")
        for number, data in enumerate(out):
            sent = packet(number, 2 - p, 60 + (number * 37) % 1400)
            check(data[12:22] == sent[12:22] and data[22] == 63 and data[26:] == sent[26:],
                  f"port {1 - p}: packet {number} is not what was sent, with its TTL one less")
        wakes = len(re.findall(rf"waked up from rx interrupt on port {p} queue 0", log))
        # On a busy machine it may still be at work when the next burst comes; else each finds it asleep.
        check(wakes >= BURSTS // 2, f"port {p} was woken {wakes} times for {BURSTS} bursts")
        check(counts[p]["rx_interrupts"] >= wakes, f"port {p}: {counts[p]['rx_interrupts']} interrupts, {wakes} wake-ups")
        check(all(counts[p][c] == 0 for c in ("rx_fifo_drops", "rx_missed_errors", "rx_errors")), counts[p])
        print(f"port {p}: {wanted[p]} packets in {BURSTS} bursts forwarded, woken {wakes} times by "
              f"{counts[p]['rx_interrupts']} interrupts")
    processor = usage.ru_utime + usage.ru_stime
    print(f"{processor:.2f} s of processor time in {seconds:.2f} s")


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("stream", "ring"):
        print(__doc__)
        return 2
    if not os.path.isfile(PMD):
        print("AWING_PMD does not name the driver; run ./awing test")
        return 1
    with tempfile.TemporaryDirectory(prefix="awing-test-") as folder:
        build(sys.argv[1], f"{folder}/l3fwd-power")
        try:
            run(f"{folder}/l3fwd-power", folder, sys.argv[2])
        except Failure as failure:
            print(f"FAILED l3fwd-power {sys.argv[2]}: {failure}")
            return 1
    print(f"ok l3fwd-power {sys.argv[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
