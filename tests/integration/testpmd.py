# SPDX-License-Identifier: BSD-3-Clause
"""Drives stock dpdk-testpmd with the driver loaded.  testpmd.py CASE [stream|ring]

Environment: AWING_PMD = the driver, AWING_PRELOAD = libraries to preload (sanitizers). Exit 77 = skipped, with the reason.
"""
import atexit
import glob
import os
import pty
import queue
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tty

PMD = os.environ.get("AWING_PMD", "")
LIMIT_S = float(os.environ.get("AWING_TEST_LIMIT_S", "60"))


class Failure(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Failure(what)


class Testpmd:
    """A running testpmd. Commands wait for the prompt, so that nothing depends on how fast the machine is."""

    def __init__(self, ports, options="", eal="--no-huge -m 512", expect_start=True):
        self.dir = tempfile.mkdtemp(prefix="awing-test-")
        args = ["dpdk-testpmd", "-l", "0,1", "--no-pci", "-d", PMD, "--file-prefix", f"awing{os.getpid()}"] + eal.split()
        self.virtual = bool(os.environ.get("AWING_PRELOAD")) or all("clock=virtual" in p for p in ports)
        for i, devargs in enumerate(ports):
            # Sanitizers slow the model below real time, and a card that lags takes ever longer to hear a doorbell.
            if os.environ.get("AWING_PRELOAD") and "clock=" not in devargs:
                devargs += ",clock=virtual"
            args += ["--vdev", f"net_awing{i},{devargs}"]
        args += ["--", "-i", "--nb-cores=1", "--total-num-mbufs=8192", "--no-mlockall"] + options.split()
        env = dict(os.environ, XDG_RUNTIME_DIR=self.dir)
        if os.environ.get("AWING_PRELOAD"):
            env["LD_PRELOAD"] = os.environ["AWING_PRELOAD"]
            env["ASAN_OPTIONS"] = "detect_leaks=0"
            env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
        self.log = ""
        self.unread = ""
        self.marks = 0
        # A terminal for what it prints: into a pipe it would hold it back.
        self.terminal, far = pty.openpty()
        tty.setraw(far)
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=far, stderr=far, env=env)
        os.close(far)
        atexit.register(shutil.rmtree, self.dir, ignore_errors=True)
        atexit.register(self.process.kill)  # a case that fails leaves nothing running
        self.output = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if expect_start:
            self._until("testpmd> ")

    def _read(self):
        while True:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                break
            if not data:
                break
            self.output.put(data.decode(errors="replace"))
        self.output.put(None)

    def _until(self, mark, limit=LIMIT_S):
        """Everything up to and with the mark; what comes behind it stays for the next call."""
        end = time.monotonic() + limit
        while mark not in self.unread:
            try:
                piece = self.output.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"no {mark!r} within {limit:.0f} s: {self.log[-800:]}") from None
            if piece is None:
                raise Failure("testpmd ended: " + self.log[-1500:])
            self.unread += piece
            self.log += piece
        seen, mark, self.unread = self.unread.partition(mark)
        return seen + mark

    def __call__(self, command):
        # An unknown word behind it: its echo comes when the command is done, whatever else prints meanwhile.
        self.marks += 1
        self.process.stdin.write(f"{command}\nzz{self.marks}\n".encode())
        self.process.stdin.flush()
        said = self._until(f"zz{self.marks}")
        return said + self._until("testpmd> ")

    def wait_for(self, condition, what, limit=LIMIT_S):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                raise Failure(f"{what} not within {limit:.0f} s\n" + self("show port stats all") + self("show port xstats all"))
            time.sleep(0.05)

    def events(self, mark, limit=LIMIT_S):
        """Waits for text that comes by itself."""
        self.wait_for(lambda: mark in self.log or self("") is None, mark, limit)

    def quit(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.flush()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failure("testpmd does not quit") from None
        while (piece := self.output.get(timeout=5)) is not None:
            self.log += piece
        check(self.process.returncode == 0, f"testpmd exit {self.process.returncode}: {self.log[-1500:]}")
        for bad in ("ERROR: AddressSanitizer", "runtime error:", "PANIC", "Segmentation"):
            check(bad not in self.log, bad + ": " + self.log[-3000:])

    def xstats(self, port):
        return {k: int(v) for k, v in re.findall(r"^(\w+): (\d+)\s*$", self(f"show port xstats {port}"), re.M)}

    def stats(self, port):
        return {k: int(v) for k, v in re.findall(r"(\w+-\w+):\s*(\d+)", self(f"show port stats {port}"))}


def failed_start(ports, options=""):
    """Starts testpmd with bad device arguments and returns what it says."""
    t = Testpmd(ports, options, expect_start=False)
    while True:
        piece = t.output.get(timeout=LIMIT_S)
        if piece is None:
            break
        t.log += piece
        if "testpmd> " in t.log or "Press enter" in t.log:
            t.process.stdin.write(b"\nquit\n")
            t.process.stdin.flush()
    t.process.wait(LIMIT_S)
    return t.log


def settled(t, ports=(0, 1)):
    """Waits until nothing is in flight and returns the xstats of the ports."""
    def sent():
        # In virtual time a card works on when somebody reads a register: the firmware version is one.
        for _ in range(200 if t.virtual else 0):
            t("show port info 0")
        return all(t.xstats(p)["tx_in_flight"] == 0 for p in ports)
    t.wait_for(sent, "an empty send side")
    return [t.xstats(p) for p in ports]


def conserved(a, b):
    """What card A put on the line is what card B admitted or dropped, each in one counter."""
    arrived = sum(b[k] for k in ("rx_admitted_packets", "rx_fifo_drops", "rx_crc_errors", "rx_filtered", "rx_oversize_errors",
                                 "rx_undersize_errors", "rx_disabled_drops"))
    check(a["tx_line_packets"] == arrived, f"sent {a['tx_line_packets']}, arrived or dropped {arrived}")


PAIR = ["wire=c0,dma={dma}", "wire=c0,dma={dma}"]
STREAM_OCTETS = 128 * 1024


def pair(dma, extra=""):
    return [p.format(dma=dma) + extra for p in PAIR]


def enough(t, port=0, packets=20000):
    """Traffic until every ring has wrapped at least three times: 128 KiB streams of 80-octet records wrap each 1638 packets,
    rings of 512 descriptors each 512."""
    t.wait_for(lambda: t.stats(port)["RX-packets"] > packets, f"{packets} packets")


def forward(dma, mode, options="", tx_first=True):
    t = Testpmd(pair(dma), options)
    t(f"set fwd {mode}")
    t("start tx_first 8" if tx_first else "start")
    enough(t, 0)
    enough(t, 1)
    t("stop")
    a, b = settled(t)
    conserved(a, b)
    conserved(b, a)
    for port in (0, 1):
        s = t.stats(port)
        check(s["RX-errors"] == 0 and s["TX-errors"] == 0, f"errors on port {port}: {s}")
    t.quit()


def case_io(dma):
    forward(dma, "io")


def case_mac(dma):
    forward(dma, "mac")


def case_csum(dma):
    forward(dma, "csum")


def case_flowgen(dma):
    forward(dma, "flowgen", tx_first=False)


def case_txonly_rxonly(dma):
    """txonly on port 0 only: port 1 is not read, so its stream fills up and the card must drop and count."""
    t = Testpmd(pair(dma))
    t("set portlist 0")
    t("set fwd txonly")
    t("start")
    t.wait_for(lambda: t.xstats(1)["rx_fifo_drops"] > 1000, "drops at the reader that does not read")
    t("stop")
    a, b = settled(t)
    conserved(a, b)
    check(b["rx_good_packets"] == 0, "nobody read port 1")
    check(t.stats(1)["RX-missed"] == b["rx_fifo_drops"], "imissed is the FIFO drops")
    # Now somebody reads: exactly what was admitted comes out.
    t("set portlist 1")
    t("set fwd rxonly")
    t("start")
    t.wait_for(lambda: t.xstats(1)["rx_in_flight"] == 0, "port 1 read empty")
    t("stop")
    b = t.xstats(1)
    check(b["rx_good_packets"] == b["rx_admitted_packets"], "every admitted packet is delivered once")
    conserved(t.xstats(0), b)
    t.quit()


def case_overload(dma):
    """Both directions flat out through PCI-X 133, which cannot carry them: the sums still close exactly."""
    t = Testpmd(pair(dma, ",bus=pcix133"))
    t("set fwd flowgen")
    t("start")
    enough(t, 0)
    enough(t, 1)
    t("stop")
    a, b = settled(t)
    conserved(a, b)
    conserved(b, a)
    for port, x in enumerate((a, b)):
        s = t.stats(port)
        check(s["TX-packets"] == x["tx_line_packets"] + x["tx_flushed"], "accepted = sent + flushed, nothing in flight")
        check(s["RX-packets"] + x["rx_in_flight"] == x["rx_admitted_packets"], "admitted = delivered + in flight")
    t.quit()


def case_restart(dma):
    t = Testpmd(pair(dma))
    for _ in range(3):
        t("start tx_first 4")
        enough(t, 0, 4000)
        t("stop")
        t("clear port stats all")
        t("port stop all")
        t("port start all")
    t("port stop 0")
    t("port reset 0")
    t("port start 0")
    t("start tx_first 4")
    t.wait_for(lambda: t.stats(0)["RX-packets"] > 1000, "traffic after a reset")
    t("stop")
    t("port stop all")
    t("port close 0")
    t("port close 1")
    t.quit()


def case_stop_in_traffic(dma):
    """Port 1 goes away under load: what is sent then ends in a counter too."""
    t = Testpmd(pair(dma))
    t("set portlist 0")
    t("set fwd txonly")
    t("start")
    t.wait_for(lambda: t.xstats(0)["tx_line_packets"] > 5000, "traffic")
    t("port stop 1")
    t.wait_for(lambda: t.xstats(1)["rx_disabled_drops"] > 1000, "drops at the port that is off")
    t("stop")
    a, b = settled(t)
    conserved(a, b)
    check(b["rx_in_flight"] == 0, "a stopped port holds nothing")
    check(b["rx_admitted_packets"] == b["rx_stop_drops"] + t.stats(1)["RX-packets"], "admitted = delivered + dropped at stop")
    t.quit()


def case_link(dma):
    t = Testpmd(pair(dma))
    check("Link status: up" in t("show port info 0"), "link up with both ports started")
    t("port stop 1")
    t.events("Port 0: link state change event")
    check("Link status: down" in t("show port info 0"), "link down when the far end is off")
    t("port start 1")
    t.wait_for(lambda: "Link status: up" in t("show port info 0"), "link up again")
    t.quit()


def case_mtu(dma):
    """Frames of every kind of size, in one mbuf and scattered, of one segment and of many."""
    t = Testpmd(pair(dma), "--mbuf-size=2176 --enable-scatter --tx-offloads=0x8000")
    for mtu, segments in ((68, "60"), (1500, "60"), (1500, "1000,514"), (9000, "2000,2000,2000,2000,1014"), (9000, "64,64,64"),
                          (16000, "2000,2000,2000,2000,2000,2000,2000,2014")):
        t("port stop all")
        for port in (0, 1):
            said = t(f"port config mtu {port} {mtu}")
            check("fail" not in said.lower(), said)
        t("port start all")
        t("clear port stats all")
        t(f"set txpkts {segments}")
        t("set fwd io")
        t("start tx_first 2")
        enough(t, 0, 5500)  # 80 octets each at least, so three times round 128 KiB
        t("stop")
        a, b = settled(t)
        conserved(a, b)
        size = sum(int(s) for s in segments.split(","))
        s = t.stats(1)
        check(s["RX-bytes"] == size * s["RX-packets"], f"{segments}: {s['RX-bytes']} octets in {s['RX-packets']} packets")
        check(s["RX-errors"] == 0, f"{segments}: errors")
    t("port stop all")
    for bad in (67, 16001):
        said = t(f"port config mtu 0 {bad}")
        check(f"MTU ({bad})" in said and "device m" in said, f"MTU {bad} is refused: {said}")
    t.quit()


def case_oversize(dma):
    """A frame longer than the far end's MTU is dropped and counted there."""
    t = Testpmd(pair(dma), "--mbuf-size=4096")
    t("port stop all")
    t("port config mtu 0 3000")
    t("port start all")
    t("set txpkts 2500")
    t("set portlist 0")
    t("set fwd txonly")
    t("start")
    t.wait_for(lambda: t.xstats(1)["rx_oversize_errors"] > 100, "oversize frames")
    t("stop")
    a, b = settled(t)
    conserved(a, b)
    check(t.stats(1)["RX-errors"] == b["rx_oversize_errors"], "ierrors counts them")
    t.quit()


def case_filter(dma):
    """Without promiscuous mode only frames for the station are delivered; the others are counted as filtered."""
    t = Testpmd(pair(dma))
    t("set promisc all off")
    t("set portlist 0")
    t("set fwd txonly")
    t("start")
    t.wait_for(lambda: t.xstats(1)["rx_filtered"] > 1000, "filtered frames")
    t("stop")
    mac = "02:00:00:00:00:07"
    t(f"mac_addr set 1 {mac}")
    check(mac in t("show port info 1").lower(), "the address was set")
    a, b = settled(t)
    conserved(a, b)
    t.quit()


BROADCAST = b"\xff" * 6 + bytes(54)


def pcap_of(frames):
    """A nanosecond capture of these frames, a microsecond apart."""
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack("<IIII", 0, 1000 * i, len(f), len(f)) + f for i, f in enumerate(frames))


def case_queues(dma):
    """Only receive, only send; more queues than the card has are refused."""
    with tempfile.TemporaryDirectory() as folder:
        capture = folder + "/in.pcap"
        with open(capture, "wb") as f:
            f.write(pcap_of([BROADCAST] * 700))
        t = Testpmd([f"wire=pcap:{capture},dma={dma}"], "--rxq=1 --txq=0")
        t("set fwd rxonly")
        t("start")
        t.wait_for(lambda: t.xstats(0)["rx_good_packets"] == 700, "receiving without a send queue")
        t("stop")
        t.quit()
    t = Testpmd(["wire=loop,dma=" + dma], "--rxq=0 --txq=1")
    t("set fwd txonly")
    t("start")
    t.wait_for(lambda: t.xstats(0)["tx_line_packets"] > 10000, "sending without a receive queue")
    t("stop")
    t.quit()
    said = failed_start(["wire=loop,dma=" + dma], "--rxq=2 --txq=1")
    check("max_rx_queues" in said or "cannot be greater than" in said, said[-600:])


def case_queue_stop(dma):
    t = Testpmd(["wire=loop,dma=" + dma])
    t("start tx_first 2")
    enough(t, 0, 3000)
    t("stop")
    check("state: started" in t("show rxq info 0 0").lower().replace("rx queue ", ""), t.log[-600:])
    t("port 0 rxq 0 stop")
    t("port 0 rxq 0 start")
    t("port 0 txq 0 stop")
    t("port 0 txq 0 start")
    said = t("show port 0 rxq 0 desc 3 status") + t("show port 0 txq 0 desc 3 status")
    check("Desc status" in said, said)
    check("Burst mode" in t("show rxq info 0 0"), "burst mode is told")
    t("start tx_first 2")
    t.wait_for(lambda: t.stats(0)["RX-packets"] > 4000, "traffic after stop and start of the queues")
    t("stop")
    t.quit()


def case_devargs(_dma):
    for devargs, words in (
        ("wire=c0,colour=red", ("unknown key colour", "wire", "bus")),
        ("bus=pci33", ("bus=pci33", "pcix266")),
        ("clock=wall", ("clock=wall", "tsc, virtual")),
        ("mmrbc=513", ("mmrbc=513", "4096")),
        ("rx_fifo=12abc", ("rx_fifo=12abc", "24576")),
        ("mac=ff:ff:ff:ff:ff:ff", ("mac=", "unicast")),
        ("rx_stream=100000", ("rx_stream=100000", "power of two")),
        ("path=/nonexistent.json", ("/nonexistent.json", "path=")),
        ("wire=pcap:/nonexistent.pcap", ("/nonexistent.pcap",)),
        ("trace=/nonexistent/t.vcd", ("/nonexistent/t.vcd",)),
        ("card=oc3", ("card=oc3", "awing")),
        ("card=oc48", ("card=oc48", "not in this driver yet", "awing")),
    ):
        said = failed_start([devargs])
        line = next((l for l in said.splitlines() if "net_awing:" in l), "")
        for word in words:
            check(word in line, f"{devargs}: wanted {word!r} in {line!r}\n{said[-500:]}")


def case_xstats(dma):
    t = Testpmd(pair(dma))
    names = re.findall(r"^(\w+): \d+\s*$", t("show port xstats 0"), re.M)
    check(len(names) == len(set(names)), "names are unique")
    for name in names:
        check(re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name) and len(name) < 64, f"name {name}")
    for name in ("rx_missed_errors", "rx_q0_packets", "bus_write_clocks", "tx_stall_fifo_clocks", "model_lag_ns", "rx_fifo_drops"):
        check(name in names, f"{name} is there")
    t("start tx_first 2")
    enough(t, 0, 3000)
    t("stop")
    settled(t)
    t("clear port xstats all")
    check(t.xstats(0)["tx_line_packets"] == 0 and t.xstats(0)["rx_good_packets"] == 0, "reset")
    # Looked at and reset while packets move: 128 of them, so no level is ever above that, nor below 0 (2^64 - something).
    t("start tx_first 2")
    for _ in range(60):
        for port in (0, 1):
            x = t.xstats(port)
            for level in ("rx_in_flight", "tx_in_flight"):
                check(x[level] <= 256, f"port {port}: {level} {x[level]}")
        t("clear port xstats all")
    t("stop")
    a, b = settled(t)
    check(a["rx_in_flight"] + b["rx_in_flight"] <= 256, f"left to receive: {a['rx_in_flight']}, {b['rx_in_flight']}")
    t.quit()


def pcap_times(name):
    """Times of the packets of a nanosecond pcap, ns."""
    data = open(name, "rb").read()
    magic = struct.unpack("<I", data[:4])[0]
    check(magic == 0xA1B23C4D, f"magic {magic:#x} of a nanosecond pcap")
    at, times = 24, []
    while at + 16 <= len(data):
        s, ns, cap, _ = struct.unpack("<IIII", data[at:at + 16])
        times.append(s * 10**9 + ns)
        at += 16 + cap
    return times


def case_txtimes(dma):
    """Timed send: the gaps on the wire are those that testpmd asked for, to one line quantum (3.2 ns)."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/out.pcap"
        t = Testpmd([f"wire=pcap:+{out},dma={dma},clock=virtual"], "--tx-offloads=0x200000")
        t("set burst 8")
        t("set txtimes 30000,2000")
        t("set burst tx delay 0 retry 100000")  # wait for room, or the times run away from the clock
        t("set fwd txonly retry")
        t("start")
        t.wait_for(lambda: t.xstats(0)["tx_line_packets"] > 5000, "timed packets")
        t("stop")
        t("port stop all")
        t.quit()
        times = pcap_times(out)
        check(len(times) > 4000, "packets were written")
        # Eight packets 2000 ns apart, the next burst 30000 ns behind the last of them: a period of 44000 ns.
        for t0, t1 in zip(times, times[1:]):
            check(t1 > t0, "the order of time")
        for at in times:
            slot = (at - times[0]) % 44000
            check(any(abs(slot - 2000 * k) <= 5 or abs(slot - 44000) <= 5 for k in range(8)), f"a packet {slot} ns into the period")
        check(sum(abs(b - a - 2000) <= 5 for a, b in zip(times, times[1:])) > len(times) / 2, "most gaps are the inner ones")


def ptp_pcap(name, frames=50):
    with open(name, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for i in range(frames):
            frame = bytes.fromhex("011b19000000" "020000000001" "88f7") + bytes([0x00, 0x02]) + bytes(48)
            f.write(struct.pack("<IIII", 1, i * 200_000, len(frame), len(frame)) + frame)


def case_ieee1588(dma):
    with tempfile.TemporaryDirectory() as folder:
        ptp_pcap(folder + "/ptp.pcap")
        t = Testpmd([f"wire=pcap:{folder}/ptp.pcap,dma={dma}"])
        if "Bad arguments" in t("set fwd ieee1588"):
            t.quit()
            print("this testpmd was built without its ieee1588 mode (RTE_LIBRTE_IEEE1588); ethdev_api tests the timesync calls")
            sys.exit(77)
        t("start")
        t.wait_for(lambda: t.stats(0)["TX-packets"] >= 5, "PTP packets answered")
        t("stop")
        t.wait_for(lambda: "RX timestamp value" in t.log and "TX timestamp value" in t.log or t("show port info 0") is None,
                   "both stamps")
        check("RX timestamp value" in t.log, t.log[-800:])
        check("TX timestamp value" in t.log, t.log[-800:])
        t.quit()


def case_deterministic(dma):
    """Virtual runs with traffic give the same trace, octet for octet, on either engine: as far as the shorter one goes, since
    how long testpmd runs is not in our hands."""
    dumps = []
    for engine in ("fast", "fast", "reference"):
        with tempfile.TemporaryDirectory() as folder:
            ports = [f"wire=c0,dma={dma},clock=virtual,engine={engine},trace={folder}/{i}.vcd" for i in (0, 1)]
            t = Testpmd(ports)
            t("start tx_first 4")
            enough(t, 1, 3000)
            t("stop")
            t("port stop all")
            t("port close 0")
            t("port close 1")
            t.quit()
            dumps.append([open(f"{folder}/{i}.vcd", encoding="ascii").read().split("\n") for i in (0, 1)])
    for other, what in ((dumps[1], "two fast runs"), (dumps[2], "fast and reference")):
        for port, (one, two) in enumerate(zip(dumps[0], other)):
            shared = min(len(one), len(two))
            differ = next((i for i in range(shared) if one[i] != two[i]), shared)
            # Where the shorter run was stopped it begins to differ: only its last twentieth may.
            check(differ > 20000 and differ > 0.95 * shared, f"{what}, port {port}: line {differ} of {shared} differs")


def case_damaged(_dma):
    """What goes wrong with a file of the wire while it is used is told, in one line."""
    with tempfile.TemporaryDirectory() as folder:
        name = folder + "/cut.pcap"
        with open(name, "wb") as f:
            f.write(pcap_of([BROADCAST] * 5)[:-40])
        t = Testpmd([f"wire=pcap:{name}"])
        t("set fwd rxonly")
        t("start")
        t.wait_for(lambda: t.stats(0)["RX-packets"] == 4, "the four whole frames")
        t("stop")
        t("port stop all")
        line = next((l for l in t.log.splitlines() if "net_awing:" in l and "cut.pcap" in l), "")
        check("damaged after 4" in line, f"one line tells it: {line!r}")
        t.quit()


def case_pmdinfo(_dma):
    data = open(PMD, "rb").read()
    found = re.search(rb'PMD_INFO_STRING= (\{[^\0]*\})', data)
    check(found, "the driver tells what it is")
    import json
    info = json.loads(found.group(1))
    check(info["name"] == "net_awing", info)
    check("bus=" in info["params"], info)


def case_secondary(_dma):
    """dpdk-proc-info attaches twenty times under traffic, reads the counters, and leaves without harm."""
    free = int(re.search(r"HugePages_Free:\s*(\d+)", open("/proc/meminfo", encoding="ascii").read()).group(1))
    if free < 200 or not os.access("/dev/hugepages", os.W_OK) or os.geteuid() != 0:
        print("no hugepages: secondary processes cannot be tested here")
        sys.exit(77)
    if os.environ.get("AWING_PRELOAD"):
        print("under sanitizers a secondary cannot map the primary's memory at the same addresses")
        sys.exit(77)
    t = Testpmd(pair("stream"), eal="--huge-unlink=never -m 256")
    atexit.register(lambda: [os.unlink(f) for f in glob.glob(f"/dev/hugepages/awing{os.getpid()}map_*")])
    t("start tx_first 8")
    enough(t, 0, 1000)
    before = 0
    for _ in range(20):
        info = subprocess.run(["dpdk-proc-info", "-d", PMD, "--no-pci", "--file-prefix", f"awing{os.getpid()}", "--", "-p",
                               "3", "--xstats"], capture_output=True, text=True, timeout=LIMIT_S,
                              env=dict(os.environ, XDG_RUNTIME_DIR=t.dir))
        found = re.search(r"rx_good_packets: (\d+)", info.stdout)
        check(found, info.stdout[-500:] + info.stderr[-800:])
        check("rx_admitted_packets" in info.stdout, info.stdout[-500:])
        check(int(found.group(1)) >= before, "counters go up")
        before = int(found.group(1))
    now = t.stats(0)["RX-packets"]
    t.wait_for(lambda: t.stats(0)["RX-packets"] > now, "traffic goes on")
    t("stop")
    t.quit()


def main():
    if len(sys.argv) not in (2, 3) or f"case_{sys.argv[1]}" not in globals():
        print(__doc__, "cases:", " ".join(n[5:] for n in globals() if n.startswith("case_")))
        return 2
    if not os.path.isfile(PMD):
        print("AWING_PMD does not name the driver; run ./awing test")
        return 1
    try:
        globals()[f"case_{sys.argv[1]}"](sys.argv[2] if len(sys.argv) == 3 else "stream")
    except Failure as failure:
        print(f"FAILED {' '.join(sys.argv[1:])}: {failure}")
        return 1
    print(f"ok {' '.join(sys.argv[1:])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
