// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <regex>

#include "apcm/sdp.h"
#include "same_file.h"

namespace apcm::stream {
namespace {

constexpr uint64_t kMostFrames = uint64_t{1} << 40;  ///< and times through the input; 250 times that fits too

constexpr const char* kFooter = R"(
DPDK's own arguments come first, then "--", then the options above.

Examples
  send a clip at 6 Gb/s from one modelled card to another and measure every packet, in virtual time:
    apcm-stream --no-huge -m 512 --no-pci -d librte_net_awing.so \
      --vdev net_awing0,card=awing,wire=c0,clock=virtual --vdev net_awing1,card=awing,wire=c0,clock=virtual \
      -- clip.y4m --tx-port 0 --rx-port 1 --rate 6G --streams auto --out got.y4m
  from ffmpeg through a pipe, over a software ring:
    ffmpeg -i film.mkv -pix_fmt yuv422p -f yuv4mpegpipe - | \
      apcm-stream --no-huge -m 256 --no-pci --vdev net_ring0 -- - --tx-port 0 --rx-port 0
)";

Stop wrong(const std::string& option, const std::string& why) {
  return {"apcm-stream: " + option + ": " + why + " (see apcm-stream --help)\n", 2};
}

template <typename T>
std::string plain(T v) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>)
    return {text, std::to_chars(text, text + sizeof text, v, std::chars_format::fixed).ptr};
  else
    return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

/// A number of T within low..high. CLI::Range lets NaN through, and CLI11 takes -1 for 2^64 - 1.
template <typename T>
CLI::Validator within(T low, T high) {
  const std::string range = plain(low) + ".." + plain(high);
  return {[=](std::string& text) {
            T v{};
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
            const bool good = error == std::errc{} && end == text.data() + text.size() && v >= low && v <= high;
            if (!good) return "must be " + range + ", not " + text;
            text = plain(v);  // CLI11 would read 010 as eight
            return std::string();
          },
          range};
}

/// "1920x1080", "1920x1080@25", "1280x720@30000/1001"
std::optional<VideoFormat> parse_pattern(const std::string& text) {
  static const std::regex shape(R"((\d{1,5})x(\d{1,5})(?:@(\d{1,6})(?:/(\d{1,6}))?)?)");
  std::smatch m;
  if (!std::regex_match(text, m, shape)) return std::nullopt;
  VideoFormat f;
  f.width = static_cast<uint32_t>(std::stoul(m[1]));
  f.height = static_cast<uint32_t>(std::stoul(m[2]));
  f.fps_num = m[3].matched ? static_cast<uint32_t>(std::stoul(m[3])) : 25;
  f.fps_den = m[4].matched ? static_cast<uint32_t>(std::stoul(m[4])) : 1;
  const bool usable = f.width > 0 && f.height > 0 && f.width <= kMaxVideoSide && f.height <= kMaxVideoSide &&
                      f.fps_num > 0 && f.fps_den > 0 && f.planar_bytes() <= kMaxFrameBytes / 2;
  return usable ? std::optional(f) : std::nullopt;
}

std::optional<uint64_t> parse_mac(const std::string& text) {
  static const std::regex shape("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}");
  if (!std::regex_match(text, shape)) return std::nullopt;
  uint64_t mac = 0;
  for (size_t i = 0; i < text.size(); i += 3) mac = mac << 8 | std::stoul(text.substr(i, 2), nullptr, 16);
  return mac;
}

/// Options as typed, before the checks that CLI11 cannot make.
struct Raw {
  std::string pattern, rate, streams = "1", source, destination, mac, layer = "l1";
  int depth = 8, payload_type = 96;
  double duration_s = 0, interval_s = 1, drain_ms = 20;
  uint64_t loops = 1, frames = 0, tx_port = 0, rx_port = 0;
  uint32_t lead_us = 200;
};

/// What the run reads and writes. The report, or the video, goes to standard output.
std::vector<FileUse> files_of(const Options& o) {
  std::vector<FileUse> files;
  if (!o.input.empty()) files.push_back({"INPUT", o.input, false});
  if (!o.sdp.empty()) files.push_back({"--sdp", o.sdp == "-" ? "./-" : o.sdp, o.tx_port.has_value()});
  if (!o.out.empty()) files.push_back({"--out", o.out, true});
  if (o.out != "-") files.push_back({"the report", "-", true});
  return files;
}

std::optional<Stop> check(const Raw& raw, const CLI::App& app, Options& o) {
  if (app.count("--tx-port") > 0) o.tx_port = static_cast<uint16_t>(raw.tx_port);
  if (app.count("--rx-port") > 0) o.rx_port = static_cast<uint16_t>(raw.rx_port);
  if (!o.tx_port && !o.rx_port)
    return wrong("--tx-port, --rx-port", "give the port to send from, to receive on, or both");
  if (!raw.pattern.empty()) {
    if (!o.input.empty()) return wrong("--pattern", "there is an input already, \"" + o.input + "\"; give one of them");
    o.pattern = parse_pattern(raw.pattern);
    if (!o.pattern)
      return wrong("--pattern " + raw.pattern, "must be WIDTHxHEIGHT or WIDTHxHEIGHT@FPS, as in 1920x1080@25");
    o.pattern->depth = static_cast<uint8_t>(raw.depth);
    if (raw.frames == 0 && raw.duration_s == 0 && raw.loops > 0) o.frames = 250 * raw.loops;
  } else if (app.count("--depth") > 0) {
    return wrong("--depth", "belongs to --pattern; a Y4M input has its own depth");
  }
  if (o.tx_port && o.input.empty() && !o.pattern)
    return wrong("--tx-port", "nothing to send: give a Y4M file, - or --pattern WxH");
  if (!o.tx_port && (!o.input.empty() || o.pattern)) return wrong("INPUT", "there is no --tx-port to send it from");
  if (!o.out.empty() && !o.rx_port) return wrong("--out", "there is no --rx-port to receive on");
  if (!o.out.empty() && !o.tx_port && o.sdp.empty())
    return wrong("--out", "give the sender's --sdp FILE, which says what video it is");
  if (o.out == "-" && o.json) return wrong("--out -", "standard output is taken by --json");
  if (!raw.rate.empty()) {
    const auto rate = parse_rate(raw.rate);
    if (!rate) return wrong("--rate " + raw.rate, "must be bits a second, as in 6G, 2.5M or 800k");
    o.rate_bps = *rate;
  }
  o.payload_type = static_cast<uint8_t>(raw.payload_type);
  o.rate_is_l2 = raw.layer == "l2";
  if (raw.streams == "auto") {
    if (o.rate_bps == 0)
      return wrong("--streams auto", "needs --rate, which says how much the streams together are to send");
    o.streams = 0;
  } else {
    const char* last = raw.streams.data() + raw.streams.size();
    const auto [end, error] = std::from_chars(raw.streams.data(), last, o.streams);
    if (error != std::errc{} || end != last || o.streams < 1 || o.streams > 256)
      return wrong("--streams " + raw.streams, "must be 1..256 or auto");
  }
  if (app.count("--loop") > 0) o.loops = raw.loops;
  if (raw.frames > 0) o.frames = raw.frames;
  o.duration_ns = static_cast<uint64_t>(std::llround(raw.duration_s * 1e9));
  o.interval_ns = static_cast<uint64_t>(std::llround(raw.interval_s * 1e9));
  if (app.count("--drain-ms") > 0 || o.tx_port) o.drain_ns = static_cast<uint64_t>(std::llround(raw.drain_ms * 1e6));
  o.lead_ns = uint64_t{raw.lead_us} * 1000;
  for (const auto& [text, name, field] :
       {std::tuple{&raw.source, "--src-ip", &o.source}, {&raw.destination, "--dst-ip", &o.destination}}) {
    if (text->empty()) continue;
    const auto address = parse_ipv4(*text);
    if (!address) return wrong(name, address.error());
    *field = *address;
  }
  if (!raw.mac.empty()) {
    o.destination_mac = parse_mac(raw.mac);
    if (!o.destination_mac) return wrong("--dst-mac " + raw.mac, "must be six pairs of hex digits with colons");
  }
  if (const auto twice = clash(files_of(o))) return Stop{"apcm-stream: " + *twice + " (see apcm-stream --help)\n", 2};
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_rate(const std::string& text) {
  static const std::regex shape(R"((\d{1,13})(?:\.(\d{1,9}))?([kKmMgG]?))");
  std::smatch m;
  if (!std::regex_match(text, m, shape)) return std::nullopt;
  const std::string unit = m[3];
  const uint64_t scale = unit.empty()                 ? 1
                         : unit == "k" || unit == "K" ? 1'000
                         : unit == "m" || unit == "M" ? 1'000'000
                                                      : 1'000'000'000;
  const double bps = std::stod(m[1].str() + "." + (m[2].matched ? m[2].str() : "0")) * static_cast<double>(scale);
  if (bps < 1 || bps > 1e12) return std::nullopt;
  return static_cast<uint64_t>(std::llround(bps));
}

tl::expected<Options, Stop> parse_options(int argc, char** argv) {
  Options o;
  Raw raw;
  CLI::App app{
      "apcm-stream: sends video as RFC 4175 RTP in which every packet carries its own send time, receives it, and "
      "reports delay, gaps, bursts and loss of every packet.",
      "apcm-stream [DPDK ARGUMENTS] --"};
  app.footer(kFooter);
  app.add_option("INPUT", o.input, "Y4M video to send, or - for standard input");
  app.add_option("--pattern", raw.pattern, "send a test pattern instead: WxH or WxH@FPS (250 frames unless limited)");
  app.add_option("--depth", raw.depth, "bits per sample of the pattern: 8 or 10")->check(CLI::IsMember({8, 10}));
  app.add_option("--tx-port", raw.tx_port, "DPDK port to send from")->check(within(0, 65534));
  app.add_option("--rx-port", raw.rx_port, "DPDK port to receive on (may be the same)")->check(within(0, 65534));
  app.add_option("--rate", raw.rate, "bits a second of all streams together, as in 6G (default: the video's own rate)");
  app.add_option("--rate-layer", raw.layer, "what --rate counts: l1 with preamble and gap, l2 frames with FCS")
      ->check(CLI::IsMember({"l1", "l2"}))
      ->capture_default_str();
  app.add_option("--streams", raw.streams, "streams to send, or auto: as many as --rate needs at the video's own rate")
      ->capture_default_str();
  app.add_option(
         "--loop", raw.loops,
         "times through the input; 0: until stopped (default: once, or as often as --frames or --duration need)")
      ->check(within(uint64_t{0}, kMostFrames));
  app.add_option("--frames", raw.frames, "video frames of each stream to send, then end")
      ->check(within(uint64_t{1}, kMostFrames));
  app.add_option("--duration", raw.duration_s, "seconds of port time to run; a sender then waits --drain-ms at most")
      ->check(within(1e-6, 1e7));
  app.add_option("--sdp", o.sdp, "SDP file: written when sending, read when only receiving");
  app.add_option("--out", o.out, "rebuild the received video into this Y4M file");
  app.add_option("--out-stream", o.out_stream, "which stream --out rebuilds")
      ->check(within(0u, 255u))
      ->capture_default_str();
  app.add_flag("--json", o.json, "on standard output: one JSON line for each interval, then the final report");
  auto* quiet = app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.add_flag("--progress", o.progress, "a line of progress each second, even when standard error is no terminal")
      ->excludes(quiet);
  app.add_option("--interval", raw.interval_s, "seconds of port time between reports")
      ->check(within(1e-4, 1e6))
      ->capture_default_str();
  app.add_option("--drain-ms", raw.drain_ms,
                 "after the last packet was sent (receiving only: received), wait so long for more")
      ->check(within(0.001, 1e7))
      ->capture_default_str();
  app.add_option("--lead-us", raw.lead_us, "how far ahead of its time a packet is given to a port with timed send")
      ->check(within(1u, 100'000u))
      ->capture_default_str();
  app.add_option("--mtu", o.mtu, "largest IP packet, octets")->check(within(128u, 16000u))->capture_default_str();
  app.add_option("--src-ip", raw.source, "IPv4 source (10.0.0.1)");
  app.add_option("--dst-ip", raw.destination, "IPv4 destination (239.192.0.1)");
  app.add_option("--udp-port", o.udp_port, "UDP port of stream 0; stream k has 2k more")
      ->check(within(1, 60000))
      ->capture_default_str();
  app.add_option("--dst-mac", raw.mac, "destination MAC address (default: of the multicast group, else broadcast)");
  app.add_option("--payload-type", raw.payload_type, "RTP payload type")->check(within(0, 127))->capture_default_str();
  app.add_flag("--udp-checksum", o.udp_checksum, "compute the UDP checksum (default: 0, as senders of ST 2110 do)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(Stop{app.help(), 0});
  } catch (const CLI::ParseError& e) {
    return tl::unexpected(Stop{"apcm-stream: " + std::string(e.what()) + " (see apcm-stream --help)\n", 2});
  }
  if (auto stop = check(raw, app, o)) return tl::unexpected(*stop);
  return o;
}

}  // namespace apcm::stream
