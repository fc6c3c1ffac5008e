#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A real clip crosses a modelled network as 6 Gb/s of video and every packet is measured: first in virtual time, then
# for ten seconds in real time. Called by `awing demo`, which sets AWING_BUILD, AWING_PMD and AWING_TOP.
set -eu
here=$AWING_TOP/apps/demo
stream=$AWING_BUILD/apps/apcm-stream/apcm-stream
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR="$work"

say() { printf '\n== %s\n' "$*"; }

say "ffmpeg makes a clip: 1280x720, 25 frames a second, 4:2:2"
ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=25 -frames:v 12 -pix_fmt yuv422p \
  -f yuv4mpegpipe "$work/clip.y4m"
ls -l "$work/clip.y4m" | awk '{print "   " $5 " octets"}'

# run CLOCK ARGS: sends from card A through the path to card B.
run() {
  clock=$1
  shift
  "$stream" --no-huge -m 512 --no-pci --no-telemetry --log-level=lib.eal:error -d "$AWING_PMD" \
    --vdev "net_awing0,card=awing,wire=demo,clock=$clock,path=$here/path.json" \
    --vdev "net_awing1,card=awing,wire=demo,clock=$clock" -- \
    "$work/clip.y4m" --tx-port 0 --rx-port 1 --rate 6G --streams auto "$@"
}

say "6 Gb/s of it from card A through a 10 Gb/s hop, shared with 3.2 Gb/s of bursts, to card B: virtual time"
run virtual --frames 12 --out "$work/got.y4m" --sdp "$work/clip.sdp" --quiet

say "the rebuilt video against the sent one, frame by frame (ffmpeg framemd5)"
for f in clip got; do
  ffmpeg -nostdin -loglevel error -i "$work/$f.y4m" -f framemd5 - | grep -v '^#' >"$work/$f.md5"
done
if cmp -s "$work/clip.md5" "$work/got.md5"; then
  echo "   equal: $(wc -l <"$work/got.md5") frames"
else
  echo "   DIFFERENT: sent $(wc -l <"$work/clip.md5"), rebuilt $(wc -l <"$work/got.md5") frames"
  exit 1
fi

say "the same for ten seconds in real time: what this machine keeps up with"
run tsc --loop 0 --duration 10 --progress
