// SPDX-License-Identifier: BSD-3-Clause
// The datasheet of the oc48 card as code: what it has beyond, or otherwise than, the awing card in ring mode, whose
// registers, descriptors and completions (datasheet.h) it shares. docs/datasheet-oc48.md says the same for people.
#pragma once

#include "hwmodel/datasheet.h"

namespace awing::hw {

constexpr uint64_t kDeviceIdOc48 = 0x4338344F'4E495741;  ///< "AWINO48C" in memory order
constexpr uint32_t kBlockSonet = 0x544E4F53;             ///< "SONT"

constexpr uint32_t kMapHeader = 4;           ///< octets: address, control, protocol (MAPOS 16: address, protocol)
constexpr uint32_t kMaxFrameOc48 = 65'284;   ///< octets without FCS: header and 65,280 of information
constexpr uint32_t kMaxBufferOc48 = 65'535;  ///< octets of a buffer: a length has 16 bits

// X(NAME, offset, access, reset value, meaning): the registers that the awing card has not. All others are as there,
// but kDeviceId, kIntrNext (0x700) and kMaxFrame (octets with FCS, reset 65,288).
#define OC48_REGISTERS(X)                                                                                       \
  X(kSonetType, 0x700, kRo, kBlockSonet, "block type \"SONT\"")                                                 \
  X(kSonetVersion, 0x704, kRo, 1, "block version")                                                              \
  X(kSonetNext, 0x708, kRo, 0x800, "offset of the next block")                                                  \
  X(kSonetFormat, 0x710, kRo, 0, "how the line is set, see SonetFormat; a strap of the card, not for software") \
  X(kSonetTxC2, 0x714, kRw, 0x8D, "path signal label to send, bits 7:0")                                        \
  X(kSonetRxC2, 0x718, kRw, 0x8D, "path signal label to expect, bits 7:0; another stands as PLM-P")             \
  X(kSonetInsert, 0x71C, kRw, 0, "what to send on purpose, see SonetInsert")                                    \
  X(kSonetAlarms, 0x720, kRo, 0, "what stands now, see SonetAlarm")                                             \
  X(kSonetSeen, 0x724, kW1c, 0, "what stood at any time since it was cleared; write ones to clear")

enum SonetReg : uint32_t {
#define X(name, offset, access, reset, meaning) name = offset,
  OC48_REGISTERS(X)
#undef X
};

enum SonetFormat : uint32_t {
  kSonetFcs32 = 1u << 0,     ///< FCS of 32 bits, else 16
  kSonetScramble = 1u << 1,  ///< payload scrambler x^43 + 1
};

enum SonetInsert : uint32_t {
  kInsertAisP = 1u << 0,  ///< AIS-P: all ones in pointer and payload envelope
  kInsertRdiP = 1u << 1,  ///< RDI-P, whatever comes in
};

enum SonetAlarm : uint32_t {
  kAlarmLos = 1u << 0,    ///< loss of signal
  kAlarmOof = 1u << 1,    ///< out of frame (severely errored framing)
  kAlarmLof = 1u << 2,    ///< loss of frame
  kAlarmAisP = 1u << 3,   ///< path alarm indication
  kAlarmRdiP = 1u << 4,   ///< the far end says that it receives no good path
  kAlarmPlmP = 1u << 5,   ///< payload label mismatch
  kAlarmUneqP = 1u << 6,  ///< unequipped: label 0
};

/// Control bits of this card beyond those of the awing card. kCtlRingMode reads as written and means nothing: there is
/// no other mode. kCtlPromiscuous admits every address.
enum Oc48Control : uint32_t {
  kCtlMapos16 = 1u << 5,  ///< addresses of 16 bits (RFC 2175); off: 8 bits and a control octet (RFC 2171)
};

// Counters behind those of the awing card (whose kRxUndersize counts frames shorter than header and FCS here).
#define OC48_COUNTERS(X)                                                                          \
  X(kRxBadHeader, "rx_bad_header", "ends: control field not 03, or EA bits of the address wrong") \
  X(kRxLineDown, "rx_line_down_drops", "ends: came while LOS, OOF, LOF or AIS-P stood")           \
  X(kBusRetries, "bus_retries", "reads that the bridge answered with Retry")                      \
  X(kB1Errors, "sonet_b1_errors", "BIP-8 violations of the section")                              \
  X(kB2Errors, "sonet_b2_errors", "BIP-384 violations of the line")                               \
  X(kB3Errors, "sonet_b3_errors", "BIP-8 violations of the path")                                 \
  X(kReiL, "sonet_rei_l", "B2 violations that the far end reported")                              \
  X(kReiP, "sonet_rei_p", "B3 violations that the far end reported")

enum Oc48CounterIndex : uint32_t {
  kBeforeOc48Counters = kCounters - 1,
#define X(id, name, meaning) id##Index,
  OC48_COUNTERS(X)
#undef X
      kCountersOc48  ///< counters of the oc48 card in all
};
#define X(id, name, meaning) constexpr auto id = static_cast<Counter>(id##Index);
OC48_COUNTERS(X)
#undef X
/// Name of any counter of either card.
constexpr const char* counter_name(uint32_t c) {
  constexpr const char* kMore[] = {
#define X(id, name, meaning) name,
      OC48_COUNTERS(X)
#undef X
  };
  return c < kCounters ? kCounterNames[c] : kMore[c - kCounters];
}
static_assert(kCounterBase + 8 * kCountersOc48 <= kBarBytes);

}  // namespace awing::hw
