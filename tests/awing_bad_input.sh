#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A command line that the script `awing` cannot act on gets one line and exit 2, before anything is built.
set -u
awing=$1
failed=0

# refuses WORDS ARGS...: the line must hold WORDS.
refuses() {
  words=$1
  shift
  said=$("$awing" "$@" 2>&1 </dev/null)
  status=$?
  lines=$(printf '%s\n' "$said" | wc -l)
  case $status:$lines:$said in 2:1:*"$words"*) ;; *)
    echo "FAILED: awing $*: exit $status, $lines lines: $said"
    failed=1
    ;;
  esac
}

refuses "no command frobnicate" frobnicate
refuses "no suite 'slow'; there are: fast property integration" test slow
refuses "one suite at a time" test fast property
refuses "no bench speed; there are: engines forward hdlc" bench speed
refuses "one name at a time" bench engines forward
refuses "unknown option --xml" bench --xml
refuses "which program? apcm-stream" run
refuses "no program no-such-program" run no-such-program
refuses "which kind?" check
refuses "no kind msvc" check msvc
refuses "there is --tidy" lint --everything
refuses "takes no arguments" setup now
refuses "takes no arguments" build release
refuses "takes no arguments" demo slowly
"$awing" help | grep -q '^usage: awing' || failed=1
cd / && "$awing" | grep -q '^usage: awing' || failed=1
exit $failed
