// SPDX-License-Identifier: BSD-3-Clause
// apcm-stream: the streaming application is the monitor. See --help.
#include <fcntl.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report.h"

namespace apcm::stream {
namespace {

std::atomic<bool> stop_asked{false};
extern "C" void on_signal(int) { stop_asked = true; }

int complain(const std::string& text) {
  std::fprintf(stderr, "apcm-stream: %s\n", text.c_str());
  return 1;
}

tl::expected<std::vector<SdpStream>, std::string> read_sdp(const std::string& path) {
  std::ifstream file(path);
  if (!file) return tl::unexpected("--sdp " + path + ": " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  auto streams = parse_sdp(text.str());
  if (!streams) return tl::unexpected("--sdp " + path + ": " + streams.error());
  return streams;
}

tl::expected<void, std::string> save_sdp(const std::string& path, const Sender& sender) {
  std::ofstream file(path, std::ios::binary);
  file << write_sdp("apcm-stream", 1, sender.sdp());
  file.close();
  if (!file) return tl::unexpected("--sdp " + path + ": " + std::strerror(errno));
  return {};
}

/// The final word on what DPDK did not like. It leaves rte_errno at 0 in places, one of which users come to: the folder
/// of the file prefix is another process's.
std::string why_not_started() {
  if (rte_errno != 0) return std::string("DPDK refused its arguments (those before --): ") + rte_strerror(rte_errno);
  const std::string config = std::string(rte_eal_get_runtime_dir()) + "/config";
  const int file = open(config.c_str(), O_RDONLY | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool taken = rte_eal_process_type() == RTE_PROC_PRIMARY && file >= 0 && fcntl(file, F_GETLK, &lock) == 0 &&
                     lock.l_type != F_UNLCK;
  if (file >= 0) close(file);
  if (taken)
    return "process " + std::to_string(lock.l_pid) + " uses DPDK with the same file prefix (it holds " + config +
           "); before --, give this one its own, as in --file-prefix NAME";
  return "DPDK did not start, its own lines above say why (is its file prefix in use? see --file-prefix)";
}

/// Names of the --vdev devices that are not there. DPDK goes on without them, and ports would change their numbers.
std::string refused_devices() {
  std::string names;
  rte_dev_iterator at{};
  rte_device* device = nullptr;
  RTE_DEV_FOREACH(device, "bus=vdev", &at)
  if (rte_dev_is_probed(device) == 0) names += (names.empty() ? "" : ", ") + std::string(rte_dev_name(device));
  return names;
}

/// The loop. Decisions are taken by port time alone, so that a run in virtual time is the same on every machine.
class Session {
 public:
  explicit Session(const Options& options) : options_(options) {}
  int run();

 private:
  tl::expected<void, std::string> open();
  tl::expected<void, std::string> wait_for_links();
  const Port* port_down() const;
  void loop();
  void put(const std::string& text);
  bool finished(uint64_t now) const;
  void tell(uint64_t now);
  void look_at_links();
  Totals totals(uint64_t now) const;
  uint64_t now_ns() const { return (tx_ ? tx_ : rx_)->now_ns(); }

  const Options& options_;
  std::optional<FrameSource> source_;
  std::vector<SdpStream> expected_;
  std::unique_ptr<Port> first_, second_;
  Port *tx_ = nullptr, *rx_ = nullptr;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  Run run_;
  Totals last_;
  uint64_t last_packet_ns_ = 0;  ///< when something was last sent or received
  bool any_packet_ = false;
  static constexpr uint64_t kLookAtLinkNs = 20'000'000;
  uint64_t last_look_ns_ = 0;
  bool told_down_ = false;
  bool began_ = false;  ///< to send or receive
  static constexpr uint64_t kWaitForLinkNs = 5'000'000'000;
  std::string output_error_;  ///< the report cannot be written: ends the run
  std::chrono::steady_clock::time_point next_progress_{};
  bool progress_shown_ = false;
};

tl::expected<void, std::string> Session::open() {
  const Options& o = options_;
  const bool same = o.tx_port && o.rx_port && *o.tx_port == *o.rx_port;
  if (o.tx_port) {
    auto port = Port::open({*o.tx_port, true, same, o.mtu});
    if (!port) return tl::unexpected(port.error());
    first_ = std::move(*port);
    tx_ = first_.get();
    if (same) rx_ = tx_;
  }
  if (o.rx_port && !same) {
    auto port = Port::open({*o.rx_port, false, true, o.mtu});
    if (!port) return tl::unexpected(port.error());
    second_ = std::move(*port);
    rx_ = second_.get();
  }
  if (tx_ != nullptr) {
    auto sender = Sender::create(o, *tx_, *source_);
    if (!sender) return tl::unexpected(sender.error());
    sender_ = std::move(*sender);
    expected_ = sender_->sdp();
    if (!o.sdp.empty()) {
      if (auto saved = save_sdp(o.sdp, *sender_); !saved) return saved;
    }
  }
  if (rx_ != nullptr) {
    auto receiver = Receiver::create(o, *rx_, expected_, sender_ ? &sender_->order() : nullptr);
    if (!receiver) return tl::unexpected(receiver.error());
    receiver_ = std::move(*receiver);
  }
  return {};
}

Totals Session::totals(uint64_t now) const {
  Totals t{now, 0, 0, 0};
  if (sender_) {
    t.sent = sender_->counters().sent;
    t.sent_l1 = sender_->counters().l1_octets;
  }
  if (receiver_) t.received = receiver_->counters().received;
  return t;
}

/// Interval lines follow port time; the line of progress, being for people, the time of day.
void Session::tell(uint64_t now) {
  if (options_.json && now >= last_.at_ns + options_.interval_ns) {
    const Totals t = totals(now);
    put(interval_json(run_, last_, t, receiver_ ? receiver_->take_interval() : DelayMeter{}).dump() + "\n");
    last_ = t;
  }
  if (!options_.progress && (options_.quiet || isatty(2) == 0)) return;
  const auto host = std::chrono::steady_clock::now();
  if (host < next_progress_) return;
  next_progress_ = host + std::chrono::milliseconds(options_.progress ? 1000 : 200);
  const std::string line = progress(run_, now, receiver_ ? lost_packets(*receiver_) : 0);
  std::fprintf(stderr, options_.progress ? "%s\n" : "\r%s\033[K", line.c_str());
  progress_shown_ = !options_.progress;
}

/// Standard output is the video's when --out - says so; the report goes to standard error then.
void Session::put(const std::string& text) {
  FILE* to = options_.out == "-" ? stderr : stdout;
  if (!output_error_.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), to) != text.size() || std::fflush(to) != 0)
    output_error_ = std::string("the report cannot be written: ") + std::strerror(errno);
}

/// A sender without receiver waits too: what the port still holds would be lost when it stops.
bool Session::finished(uint64_t now) const {
  if (stop_asked) return true;
  if (!output_error_.empty() || (receiver_ && !receiver_->error().empty())) return true;
  if (options_.duration_ns != 0) {
    // A sender that cannot keep up, or a port that always has something to receive, does not make the run longer.
    const uint64_t after = sender_ ? 2 * options_.lead_ns + options_.drain_ns.value_or(0) : 0;
    if (now >= run_.begin_ns + options_.duration_ns + after) return true;
  }
  const bool drained = options_.drain_ns && now >= last_packet_ns_ + *options_.drain_ns;
  if (sender_) return sender_->done() && drained;
  return any_packet_ && drained;
}

const Port* Session::port_down() const {
  const Port* down = nullptr;
  for (const Port* port : {tx_, rx_})  // all are asked: some only then try to connect
    if (port != nullptr && !port->link_up() && down == nullptr) down = port;
  return down;
}

/// Nothing moved for a while: perhaps nobody is there.
void Session::look_at_links() {
  const Port* port = told_down_ ? nullptr : port_down();
  if (port == nullptr) return;
  std::fprintf(stderr, "apcm-stream: port %u (%s): the link is down%s\n", port->id(), port->name().c_str(),
               began_ && sender_ ? "" : ", waiting for it");
  told_down_ = true;
}

/// What is sent into a link that is down reaches nobody, and most ports count it as sent. Ends after kWaitForLinkNs of
/// port time or of the host's, whichever is first: port time may stand still, or fly.
tl::expected<void, std::string> Session::wait_for_links() {
  const uint64_t begin = now_ns();
  const auto host_end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kWaitForLinkNs);
  while (const Port* port = port_down()) {
    const uint64_t now = now_ns();
    if (stop_asked) return {};
    if (now >= begin + kWaitForLinkNs || std::chrono::steady_clock::now() >= host_end)
      return tl::unexpected("port " + std::to_string(port->id()) + " (" + port->name() +
                            "): the link stayed down for 5 s, nothing was sent; is there a port at its other end?");
    if (now >= begin + kLookAtLinkNs) look_at_links();
  }
  told_down_ = false;
  return {};
}

void Session::loop() {
  uint32_t turns = 0;
  uint64_t now = now_ns();
  while (!finished(now)) {
    now = now_ns();
    uint32_t moved = 0;
    if (sender_) moved += sender_->poll(now);
    if (receiver_) moved += receiver_->poll();
    if (moved > 0) {
      last_packet_ns_ = last_look_ns_ = now;
      any_packet_ = true;
    } else if (now >= last_look_ns_ + kLookAtLinkNs) {
      last_look_ns_ = now;
      look_at_links();
    }
    if (sender_ && sender_->done()) sender_->settle(now);
    if (++turns % 64 == 0) tell(now);
  }
  run_.interrupted = stop_asked;
}

int Session::run() {
  // The input is opened before the ports: a bad file should not cost a link flap.
  if (options_.tx_port) {
    auto source = FrameSource::open(options_);
    if (!source) return complain(source.error());
    source_.emplace(std::move(*source));
  } else if (!options_.sdp.empty()) {
    auto streams = read_sdp(options_.sdp);
    if (!streams) return complain(streams.error());
    expected_ = std::move(*streams);
  }
  if (auto opened = open(); !opened) return complain(opened.error());
  run_ = {&options_, nullptr, tx_, rx_, sender_.get(), receiver_.get(), read_clocks(tx_, rx_), 0, 0, 0, false};
  if (source_)
    run_.format = &source_->format();
  else if (options_.out_stream < expected_.size())
    run_.format = &expected_[options_.out_stream].format;

  if (sender_) {
    if (auto up = wait_for_links(); !up) return complain(up.error());
  }
  began_ = true;
  const auto host_begin = std::chrono::steady_clock::now();
  run_.begin_ns = last_packet_ns_ = last_look_ns_ = now_ns();
  last_ = totals(run_.begin_ns);
  if (sender_) sender_->start(run_.begin_ns);
  loop();
  run_.end_ns = now_ns();
  run_.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - host_begin).count();
  if (sender_) {
    sender_->settle(run_.end_ns);
    sender_->abandon();
  }
  if (progress_shown_) std::fprintf(stderr, "\r\033[K");

  int status = 0;
  if (receiver_) {
    if (const auto done = receiver_->finish(); !done) status = complain(done.error());
  }
  if (source_ && !source_->error().empty() && !stop_asked) status = complain(source_->error());
  put(options_.json ? final_json(run_).dump() + "\n" : final_text(run_));
  if (!output_error_.empty()) status = complain(output_error_);
  return status;
}

int start(int argc, char** argv) {
  int split = 1;
  while (split < argc && std::strcmp(argv[split], "--") != 0) ++split;
  if (split == argc) {
    for (int i = 1; i < argc; ++i)
      if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) split = -1;
    if (split != -1)
      return complain("DPDK's arguments, then --, then options: nothing follows \"--\" (see apcm-stream --help)") + 1;
  }
  char* own[] = {argv[0], const_cast<char*>("--help")};  // NOLINT: CLI11 does not write to it
  auto options = split == -1 ? parse_options(2, own) : parse_options(argc - split, argv + split);
  if (!options) {
    FILE* to = options.error().status == 0 ? stdout : stderr;
    if (std::fputs(options.error().text.c_str(), to) < 0 || std::fflush(to) != 0)
      return complain(std::string("cannot write: ") + std::strerror(errno));
    return options.error().status;
  }
  if (rte_eal_init(split, argv) < 0) return complain(why_not_started());
  if (const std::string names = refused_devices(); !names.empty()) {
    rte_eal_cleanup();
    return complain("--vdev " + names + ": refused by its driver, which says why above; mend its arguments");
  }
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: Ctrl-C also ends the wait for a pipe that gives nothing
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a reader of our output that goes away ends the run, not the process
  int status = 0;
  {
    Session session(*options);
    status = session.run();
  }
  rte_eal_cleanup();
  return status;
}

}  // namespace
}  // namespace apcm::stream

int main(int argc, char** argv) { return apcm::stream::start(argc, argv); }
