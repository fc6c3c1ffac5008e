// SPDX-License-Identifier: BSD-3-Clause
// The datasheet of the awing card as code: register map, stream records, descriptors, completions.
// Driver and both model engines use this header alone; docs/datasheet.md says the same for people.
// All values are little-endian. Registers are 32 bits wide. No register has a read side effect.
#pragma once

#include <cstddef>
#include <cstdint>

namespace awing::hw {

// ------------------------------------------------------------------------------------------------
// Register map
// ------------------------------------------------------------------------------------------------
enum class Access : uint8_t {
  kRo,   ///< read only
  kRw,   ///< read and write
  kW1s,  ///< write one to set; the card clears the bit when the command has been carried out
  kW1c,  ///< write one to clear
};

/// Block types; every block begins with TYPE, VERSION, NEXT.
enum BlockType : uint32_t {
  kBlockControl = 0x4C525443,    ///< "CTRL"
  kBlockDma = 0x20414D44,        ///< "DMA "
  kBlockClock = 0x4B434C43,      ///< "CLCK"
  kBlockInterrupt = 0x52544E49,  ///< "INTR"
  kBlockCounters = 0x53544E43,   ///< "CNTS"
};

constexpr uint64_t kDeviceIdAwing = 0x47303147'4E495741;  ///< "AWING10G" in memory order
constexpr uint32_t kBarBytes = 0x1000;

// X(NAME, offset, access, reset value, meaning)
#define AWING_REGISTERS(X)                                                                                          \
  X(kDeviceIdLo, 0x000, kRo, 0x4E495741, "device id, low word: \"AWIN\"")                                           \
  X(kDeviceIdHi, 0x004, kRo, 0x47303147, "device id, high word: \"G10G\"")                                          \
  X(kFirstBlock, 0x008, kRo, 0x100, "offset of the first block")                                                    \
  X(kFwVersion, 0x00C, kRo, 0x00010000, "firmware version, major in the high half, minor in the low half")          \
  X(kCtrlType, 0x100, kRo, kBlockControl, "block type \"CTRL\"")                                                    \
  X(kCtrlVersion, 0x104, kRo, 1, "block version")                                                                   \
  X(kCtrlNext, 0x108, kRo, 0x200, "offset of the next block")                                                       \
  X(kControl, 0x110, kRw, 0, "control bits, see Control")                                                           \
  X(kStatus, 0x114, kRo, 0, "status bits, see Status")                                                              \
  X(kCommand, 0x118, kW1s, 0, "commands, see Command; the card clears each bit when done")                          \
  X(kMacLo, 0x11C, kRw, 0, "station address, octets 0..3, octet 0 in bits 7:0")                                     \
  X(kMacHi, 0x120, kRw, 0, "station address, octets 4..5")                                                          \
  X(kMaxFrame, 0x124, kRw, 1518, "longest frame to receive, octets with FCS, 64..16384")                            \
  X(kBusInfo, 0x128, kRo, 0, "bus: octets per clock in bits 7:0, clock in kHz in bits 31:8")                        \
  X(kDmaType, 0x200, kRo, kBlockDma, "block type \"DMA \"")                                                         \
  X(kDmaVersion, 0x204, kRo, 1, "block version")                                                                    \
  X(kDmaNext, 0x208, kRo, 0x400, "offset of the next block")                                                        \
  X(kStatusAddrLo, 0x210, kRw, 0, "bus address of the status record, 64-octet aligned; 0 = none")                   \
  X(kStatusAddrHi, 0x214, kRw, 0, "high half")                                                                      \
  X(kTxBaseLo, 0x220, kRw, 0, "bus address of the send stream or send descriptor ring, 4096-octet aligned")         \
  X(kTxBaseHi, 0x224, kRw, 0, "high half")                                                                          \
  X(kTxSize, 0x228, kRw, 0, "send stream: octets; send ring: descriptors; a power of two")                          \
  X(kTxProducer, 0x22C, kRw, 0, "doorbell: octets (stream) or descriptors (ring) posted since reset, modulo 2^32")  \
  X(kTxCplBaseLo, 0x230, kRw, 0, "ring mode: bus address of the send completion ring, as many entries as kTxSize")  \
  X(kTxCplBaseHi, 0x234, kRw, 0, "high half")                                                                       \
  X(kRxBaseLo, 0x240, kRw, 0, "bus address of the receive stream or receive descriptor ring, 4096-octet aligned")   \
  X(kRxBaseHi, 0x244, kRw, 0, "high half")                                                                          \
  X(kRxSize, 0x248, kRw, 0, "receive stream: octets; receive ring: descriptors; a power of two")                    \
  X(kRxConsumer, 0x24C, kRw, 0, "stream: octets freed since reset; ring: descriptors posted since reset, mod 2^32") \
  X(kRxCplBaseLo, 0x250, kRw, 0, "ring mode: bus address of the receive completion ring")                           \
  X(kRxCplBaseHi, 0x254, kRw, 0, "high half")                                                                       \
  X(kRxMinBurst, 0x258, kRw, 2048, "stream: octets waiting before a receive burst starts, 16..65536")               \
  X(kRxFlush, 0x25C, kRw, 256, "stream: bus clocks after which less than kRxMinBurst is moved all the same")        \
  X(kClockType, 0x400, kRo, kBlockClock, "block type \"CLCK\"")                                                     \
  X(kClockVersion, 0x404, kRo, 1, "block version")                                                                  \
  X(kClockNext, 0x408, kRo, 0x600, "offset of the next block")                                                      \
  X(kPhcLo, 0x410, kRo, 0, "PHC now, fraction of a second in 2^-32 s (read high, low, high until high agrees)")     \
  X(kPhcHi, 0x414, kRo, 0, "PHC now, seconds")                                                                      \
  X(kPhcValueLo, 0x418, kRw, 0, "operand of the PHC commands, 32.32 seconds, low half")                             \
  X(kPhcValueHi, 0x41C, kRw, 0, "high half")                                                                        \
  X(kPhcTrim, 0x420, kRw, 0, "rate correction of the PHC, signed, in 2^-40 (0.909 ppt); +-1953 ppm")                \
  X(kTxStampLo, 0x424, kRo, 0, "stamp of the last sent frame that asked for it (kTxLatchStamp), 2^-32 s")           \
  X(kTxStampHi, 0x428, kRo, 0, "seconds")                                                                           \
  X(kTxStampCount, 0x42C, kRo, 0, "how many stamps were latched since reset, modulo 2^32")                          \
  X(kIntrType, 0x600, kRo, kBlockInterrupt, "block type \"INTR\"")                                                  \
  X(kIntrVersion, 0x604, kRo, 1, "block version")                                                                   \
  X(kIntrNext, 0x608, kRo, 0x800, "offset of the next block")                                                       \
  X(kIntrLines, 0x60C, kRo, 0, "lines that are asserted: bit 0 receive, bit 1 send")                                \
  X(kIntrRxEnable, 0x610, kRw, 0, "receive: bit 0 lets the line rise")                                              \
  X(kIntrRxCount, 0x614, kRw, 1, "receive: frames unseen by the host that raise the line; 0 counts as 1")           \
  X(kIntrRxTimeout, 0x618, kRw, 0, "receive: bus clocks after which a single unseen frame raises it")               \
  X(kIntrRxSeen, 0x61C, kRw, 0, "receive: frames the host has taken since reset, modulo 2^32")                      \
  X(kIntrRxTold, 0x620, kRo, 0, "receive: frames the host was told of since reset, modulo 2^32")                    \
  X(kIntrTxEnable, 0x630, kRw, 0, "send: bit 0 lets the line rise")                                                 \
  X(kIntrTxCount, 0x634, kRw, 1, "send: units of kTxProducer done and unseen that raise the line; 0 counts as 1")   \
  X(kIntrTxTimeout, 0x638, kRw, 0, "send: bus clocks after which fewer raise it")                                   \
  X(kIntrTxSeen, 0x63C, kRw, 0, "send: units of kTxProducer the host knows to be done, modulo 2^32")                \
  X(kIntrTxTold, 0x640, kRo, 0, "send: units of kTxProducer the host was told are done, modulo 2^32")               \
  X(kCountersType, 0x800, kRo, kBlockCounters, "block type \"CNTS\"")                                               \
  X(kCountersVersion, 0x804, kRo, 1, "block version")                                                               \
  X(kCountersNext, 0x808, kRo, 0, "no further block")

enum Reg : uint32_t {
#define X(name, offset, access, reset, meaning) name = offset,
  AWING_REGISTERS(X)
#undef X
      kCounterBase = 0x810,  ///< 64-bit counters from here on, low word first: kCounterBase + 8 * Counter
};

struct RegInfo {
  const char* name;
  uint32_t offset;
  Access access;
  uint32_t reset;
  const char* meaning;
};
inline constexpr RegInfo kRegisters[] = {
#define X(name, offset, access, reset, meaning) {#name, offset, Access::access, reset, meaning},
    AWING_REGISTERS(X)
#undef X
};

enum Control : uint32_t {
  kCtlRxEnable = 1u << 0,      ///< frames from the line are admitted; off: counted in rx_disabled_drops
  kCtlTxEnable = 1u << 1,      ///< laser on, frames start; off: what waits in the send FIFO goes to tx_flushed
  kCtlPromiscuous = 1u << 2,   ///< admit every unicast destination
  kCtlAllMulticast = 1u << 3,  ///< admit every multicast destination
  kCtlRingMode = 1u << 4,      ///< descriptor rings instead of streams; change only while quiet, before a reset
};

enum Status : uint32_t {
  kStsLinkUp = 1u << 0,        ///< light from the far end is there and ours is on
  kStsQuiet = 1u << 1,         ///< no read outstanding, both FIFOs empty, no write pending, nothing posted unread
  kStsTxError = 1u << 2,       ///< a malformed record or descriptor stopped the sender; only a reset helps
  kStsResetRefused = 1u << 3,  ///< the last reset came while the card was not quiet
};

enum Command : uint32_t {
  kCmdReset = 1u << 0,   ///< pointers, sticky status, stamp latch to zero; counters and PHC stay. Only when quiet or
                         ///< stopped by an error
  kCmdPhcSet = 1u << 1,  ///< PHC := kPhcValue, at the second line edge after the write
  kCmdPhcAdd = 1u << 2,  ///< PHC += kPhcValue (two's complement), likewise
};

/// A cause of interrupts; each has a line of its own: bit 1 << Cause of kIntrLines.
enum Cause : uint32_t { kCauseReceive, kCauseSend, kCauses };

// X(NAME, xstats-style name, meaning). Every frame ends in exactly one of the counters of its direction that are
// marked "ends". Octets count from destination address to end of payload, without FCS.
#define AWING_COUNTERS(X)                                                                                       \
  X(kRxFrames, "rx_frames", "ends: admitted to the receive FIFO")                                               \
  X(kRxBytes, "rx_bytes", "octets of these")                                                                    \
  X(kRxFifoDrops, "rx_fifo_drops", "ends: no room in the receive FIFO")                                         \
  X(kRxCrcErrors, "rx_crc_errors", "ends: bad FCS")                                                             \
  X(kRxFiltered, "rx_filtered", "ends: not for this station")                                                   \
  X(kRxOversize, "rx_oversize_errors", "ends: longer than kMaxFrame")                                           \
  X(kRxUndersize, "rx_undersize_errors", "ends: shorter than 64 octets with FCS")                               \
  X(kRxDisabledDrops, "rx_disabled_drops", "ends: receiver off")                                                \
  X(kTxFrames, "tx_frames", "ends: put on the line")                                                            \
  X(kTxBytes, "tx_bytes", "octets of these")                                                                    \
  X(kTxFlushed, "tx_flushed", "ends: thrown away because the sender was off")                                   \
  X(kTxBadRecord, "tx_bad_records", "malformed record or descriptor; the sender stops")                         \
  X(kTxLaunchPast, "tx_launch_past", "timed frames whose time had passed when the line was free; sent at once") \
  X(kTxLaunchFuture, "tx_launch_future", "timed frames more than 4 s ahead; sent at once")                      \
  X(kBusHostClocks, "bus_host_clocks", "bus clocks used by register accesses")                                  \
  X(kBusRequestClocks, "bus_read_request_clocks", "bus clocks used by read requests of the card")               \
  X(kBusCompletionClocks, "bus_read_data_clocks", "bus clocks used by split completions")                       \
  X(kBusWriteClocks, "bus_write_clocks", "bus clocks used by receive data bursts")                              \
  X(kBusStatusClocks, "bus_status_clocks", "bus clocks used by status and completion writes")                   \
  X(kRdWaitClocks, "bus_read_wait_clocks", "bus clocks a read request waited for its grant")                    \
  X(kWrWaitClocks, "bus_write_wait_clocks", "bus clocks a write waited for its grant")                          \
  X(kStallTxFifo, "tx_stall_fifo_clocks", "bus clocks with data posted but no room in the send FIFO")           \
  X(kStallSplits, "tx_stall_splits_clocks", "bus clocks with data posted but all splits outstanding")           \
  X(kStallRxHost, "rx_stall_host_clocks", "bus clocks with data waiting but no room in host memory")            \
  X(kRxInterrupts, "rx_interrupts", "times the receive interrupt line rose")                                    \
  X(kTxInterrupts, "tx_interrupts", "times the send interrupt line rose")

enum Counter : uint32_t {
#define X(id, name, meaning) id,
  AWING_COUNTERS(X)
#undef X
      kCounters
};
inline constexpr const char* kCounterNames[] = {
#define X(id, name, meaning) name,
    AWING_COUNTERS(X)
#undef X
};
static_assert(kCounterBase + 8 * kCounters <= kBarBytes);

// ------------------------------------------------------------------------------------------------
// Streams: records packed back to back in a byte ring; each begins on a 16-octet boundary and may wrap.
// ------------------------------------------------------------------------------------------------
constexpr uint32_t kRecordAlign = 16;
constexpr uint32_t kMinFrame = 60;        ///< octets without FCS; the driver pads what is shorter (the card does not)
constexpr uint32_t kMaxFrameAny = 16380;  ///< octets without FCS

enum TxFlags : uint16_t {
  kTxInsertStamp =
      1u << 0,  ///< write the 32.32 start stamp, big-endian, at stamp_offset; mend the checksum at csum_offset
  kTxLaunchTime = 1u << 1,   ///< start no sooner than launch_time
  kTxLatchStamp = 1u << 2,   ///< copy the start stamp to kTxStamp and count it
  kTxEndOfPacket = 1u << 3,  ///< ring mode: last descriptor of the frame
};
/// csum_offset value that means: no checksum to mend.
constexpr uint16_t kNoChecksum = 0xFFFF;

/// Header of a record in the send stream. The frame follows, padded to 16 octets.
struct TxRecord {
  uint16_t len;           ///< octets of the frame without FCS, kMinFrame..kMaxFrameAny; else malformed
  uint16_t flags;         ///< TxFlags
  uint16_t stamp_offset;  ///< octets from the start of the frame; stamp_offset + 8 <= len, even
  uint16_t csum_offset;   ///< octets from the start of the frame, even, or kNoChecksum
  uint64_t launch_time;   ///< PHC time, 32.32 seconds
};
static_assert(sizeof(TxRecord) == 16 && offsetof(TxRecord, launch_time) == 8);

enum RxFlags : uint16_t {
  kRxEndOfPacket = 1u << 0,  ///< ring mode: last buffer of the frame
  kRxPhase = 1u << 15,       ///< ring mode: flips each time the completion ring wraps; first pass 1
};

/// Header of a record in the receive stream. The frame follows, padded to 16 octets.
struct RxRecord {
  uint64_t stamp;     ///< PHC time of the frame's start, 32.32 seconds
  uint16_t len;       ///< octets of the frame without FCS
  uint16_t flags;     ///< RxFlags
  uint32_t sequence;  ///< frames admitted before this one since reset, modulo 2^32
};
static_assert(sizeof(RxRecord) == 16 && offsetof(RxRecord, len) == 8);

constexpr uint32_t record_bytes(uint32_t frame_len) {
  return sizeof(TxRecord) + ((frame_len + kRecordAlign - 1) & ~(kRecordAlign - 1));
}

/// What the card writes to host memory at kStatusAddr after each burst (16 octets in one write).
struct StatusRecord {
  uint32_t rx_produced;  ///< stream: octets written since reset, modulo 2^32
  uint32_t tx_fetched;   ///< stream: octets read since reset, modulo 2^32: their space is free again
  uint32_t tx_done;      ///< frames that left the send FIFO (sent or flushed) since reset, modulo 2^32
  uint32_t reserved;
};
static_assert(sizeof(StatusRecord) == 16);

// ------------------------------------------------------------------------------------------------
// Descriptor rings, the second mode
// ------------------------------------------------------------------------------------------------
struct TxDescriptor {
  uint64_t addr;  ///< bus address of the octets
  uint16_t
      len;  ///< octets in this buffer, 1..kMaxFrameAny; the whole frame has kMinFrame..kMaxFrameAny, else malformed
  uint16_t flags;  ///< TxFlags; insert, launch and latch are read from the first descriptor of a frame
  uint16_t stamp_offset;
  uint16_t csum_offset;
  uint64_t launch_time;
  uint64_t reserved;
};
static_assert(sizeof(TxDescriptor) == 32 && offsetof(TxDescriptor, launch_time) == 16);

/// One for each frame, after it left the send FIFO.
struct TxCompletion {
  uint64_t stamp;  ///< PHC time of the frame's start; 0 when it was flushed
  uint32_t done;   ///< descriptors finished since reset, this frame's included, modulo 2^32
  uint32_t flags;  ///< bit 0: phase (first pass 1); bit 1: flushed
};
static_assert(sizeof(TxCompletion) == 16);

struct RxDescriptor {
  uint64_t addr;  ///< bus address of the buffer
  uint32_t len;   ///< octets that fit, 64..16384
  uint32_t reserved;
};
static_assert(sizeof(RxDescriptor) == 16);

/// One for each buffer filled, in order of the descriptors.
struct RxCompletion {
  uint64_t stamp;     ///< as in RxRecord
  uint16_t len;       ///< octets in this buffer
  uint16_t flags;     ///< RxFlags
  uint32_t sequence;  ///< as in RxRecord
};
static_assert(sizeof(RxCompletion) == 16);

}  // namespace awing::hw
