# SPDX-License-Identifier: BSD-3-Clause
"""Drives apcm-stream as a user would.  apcm_stream.py PROGRAM CASE

Environment: AWING_PMD = the driver, for the cases that begin with card. Exit 77 = skipped, with the reason.
"""
import atexit
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
PMD = os.environ.get("AWING_PMD", "")
LIMIT_S = float(os.environ.get("AWING_TEST_LIMIT_S", "100"))
FORMATS = {"422": "yuv422p", "422p10": "yuv422p10le", "420": "yuv420p", "420p10": "yuv420p10le"}
RING = ["--vdev", "net_ring0"]


class Failure(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Failure(what)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def clip(path, pixels, size="320x180", frames=10):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25",
                    "-frames:v", str(frames), "-pix_fmt", pixels, "-strict", "-1", path], check=True)


def framemd5(path):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "framemd5", "-"], check=True,
                          capture_output=True, text=True).stdout


def command(eal, own, core=None):
    cores = [] if core is None or core >= os.cpu_count() else ["-l", str(core)]
    return [PROGRAM, "--no-huge", "-m", "256", "--no-pci", "--file-prefix", f"apcm{os.getpid()}c{core}", *cores, *eal, "--", *own]


def run(eal, own, **more):
    return subprocess.run(command(eal, own), capture_output=True, text=True, timeout=LIMIT_S, **more)


def report(done):
    """The final report of a run with --json, after the checks that hold for every run."""
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    check(lines and lines[-1]["type"] == "report", "the last line is no report")
    r = lines[-1]
    if "sender" in r:
        s = r["sender"]
        check(s["made"] == s["sent"] + s["abandoned"], f"sender's packets do not add up: {s}")
    if "receiver" in r:
        c = r["receiver"]
        ends = ("measured", "foreign", "malformed", "no_block", "bad_block", "unknown_session")
        check(c["received"] == sum(c[e] for e in ends), f"receiver's packets do not add up: {c}")
        check(c["measured"] == sum(s["sequence"]["received"] for s in r["streams"]), "streams do not add up")
    return r


def lossless(r, packets=None):
    s, c = r["sender"], r["receiver"]
    check(s["sent"] == c["measured"] == c["received"], f"not all arrived: {s} {c}")
    check(packets is None or s["sent"] == packets, f"sent {s['sent']}, not {packets}")
    for stream in r["streams"]:
        check(stream["sequence"]["lost"] == 0 and stream["sequence"]["duplicates"] == 0, f"{stream}")


def same_video(sent, got):
    a, b = framemd5(sent), framemd5(got)
    check(a == b, f"the rebuilt video differs\n{a}\n{b}")


def ring():
    """Every format comes back frame for frame over a software ring."""
    for name, pixels in FORMATS.items():
        clip(f"{name}.y4m", pixels)
        r = report(run(RING, [f"{name}.y4m", "--tx-port", "0", "--rx-port", "0", "--rate", "200M", "--out", "got.y4m", "--json"]))
        # 180 lines of 640 (8 bit) or 800 (10 bit) octets: two lines in a packet of 1449 octets, or one.
        lossless(r, 10 * (180 if "p10" in name else 90))
        check(r["rebuilt"]["frames_complete"] == 10 and r["rebuilt"]["frames_written"] == 10, str(r["rebuilt"]))
        same_video(f"{name}.y4m", "got.y4m")


def odd():
    """Odd sizes, small packets, a UDP checksum and jumbo frames change nothing."""
    for size, extra in (("322x182", ["--mtu", "400", "--udp-checksum"]), ("321x181", ["--mtu", "9000"])):
        for pixels in ("yuv422p", "yuv420p"):
            clip("odd.y4m", pixels, size, 3)
            r = report(run(RING, ["odd.y4m", "--tx-port", "0", "--rx-port", "0", "--rate", "100M", "--out", "got.y4m", "--json", *extra]))
            lossless(r)
            same_video("odd.y4m", "got.y4m")


def pipe():
    """ffmpeg's pipe goes in, the rebuilt video comes out of standard output into ffmpeg."""
    clip("a.y4m", "yuv422p")
    with open("a.y4m", "rb") as source:
        sender = subprocess.Popen(command(RING, ["-", "--tx-port", "0", "--rx-port", "0", "--out", "-"]), stdin=source,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        got = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "yuv4mpegpipe", "-i", "pipe:", "-f", "framemd5", "-"],
                             stdin=sender.stdout, capture_output=True, text=True, timeout=LIMIT_S)
        errors = sender.stderr.read().decode()
        check(sender.wait(LIMIT_S) == 0, errors)
    check("10 written to -" in errors, "the report goes to standard error then:\n" + errors)
    check(got.stdout == framemd5("a.y4m"), "the piped video differs: " + got.stderr)


def streams():
    """Several streams share the rate, and a repeated clip comes back repeated."""
    clip("a.y4m", "yuv422p", frames=4)
    r = report(run(RING, ["a.y4m", "--tx-port", "0", "--rx-port", "0", "--rate", "100M", "--streams", "3", "--loop", "2",
                          "--out", "got.y4m", "--out-stream", "2", "--payload-type", "112", "--json", "--interval", "0.01"]))
    lossless(r, 3 * 2 * 4 * 90)
    check(len(r["streams"]) == 3 and all(s["sent"] == 720 for s in r["streams"]), str(r["streams"]))
    check([s["session"] for s in r["streams"]] == [1, 2, 3], "sessions")
    check(r["rebuilt"]["frames_written"] == 8, str(r["rebuilt"]))
    r = report(run(RING, ["--pattern", "64x32@50", "--depth", "10", "--tx-port", "0", "--rx-port", "0", "--rate", "20M",
                          "--streams", "auto", "--frames", "5", "--json"]))
    lossless(r)
    check(r["sender"]["streams"] > 1, "as many streams as the rate needs")


def two_processes():
    """A receiver in another process, joined by memif, told what comes by the sender's SDP file."""
    if os.cpu_count() < 2:
        skip("needs two cores")
    clip("a.y4m", "yuv420p")
    # First only for the SDP; the receiver reads it before the sender of the test is there.
    report(run(RING, ["a.y4m", "--tx-port", "0", "--sdp", "a.sdp", "--frames", "1", "--json"]))
    check("x-awing-source=420" in open("a.sdp").read(), "the SDP says that it was 4:2:0")
    memif = f"socket=@apcm{os.getpid()},socket-abstract=yes,id=0,bsize=2048,rsize=12"
    receiver = subprocess.Popen(command(["--vdev", f"net_memif0,role=server,{memif}"],
                                        ["--rx-port", "0", "--sdp", "a.sdp", "--out", "got.y4m", "--drain-ms", "1500", "--json"], 0),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(500):  # until it listens: net_memif's client tries to connect once when it starts
        if f"@apcm{os.getpid()}" in open("/proc/net/unix").read():
            break
        time.sleep(0.02)
    time.sleep(0.2)
    sender = subprocess.Popen(command(["--vdev", f"net_memif1,role=client,{memif}"],
                                      ["a.y4m", "--tx-port", "0", "--drain-ms", "500", "--json"], 1),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        sent = sender.communicate(timeout=LIMIT_S / 2)
        got = receiver.communicate(timeout=LIMIT_S / 2)
    finally:
        sender.kill()
        receiver.kill()
    s = report(subprocess.CompletedProcess([], sender.returncode, *sent))
    r = report(subprocess.CompletedProcess([], receiver.returncode, *got))
    check(s["sender"]["sent"] == r["receiver"]["measured"] == 900, f"{s} {r['receiver']}")
    same_video("a.y4m", "got.y4m")


def hashes(framemd5_text):
    return [line.split(",")[-1].strip() for line in framemd5_text.splitlines() if line and not line.startswith("#")]


def udp_payloads(pcap):
    """Payloads of the UDP packets of a little-endian pcap file, the surplus area behind them left off."""
    data, at, out = open(pcap, "rb").read(), 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + length]
        out.append(frame[42:34 + struct.unpack_from(">H", frame, 38)[0]])
        at += 16 + length
    return out


def peer():
    """ffmpeg's own RFC 4175 receiver, given our SDP, decodes our packets into the very frames that were sent."""
    for name in ("422", "422p10"):
        clip("a.y4m", FORMATS[name], frames=30)
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1] & ~1  # ffmpeg takes RTP on an even port and RTCP on the next
        probe.close()
        port = port if port <= 60000 else port - 8192
        report(run(["--vdev", "net_pcap0,tx_pcap=sent.pcap"],
                   ["a.y4m", "--tx-port", "0", "--sdp", "a.sdp", "--dst-ip", "127.0.0.1", "--udp-port", str(port), "--json"]))
        ffmpeg = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-protocol_whitelist", "file,udp,rtp", "-buffer_size", "8000000",
                                   "-i", "a.sdp", "-frames:v", "8", "-pix_fmt", FORMATS[name], "-vsync", "passthrough", "-f", "framemd5",
                                   "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        listening = f":{port:04X} "
        for _ in range(500):  # until it listens
            if listening in open("/proc/net/udp").read() or ffmpeg.poll() is not None:
                break
            time.sleep(0.02)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for payload in udp_payloads("sent.pcap"):
            sender.sendto(payload, ("127.0.0.1", port))
            time.sleep(0.0002)
        try:
            got, errors = ffmpeg.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            ffmpeg.kill()
            raise Failure("ffmpeg did not get eight frames: " + ffmpeg.communicate()[1])
        got, sent = hashes(got), hashes(framemd5("a.y4m"))
        # It joins at the first whole frame after it began to listen.
        first = sent.index(got[0]) if got and got[0] in sent else -1
        check(first >= 0 and got == sent[first:first + 8], f"{name}: ffmpeg saw other frames\n{got}\n{sent}\n{errors}")


def interrupt():
    """Ctrl-C ends a run without end, with a summary and exit status 0."""
    clip("a.y4m", "yuv422p", frames=4)
    p = subprocess.Popen(command(RING, ["a.y4m", "--tx-port", "0", "--rx-port", "0", "--loop", "0", "--json", "--interval", "0.1"]),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = p.stdout.readline()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=LIMIT_S)
    check(json.loads(first)["type"] == "interval", first)
    r = report(subprocess.CompletedProcess([], p.returncode, first + out, err))
    check(r["interrupted"] is True, "interrupted")


def errors():
    """Every bad option ends in one line that says what is wrong, and a status that is not 0."""
    clip("a.y4m", "yuv422p", frames=1)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x64", "-frames:v", "1", "-pix_fmt",
                    "yuv444p", "444.y4m"], check=True)
    with open("short.y4m", "wb") as f:
        f.write(open("a.y4m", "rb").read()[:-100])
    open("bad.sdp", "w").write("v=0\nm=video 5004 RTP/AVP 96\na=fmtp:96 sampling=RGB\n")
    ports = ["--tx-port", "0", "--rx-port", "0"]
    cases = [
        (["a.y4m"], "--tx-port, --rx-port"),
        (["a.y4m", "--tx-port", "7"], "port 7 does not exist; there are: 0 (net_ring0)"),
        (["a.y4m", "--tx-port", "-1"], "--tx-port"),
        (["--tx-port", "0"], "nothing to send"),
        (["a.y4m", "--rx-port", "0"], "no --tx-port"),
        (["a.y4m", *ports, "--rate", "6X"], "--rate 6X"),
        (["a.y4m", *ports, "--rate", "0"], "--rate 0"),
        (["a.y4m", *ports, "--streams", "0"], "--streams 0"),
        (["a.y4m", *ports, "--streams", "many"], "--streams many"),
        (["a.y4m", *ports, "--streams", "auto"], "needs --rate"),
        (["a.y4m", *ports, "--pattern", "64x64"], "--pattern"),
        (["--pattern", "64", *ports], "--pattern 64"),
        (["--pattern", "99999x2", *ports], "--pattern 99999x2"),
        (["a.y4m", *ports, "--depth", "10"], "--depth"),
        (["--pattern", "64x64", *ports, "--depth", "12"], "--depth"),
        (["a.y4m", *ports, "--mtu", "50"], "--mtu"),
        (["a.y4m", *ports, "--dst-ip", "1.2.3"], "1.2.3"),
        (["a.y4m", *ports, "--dst-mac", "1:2"], "--dst-mac 1:2"),
        (["a.y4m", *ports, "--frames", "0"], "--frames"),
        (["a.y4m", *ports, "--duration", "x"], "--duration"),
        (["a.y4m", *ports, "--duration", "nan"], "--duration: must be 0.000001..10000000, not nan"),
        (["a.y4m", *ports, "--drain-ms", "nan"], "--drain-ms: must be 0.001..10000000, not nan"),
        (["a.y4m", *ports, "--interval", "nan"], "--interval: must be 0.0001..1000000, not nan"),
        (["a.y4m", *ports, "--loop", "-1"], "--loop: must be 0..1099511627776, not -1"),
        (["--pattern", "64x64", *ports, "--loop", "99999999999999999"], "--loop: must be"),  # 250 times that is over 2^64
        (["a.y4m", *ports, "--frames", "-18446744073709551615"], "--frames: must be"),  # 1, modulo 2^64
        (["a.y4m", *ports, "--streams", "-18446744073709551615"], "must be 1..256 or auto"),
        (["a.y4m", *ports, "--quiet", "--progress"], "--progress"),
        (["a.y4m", *ports, "--out", "/no/such/dir/x"], "/no/such/dir/x: No such file"),
        (["a.y4m", *ports, "--sdp", "/no/such/dir/x"], "/no/such/dir/x: No such file"),
        (["a.y4m", *ports, "--out", "x.y4m", "--out-stream", "1"], "--out-stream 1"),
        (["a.y4m", *ports, "--out", "/dev/full"], "No space left"),
        (["a.y4m", *ports, "--nonsense"], "--nonsense"),
        (["--rx-port", "0", "--out", "x.y4m"], "--sdp"),
        (["--rx-port", "0", "--out", "x.y4m", "--sdp", "none.sdp"], "none.sdp: No such file"),
        (["--rx-port", "0", "--out", "x.y4m", "--sdp", "bad.sdp"], "bad.sdp: line 3"),
        (["none.y4m", *ports], "none.y4m: No such file"),
        (["444.y4m", *ports], "colour space"),
        (["short.y4m", *ports], "cut off"),
        (["-", *ports, "--loop", "2"], "--loop"),
    ]
    for own, expected in cases:
        with open("a.y4m", "rb") as stdin:
            done = run(RING, own, stdin=stdin)
        lines = [line for line in done.stderr.splitlines() if line.startswith("apcm-stream: ")]
        check(done.returncode not in (0, None) and done.returncode > 0, f"{own}: exit {done.returncode}\n{done.stderr}")
        check(len(lines) == 1 and expected in lines[0], f"{own}: no single line with {expected!r}:\n{done.stderr}")
    done = run([], ["a.y4m", *ports])
    check(done.returncode == 1 and "DPDK has no port" in done.stderr and "--vdev" in done.stderr, done.stderr)
    done = run(["--no-such-eal-option"], ["a.y4m", *ports])
    check(done.returncode == 1 and "DPDK refused" in done.stderr, done.stderr)
    done = subprocess.run([PROGRAM, "a.y4m"], capture_output=True, text=True)
    check(done.returncode == 2 and "--" in done.stderr, done.stderr)
    for own in (["--help"], ["--", "--help"]):
        done = subprocess.run([PROGRAM, *own], capture_output=True, text=True)
        check(done.returncode == 0 and "--tx-port" in done.stdout and "Examples" in done.stdout, done.stdout)


def complaint(done, status, *words):
    """The one line of ours on standard error, which has these words."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("apcm-stream: ")]
    check(done.returncode == status, f"exit {done.returncode}, not {status}: {done.stderr}")
    check(len(lines) == 1 and all(w in lines[0] for w in words), f"no single line with {words}:\n{done.stderr}")


def report_lost():
    """A report that cannot be written is a failed run; a reader that goes away ends a run without end."""
    own = ["--pattern", "64x64", "--tx-port", "0", "--rx-port", "0", "--rate", "10M"]
    for more in ([], ["--json"], ["--json", "--interval", "0.001"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(command(RING, [*own, "--frames", "3", *more]), stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=LIMIT_S)
        complaint(done, 1, "the report cannot be written: No space left")
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    complaint(done, 1, "No space left")
    p = subprocess.Popen(command(RING, [*own, "--loop", "0", "--duration", "60", "--json", "--interval", "0.01"]),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.stdout.close()
    begin = time.monotonic()
    errors = p.stderr.read()
    complaint(subprocess.CompletedProcess([], p.wait(LIMIT_S), "", errors), 1, "Broken pipe")
    check(time.monotonic() - begin < 30, "it went on without its reader")


def same_file():
    """What is read is never written over, whatever name it has; two outputs are two files."""
    clip("a.y4m", "yuv422p", frames=2)
    before = open("a.y4m", "rb").read()
    os.symlink("a.y4m", "link")
    os.link("a.y4m", "hard")
    os.symlink("new", "dangling")
    os.mkdir("folder")
    ports = ["--tx-port", "0", "--rx-port", "0"]
    for more in (["--out", "a.y4m"], ["--out", "folder/../a.y4m"], ["--out", "link"], ["--sdp", "hard"], ["--sdp", "a.y4m"],
                 ["--out", "new", "--sdp", "./new"], ["--out", "new", "--sdp", "dangling"]):
        complaint(run(RING, ["a.y4m", *ports, *more]), 2, "the same file as", more[0])
    with open("a.y4m", "rb") as stdin:
        complaint(run(RING, ["-", *ports, "--out", "a.y4m"], stdin=stdin), 2, "--out a.y4m", "standard input")
    with open("out", "w") as out:
        done = subprocess.run(command(RING, ["a.y4m", *ports, "--out", "out"]), stdout=out, stderr=subprocess.PIPE, text=True)
    complaint(done, 2, "standard output", "--out out")
    open("a.sdp", "w").write("v=0\n")
    complaint(run(RING, ["--rx-port", "0", "--sdp", "a.sdp", "--out", "a.sdp"]), 2, "--out a.sdp")
    check(open("a.y4m", "rb").read() == before and not os.path.exists("new"), "a file was touched")
    check(open("a.sdp").read() == "v=0\n", "the SDP was touched")
    report(run(RING, ["a.y4m", *ports, "--out", "/dev/null", "--sdp", "/dev/null", "--json"]))  # holds nothing to lose


def long_path():
    """A line of the report is as long as its path is."""
    clip("a.y4m", "yuv422p", frames=2)
    folder = "/".join(3 * ["d" * 200])
    os.makedirs(folder)
    done = run(RING, ["a.y4m", "--tx-port", "0", "--rx-port", "0", "--out", folder + "/got.y4m"])
    check(done.returncode == 0 and f" 2 written to {folder}/got.y4m\n" in done.stdout, done.stdout + done.stderr)


def prefix():
    """A file prefix that another process uses is said to be just that."""
    own = ["--pattern", "64x64", "--tx-port", "0", "--rx-port", "0", "--rate", "10M"]
    first = subprocess.Popen(command(RING, [*own, "--loop", "0", "--duration", "60", "--json", "--interval", "0.01"]),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first.stdout.readline()
    try:
        done = run(RING, own)
    finally:
        first.terminate()
        first.communicate()
    complaint(done, 1, f"process {first.pid} uses DPDK with the same file prefix", "--file-prefix")


def staged(library):
    """DPDK refuses a driver below a folder that all may write, such as /tmp: then a copy in the home folder is loaded."""
    def safe(path):
        while path != "/":
            path = os.path.dirname(path)
            if os.stat(path).st_mode & 0o002:
                return False
        return True

    library = os.path.realpath(library)
    if safe(library):
        return library
    room = tempfile.mkdtemp(prefix=".apcm-test-", dir=os.path.expanduser("~"))
    atexit.register(shutil.rmtree, room)
    copy = shutil.copy(library, room)
    if not safe(copy):
        skip(f"no folder for {library} that DPDK would load it from")
    return copy


def card_eal(path=None, more=""):
    if not PMD:
        skip("AWING_PMD is not set")
    pmd = staged(PMD)
    p = f",path={path}" if path else ""
    return ["-d", pmd, "--vdev", f"net_awing0,card=awing,wire=c0,clock=virtual{p}{more}",
            "--vdev", f"net_awing1,card=awing,wire=c0,clock=virtual{more}"]


def card():
    """Two modelled cards on one cable, in virtual time: 6 Gb/s, stamped by the card at both ends, the same on every run."""
    clip("a.y4m", "yuv422p10le", "640x360", 10)
    own = ["a.y4m", "--tx-port", "0", "--rx-port", "1", "--rate", "6G", "--out", "got.y4m", "--json"]
    r = report(run(card_eal(), own))
    lossless(r)
    same_video("a.y4m", "got.y4m")
    check(r["sender"]["late"] == 0 and r["sender"]["slips"] == 0, str(r["sender"]))
    check("inserted by the card" in r["sender"]["stamps"] and r["receiver"]["unstamped"] == 0, "stamps")
    wire = r["sending_wire"]
    check(abs(wire["line_rate_bps"] - 6e9) < 6e9 * 1e-5, f"rate {wire['line_rate_bps']}: more than 10 ppm off")
    # A packet of 1288 octets with FCS every (1288 + 20) * 8 / 6 ns; starts lie on columns of 3.2 ns, launch times on 1 ns.
    gaps, gap = wire["start_to_start"], (wire["smallest_frame"] + 20) * 8 / 6 * 1000
    check(abs(gaps["min"] - gap) < 4300 and abs(gaps["max"] - gap) < 4300, f"gaps {gaps['min']}..{gaps['max']}, not {gap} ps")
    again = report(run(card_eal(), own))
    for j in (r, again):
        del j["host_seconds"]
    check(r == again, "a second run in virtual time differs")


def card_path():
    """A path that bunches packets: the sender's gaps stay, the receiver's smallest is the wire-rate gap."""
    json.dump({"delay_us": 50, "hops": [{"rate_gbps": 10, "queue_kB": 2048,
                                         "cross": {"pattern": "burst", "burst": 32, "rate_gbps": 3}}]}, open("path.json", "w"))
    clip("a.y4m", "yuv422p10le", "1280x720", 10)
    r = report(run(card_eal("path.json"), ["a.y4m", "--tx-port", "0", "--rx-port", "1", "--rate", "6G", "--streams", "auto",
                                           "--out", "got.y4m", "--json"]))
    lossless(r)
    same_video("a.y4m", "got.y4m")
    tx, rx = r["sending_wire"], r["receiving_wire"]
    check(r["sender"]["streams"] > 1, "several streams")
    check(tx["burst_frames"]["count"] == 0, f"the sender makes bursts: {tx}")
    check(rx["burst_frames"]["count"] > 0 and rx["burst_frames"]["max"] > 2, f"the path makes none: {rx}")
    # One column of the line, 3.2 ns, and a nanosecond of rounding in each stamp.
    check(abs(rx["smallest"] - rx["wire_gap"]) <= 3200 + 1000, f"smallest {rx['smallest']}, wire-rate gap {rx['wire_gap']} ps")
    check(all(s["delay"]["min"] >= 50_000_000 for s in r["streams"]), "delay below the path's")


def card_faults():
    """Loss, duplication and reordering on the path are counted, and leave holes in the video, not an end of it."""
    json.dump({"delay_us": 20, "loss": 0.01, "duplicate": 0.01, "reorder": {"probability": 0.01, "extra_us": 30}, "seed": 7},
              open("path.json", "w"))
    clip("a.y4m", "yuv422p", "640x360", 10)
    r = report(run(card_eal("path.json"), ["a.y4m", "--tx-port", "0", "--rx-port", "1", "--rate", "1G", "--out", "got.y4m", "--json"]))
    s = r["streams"][0]["sequence"]
    check(s["lost"] > 0 and s["duplicates"] > 0 and s["reordered"] > 0, str(s))
    check(s["unique"] + s["lost"] + r["unseen"] == r["sender"]["sent"], f"packets do not add up: {s} {r['sender']}")
    v = r["rebuilt"]
    check(v["frames_written"] == v["frames_complete"] + v["frames_incomplete"] == 10, str(v))
    check(v["missing_octets"] > 0, str(v))


def card_duration():
    """In real time --duration bounds the run, also when the machine cannot keep up; lines of progress say that it runs."""
    eal = [a.replace("virtual", "tsc") for a in card_eal()]
    done = run(eal, ["--pattern", "320x180", "--rate", "20G", "--streams", "4", "--duration", "1", "--tx-port", "0", "--rx-port", "1",
                     "--json", "--progress"])
    r = report(done)
    check(r["sender"]["slips"] > 0, "20 Gb/s over a line of 10 Gb/s is too much")
    # 1 s, --lead-us twice, --drain-ms; a turn of the loop may be long on a busy machine.
    check(1e9 <= r["port_time_ns"] < 1.3e9, f"{r['port_time_ns']} ns of port time")
    check(any("  sent " in line and "  received " in line for line in done.stderr.splitlines()), "no progress: " + done.stderr)


def card_reached():
    """The rate that a sender tells is what was on the line: never more than the line carries, whatever was asked for."""
    own = ["--pattern", "320x180", "--duration", "0.01", "--tx-port", "0", "--json"]
    alone = ["-d", card_eal()[1], "--vdev", "net_awing0,card=awing,wire=loop,clock=virtual"]
    for eal, more in ((card_eal(), ["--rx-port", "1"]), (alone, [])):
        r = report(run(eal, [*own, *more, "--rate", "40G", "--streams", "256"]))
        # A stamp counts 2^-32 s: 0.23 ns in 11 ms.
        check(0.99e10 < r["sender"]["reached_l1_bps"] < 1e10 * (1 + 1e-7), f"{more}: {r['sender']}")
        r = report(run(eal, [*own, *more, "--rate", "6G", "--streams", "4"]))
        check(abs(r["sender"]["reached_l1_bps"] - 6e9) < 6e9 * 1e-2, f"{more}: {r['sender']}")


def card_nobody():
    """Nobody at the other end: the sender waits for the link, not for ever, sends nothing and fails."""
    clip("a.y4m", "yuv422p", frames=2)
    for clock in ("virtual", "tsc"):
        begin = time.monotonic()
        done = run(["-d", card_eal()[1], "--vdev", f"net_awing0,card=awing,wire=c9,clock={clock}"], ["a.y4m", "--tx-port", "0"])
        check(time.monotonic() - begin < 30, "it waited too long")
        lines = [line for line in done.stderr.splitlines() if line.startswith("apcm-stream: ")]
        check(done.returncode == 1 and done.stdout == "", f"exit {done.returncode}: {done.stdout}")
        check(len(lines) <= 2 and "the link stayed down" in lines[-1] and "nothing was sent" in lines[-1], done.stderr)


def card_refused():
    """A device that its driver refuses ends the run, also when another one would do; the last line points to the driver's."""
    clip("a.y4m", "yuv422p", frames=2)
    good, bad = ("card=awing,wire=loop,clock=virtual", "card=awing,wire=loop,clock=sundial")
    for a, b, name in ((bad, good, "net_awing0"), (good, bad, "net_awing1")):
        done = run(["-d", card_eal()[1], "--vdev", f"net_awing0,{a}", "--vdev", f"net_awing1,{b}"], ["a.y4m", "--tx-port", "0"])
        complaint(done, 1, f"--vdev {name}: refused by its driver, which says why above")
        check("clock=sundial is not allowed" in done.stderr, done.stderr)


def main():
    case = sys.argv[2]
    if shutil.which("ffmpeg") is None:
        skip("no ffmpeg")
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="apcm-test-") as room:
        os.chmod(room, 0o700)
        os.environ["XDG_RUNTIME_DIR"] = room
        os.chdir(room)
        try:
            globals()[case]()
        except Failure as failure:
            print("FAILED", case + ":", failure)
            sys.exit(1)
        finally:
            os.chdir(home)
    print("ok", case)


if __name__ == "__main__":
    main()
