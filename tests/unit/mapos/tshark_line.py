# SPDX-License-Identifier: BSD-3-Clause
"""tshark's own deframer (PPP in HDLC-like framing, RFC 1662) takes lines of ours apart: FF 03 0021 frames with UDP in IPv4,
several behind each other with shared flags, both FCS sizes. It must find each frame, its FCS right, and the payload."""
import random
import shutil
import struct
import subprocess
import sys
import tempfile

FRAMES_PER_LINE = 5
LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 500, 1472, 1473]


def udp_frame(payload):
    """Address and control of PPP (also MAPOS broadcast), IPv4, UDP without checksum."""
    head = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 1, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])))
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
    return bytes.fromhex("FF030021") + head + struct.pack(">HHHH", 40001, 40002, 8 + len(payload), 0) + payload


def pcap(records):
    """Classic pcap, link type USER0."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 147)
    return head + b"".join(struct.pack("<IIII", i, 0, len(r), len(r)) + r for i, r in enumerate(records))


def taken_apart(lines, fcs):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(pcap(lines))
        file.flush()
        out = subprocess.run(["tshark", "-r", file.name, "-o", 'uat:user_dlts:"User 0 (DLT=147)","ppp_raw_hdlc","0","","0",""',
                              "-o", f"ppp.fcs_type:{fcs}-Bit", "-T", "fields", "-e", "ppp.fcs.status", "-e", "data.data"],
                             capture_output=True, text=True, check=True).stdout
    return [[field.split(",") for field in record.split("\t")] for record in out.splitlines()]


if not shutil.which("tshark"):
    print("no tshark")
    sys.exit(77)
rng = random.Random(1)
checked = 0
for fcs in "16", "32":
    records, payloads = [], []
    for density in 0, 0.1, 1:  # of flags and escapes
        bodies = [bytes(rng.choice(b"\x7d\x7e") if rng.random() < density else rng.randrange(256) for _ in range(n)) for n in LENGTHS]
        for i in range(0, len(bodies), FRAMES_PER_LINE):
            some = bodies[i:i + FRAMES_PER_LINE]
            line = subprocess.run([sys.argv[1], fcs], input="\n".join(udp_frame(b).hex() for b in some) + "\n", capture_output=True,
                                  text=True, check=True).stdout
            records.append(bytes.fromhex(line))
            payloads.append([b.hex() for b in some])
    for line, found, sent in zip(records, taken_apart(records, fcs), payloads, strict=True):
        status, data = found
        assert data == sent, f"tshark read {data}, sent were {sent}, on the line {line.hex()}"
        assert status == ["1"] * len(sent), f"FCS status {status} of {line.hex()}"
        checked += len(sent)
assert checked == 2 * 3 * len(LENGTHS)
print(f"tshark read {checked} frames as they were sent")
