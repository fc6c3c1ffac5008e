// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace apcm::stream {
namespace {

template <typename... Args>
std::string print(const char* format, Args... args) {
  std::string line(static_cast<size_t>(std::max(0, std::snprintf(nullptr, 0, format, args...))), ' ');
  std::snprintf(line.data(), line.size() + 1, format, args...);  // its zero falls on the string's own
  return line;
}

uint64_t rate_bps(uint64_t octets, uint64_t ns) {
  return ns == 0 ? 0 : static_cast<uint64_t>(static_cast<Uint128>(octets) * 8 * 1'000'000'000 / ns);
}

const char* pacing_of(const Port& p) {
  return p.timed_send() ? "launch times kept by the card" : "the processor's clock";
}
const char* send_stamps_of(const Port& p) {
  if (p.inserts_stamp()) return "inserted by the card at frame start";
  return p.timed_send() ? "the launch time asked for" : "by software before hand-over";
}
bool card_receives(const Run& r) { return r.receiver->counters().unstamped == 0 && r.rx->stamps_receive(); }
/// Another process's sender is judged by the error it states in its packets.
bool card_sends(const Run& r) {
  if (r.tx != nullptr) return r.tx->inserts_stamp();
  for (const auto& flow : r.receiver->flows())
    if (flow->meter.worst_send_error_ns > 100) return false;
  return true;
}
/// Times that software took say when a core got round to it, not when a frame was on the wire.
std::string trust(bool by_card) { return by_card ? "" : " (UNTRUSTED: stamps by software)"; }

const char* receive_stamps_of(const Run& r) {
  return card_receives(r) ? "by the card, on every packet" : "by software when polled";
}

/// By the card's send stamps, when all of them came back; else by what the sender knows.
std::optional<uint64_t> reached_bps(const Run& r) {
  const uint64_t sent = r.sender->counters().sent;
  if (r.receiver != nullptr && r.tx->inserts_stamp() && r.receiver->sending_wire().frames() == sent)
    return r.receiver->sending_wire().line_rate_bps();
  return r.sender->sent_bps();
}

std::string sender_text(const Run& r) {
  const SenderCounters& c = r.sender->counters();
  std::string out;
  out += print("sender    port %u (%s), %u streams at %s in all (%s), %u-octet packets\n", r.tx->id(),
               r.tx->name().c_str(), r.sender->streams(), format_bps(r.sender->target_bps()).c_str(),
               r.options->rate_is_l2 ? "L2: frames with FCS" : "L1: preamble and gap counted",
               r.sender->packet_octets() + 4);
  out += print("          paced by %s; send stamps %s\n", pacing_of(*r.tx), send_stamps_of(*r.tx));
  out += print("          packets: made %" PRIu64 " = sent %" PRIu64 " + abandoned %" PRIu64 "; offered again %" PRIu64
               ", late %" PRIu64 ", no buffer %" PRIu64 "\n",
               c.made, c.sent, c.abandoned, c.retried, c.late, c.no_buffer);
  const rte_eth_stats port = r.tx->stats();
  out += print("          port: sent %" PRIu64 ", errors %" PRIu64, port.opackets, port.oerrors);
  if (const auto reached = reached_bps(r))
    out += (r.sender->left_known() ? "; reached L1 " : "; given to the port at L1 ") + format_bps(*reached);
  out += "\n";
  if (c.slips > 0)
    out += print("          COULD NOT KEEP UP: the schedule moved %" PRIu64 " times, by %s in all\n", c.slips,
                 format_ps(static_cast<int64_t>(c.slipped_ns) * 1000).c_str());
  return out;
}

std::string receiver_text(const Run& r) {
  const ReceiverCounters& c = r.receiver->counters();
  std::string out =
      print("receiver  port %u (%s), receive stamps %s\n", r.rx->id(), r.rx->name().c_str(), receive_stamps_of(r));
  out +=
      print("          packets: received %" PRIu64 " = measured %" PRIu64 " + foreign %" PRIu64 " + malformed %" PRIu64
            " + without block %" PRIu64 " + bad block %" PRIu64 " + unknown session %" PRIu64 "\n",
            c.received, c.measured, c.foreign, c.malformed, c.no_block, c.bad_block, c.unknown_session);
  const rte_eth_stats port = r.rx->stats();
  out += print("          port: missed %" PRIu64 ", errors %" PRIu64 ", no buffer %" PRIu64 "\n", port.imissed,
               port.ierrors, port.rx_nombuf);
  const Histogram& late = r.receiver->stamp_error_ns();
  if (late.count() > 0)
    out += print("          UNTRUSTED times: software stamps are late by up to the time between polls: %" PRIu64
                 " ns in 99 %% of cases, %" PRIu64 " ns at most\n",
                 *late.percentile(99), *late.max());
  if (const Depacketiser* d = r.receiver->rebuilt()) {
    const DepacketiserCounters& v = d->counters();
    out += print("video     stream %u: %" PRIu64 " frames whole, %" PRIu64 " with holes (%" PRIu64
                 " octets missing), %" PRIu64 " written to %s\n",
                 r.options->out_stream, v.frames_complete, v.frames_incomplete, v.missing_octets,
                 r.receiver->frames_written(), r.options->out.c_str());
    out += print("          packets: placed %" PRIu64 ", duplicate %" PRIu64 ", late %" PRIu64 ", foreign %" PRIu64
                 ", malformed %" PRIu64 "\n",
                 v.placed, v.duplicate, v.late, v.foreign, v.malformed);
  }
  return out;
}

/// One row for each stream: counts and delay, then its own gaps at the receiver.
std::string stream_table(const Run& r) {
  const auto time = [](std::optional<uint64_t> ps) {
    return ps ? format_ps(static_cast<int64_t>(*ps)) : std::string("-");
  };
  const auto delay = [](std::optional<int64_t> ps) { return ps ? format_ps(*ps) : std::string("-"); };
  std::string out =
      "streams   session       sent   received       lost    dup  reord  delay min        p50        p99        max    "
      "gap min        p50        p99        max\n";
  for (const auto& flow : r.receiver->flows()) {
    const SequenceMeter& s = flow->meter.sequence;
    const DelayMeter& d = flow->meter.delay;
    const Histogram& g = flow->meter.arrivals.start_to_start();
    const std::string sent = r.sender != nullptr ? std::to_string(r.sender->sent_by(flow->session - 1u)) : "?";
    out += print("          %7u %10s %10" PRIu64 " %10" PRIu64 " %6" PRIu64 " %6" PRIu64, flow->session, sent.c_str(),
                 s.received(), s.lost(), s.duplicates(), s.reordered());
    out += print(" %10s %10s %10s %10s", delay(d.min()).c_str(), delay(d.percentile(50)).c_str(),
                 delay(d.percentile(99)).c_str(), delay(d.max()).c_str());
    out += print(" %10s %10s %10s %10s\n", time(g.min()).c_str(), time(g.percentile(50)).c_str(),
                 time(g.percentile(99)).c_str(), time(g.max()).c_str());
  }
  return out;
}

/// Packets sent that no receiver's sequence numbers can show as missing: lost before the first or after the last
/// received.
uint64_t unseen(const Run& r) {
  if (r.sender == nullptr || r.receiver == nullptr) return 0;
  uint64_t expected = 0;
  for (const auto& flow : r.receiver->flows()) expected += flow->meter.sequence.expected();
  return r.sender->counters().sent > expected ? r.sender->counters().sent - expected : 0;
}

nlohmann::json buckets(const Histogram& h) {
  auto out = nlohmann::json::array();
  h.each([&](uint64_t low, uint64_t high, uint64_t count) { out.push_back({low, high, count}); });
  return out;
}

nlohmann::json wire_json(const GapMeter& m) {
  nlohmann::json j = to_json(m);
  j["start_to_start"]["buckets"] = buckets(m.start_to_start());
  return j;
}

}  // namespace

uint64_t lost_packets(const Receiver& receiver) {
  uint64_t lost = 0;
  for (const auto& flow : receiver.flows()) lost += flow->meter.sequence.lost();
  return lost;
}

std::string ClockReading::text() const {
  switch (relation) {
    case ClockRelation::kSame:
      return bracket_ns == 0
                 ? "one clock stamps both ends"
                 : print("clocks of both ports read alike: difference %" PRId64 " ns, known to +-%" PRIu64 " ns",
                         offset_ns, bracket_ns);
    case ClockRelation::kSynchronised:
      return print("clocks of the ports differ by %" PRId64 " +-%" PRIu64 " ns (both run, not corrected)", offset_ns,
                   bracket_ns);
    default:
      return "relation of the clocks unknown: delays are right but for a constant (and a drift)";
  }
}

ClockReading read_clocks(const Port* send, const Port* receive) {
  ClockReading c;
  if (send == nullptr || receive == nullptr) return c;
  if (send == receive || (!send->has_clock() && !receive->has_clock())) {
    c.relation = ClockRelation::kSame;
    return c;
  }
  if (send->has_clock() != receive->has_clock()) return c;
  const uint64_t before = send->now_ns();
  const uint64_t between = receive->now_ns();
  const uint64_t after = send->now_ns();
  c.bracket_ns = (after - before) / 2 + 1;
  c.offset_ns = static_cast<int64_t>(between - (before + (after - before) / 2));
  // Alike as far as it can be seen; clocks that differ by more have nothing in common that we know of.
  const uint64_t size = static_cast<uint64_t>(c.offset_ns < 0 ? -c.offset_ns : c.offset_ns);
  c.relation = size <= c.bracket_ns ? ClockRelation::kSame : ClockRelation::kUnknown;
  return c;
}

uint64_t Run::error_ns() const {
  uint64_t error = 1;  // receive stamps have whole nanoseconds
  if (receiver == nullptr) return error;
  for (const auto& flow : receiver->flows()) error = std::max(error, 1 + flow->meter.worst_send_error_ns);
  return error + receiver->stamp_error_ns().max().value_or(0);
}

std::string final_text(const Run& r) {
  std::string out = "\n";
  const uint64_t span = r.end_ns - r.begin_ns;
  if (r.interrupted) out += "INTERRUPTED\n";
  if (r.format != nullptr) out += "video     " + describe(*r.format) + "\n";
  out += print("time      %s of port time in %.2f s\n", format_ps(static_cast<int64_t>(span) * 1000).c_str(),
               r.host_seconds);
  if (r.sender != nullptr) out += sender_text(r);
  if (r.receiver == nullptr) return out;
  out += receiver_text(r);
  out += "clocks    " + r.clocks.text() + "\n";
  out += stream_table(r);
  if (const uint64_t u = unseen(r))
    out += print(
        "          %" PRIu64 " packets more were sent and never seen before the first or after the last received\n", u);
  out += text(r.receiver->delay(), r.clocks.relation, r.error_ns());
  out += text(r.receiver->sending_wire(), "sending wire, all streams" + trust(card_sends(r)));
  out += text(r.receiver->receiving_wire(), "receiving wire, all streams" + trust(card_receives(r)));
  return out;
}

nlohmann::json final_json(const Run& r) {
  nlohmann::json j{{"type", "report"},
                   {"port_time_ns", r.end_ns - r.begin_ns},
                   {"host_seconds", r.host_seconds},
                   {"interrupted", r.interrupted}};
  if (r.format != nullptr) j["video"] = describe(*r.format);
  if (r.sender != nullptr) {
    const SenderCounters& c = r.sender->counters();
    j["sender"] = {{"port", r.tx->name()},
                   {"streams", r.sender->streams()},
                   {"target_bps", r.sender->target_bps()},
                   {"rate_layer", r.options->rate_is_l2 ? "l2" : "l1"},
                   {"pacing", pacing_of(*r.tx)},
                   {"stamps", send_stamps_of(*r.tx)},
                   {"made", c.made},
                   {"sent", c.sent},
                   {"octets", c.octets},
                   {"l1_octets", c.l1_octets},
                   {"retried", c.retried},
                   {"abandoned", c.abandoned},
                   {"late", c.late},
                   {"no_buffer", c.no_buffer},
                   {"slips", c.slips},
                   {"slipped_ns", c.slipped_ns}};
  }
  if (r.sender != nullptr) {
    if (const auto reached = reached_bps(r))
      j["sender"][r.sender->left_known() ? "reached_l1_bps" : "given_l1_bps"] = *reached;
  }
  if (r.receiver == nullptr) return j;
  const ReceiverCounters& c = r.receiver->counters();
  j["receiver"] = {{"port", r.rx->name()},
                   {"stamps", receive_stamps_of(r)},
                   {"received", c.received},
                   {"measured", c.measured},
                   {"foreign", c.foreign},
                   {"malformed", c.malformed},
                   {"no_block", c.no_block},
                   {"bad_block", c.bad_block},
                   {"unknown_session", c.unknown_session},
                   {"unstamped", c.unstamped},
                   {"octets", c.octets}};
  if (r.receiver->stamp_error_ns().count() > 0) j["receiver"]["stamp_error_ns"] = to_json(r.receiver->stamp_error_ns());
  if (const Depacketiser* d = r.receiver->rebuilt()) {
    const DepacketiserCounters& v = d->counters();
    j["rebuilt"] = {{"stream", r.options->out_stream},
                    {"frames_complete", v.frames_complete},
                    {"frames_incomplete", v.frames_incomplete},
                    {"missing_octets", v.missing_octets},
                    {"frames_written", r.receiver->frames_written()},
                    {"placed", v.placed},
                    {"duplicate", v.duplicate},
                    {"late", v.late},
                    {"foreign", v.foreign},
                    {"malformed", v.malformed}};
  }
  j["clocks"] = {{"relation", to_string(r.clocks.relation)},
                 {"offset_ns", r.clocks.offset_ns},
                 {"known_to_ns", r.clocks.bracket_ns}};
  j["unseen"] = unseen(r);
  j["delay"] = to_json(r.receiver->delay(), r.clocks.relation, r.error_ns());
  j["streams"] = nlohmann::json::array();
  for (const auto& flow : r.receiver->flows()) {
    nlohmann::json s = to_json(flow->meter, r.clocks.relation, r.error_ns());
    s["session"] = flow->session;
    if (r.sender != nullptr) s["sent"] = r.sender->sent_by(flow->session - 1u);
    j["streams"].push_back(std::move(s));
  }
  j["sending_wire"] = wire_json(r.receiver->sending_wire());
  j["sending_wire"]["trusted"] = card_sends(r);
  j["receiving_wire"] = wire_json(r.receiver->receiving_wire());
  j["receiving_wire"]["trusted"] = card_receives(r);
  return j;
}

nlohmann::json interval_json(const Run& r, const Totals& before, const Totals& now, const DelayMeter& delay) {
  nlohmann::json j{{"type", "interval"}, {"from_ns", before.at_ns - r.begin_ns}, {"to_ns", now.at_ns - r.begin_ns}};
  if (r.sender != nullptr) {
    j["sent"] = now.sent - before.sent;
    j["sent_l1_bps"] = rate_bps(now.sent_l1 - before.sent_l1, now.at_ns - before.at_ns);
  }
  if (r.receiver != nullptr) {
    j["received"] = now.received - before.received;
    j["lost_so_far"] = lost_packets(*r.receiver);
    j["delay"] = to_json(delay, r.clocks.relation, r.error_ns());
  }
  return j;
}

std::string progress(const Run& r, uint64_t now_ns, uint64_t lost) {
  std::string out = format_ps(static_cast<int64_t>(now_ns - r.begin_ns) * 1000);
  if (r.sender != nullptr) out += print("  sent %" PRIu64, r.sender->counters().sent);
  if (r.receiver != nullptr)
    out += print("  received %" PRIu64 "  lost %" PRIu64, r.receiver->counters().received, lost);
  return out;
}

}  // namespace apcm::stream
