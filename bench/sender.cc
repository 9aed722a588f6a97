// A trial program that reports as fast as the protocol allows. It sends reports without waiting for
// acknowledgements, as long as the window has room, and ends once all are acknowledged. Prints when
// its first report was made and when the last acknowledgement came.
//
//   sender REPORTS

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "base/check.h"
#include "wire/message.h"
#include "wire/outbox.h"

namespace {

using namespace sluice;

std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  SLUICE_CHECK(value != nullptr, "sluice started this program");
  return value;
}

wire::Assign ReadAssign() {
  std::ifstream file(Environment("SLUICE_TRIAL_FILE"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto message = wire::DecodeToWorker(text);
  SLUICE_CHECK(message.has_value(), "the trial file holds a message");
  return std::get<wire::Assign>(*message);
}

int Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t slash = path.rfind('/');
  const int folder = open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  // The socket's path may be too long for a sockaddr_un, so it is reached through its folder.
  const std::string usable = fmt::format("/proc/self/fd/{}{}", folder, path.substr(slash));
  std::memcpy(address.sun_path, usable.c_str(), usable.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SLUICE_CHECK(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
               "somebody listens");
  close(folder);
  return descriptor;
}

class Sender {
 public:
  Sender(int descriptor, const wire::Assign& assign)
      : descriptor_(descriptor), assign_(assign), outbox_(assign.at), window_(assign.window) {}

  void Hello() {
    unsent_ = wire::Encode(wire::FromWorker(wire::Hello{.version = wire::kOldestVersion,
                                                        .worker = Environment("SLUICE_WORKER"),
                                                        .pid = getpid(),
                                                        .client = "bench sender",
                                                        .reuse = false,
                                                        .study = assign_.study,
                                                        .launches = {assign_.at}})) +
              "\n";
  }

  void Send(std::uint64_t reports) {
    while (acknowledged_ < reports) {
      while (outbox_.last() < reports && !outbox_.Full(window_) && unsent_.size() < kMostUnsent)
        AddReport();
      Exchange();
    }
  }

 private:
  static constexpr std::size_t kMostUnsent = 1 << 16;

  void AddReport() {
    const auto work = static_cast<Work>(outbox_.last() + 1);
    unsent_ +=
        outbox_.Add(wire::Report{.at = {},
                                 .seq = 0,
                                 .work = work,
                                 .values = {{assign_.objective, 1.0 / static_cast<double>(work)}}});
    unsent_ += '\n';
  }

  // Waits until the socket can be written or read, and does what is possible.
  void Exchange() {
    pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (!unsent_.empty()) ready.events |= POLLOUT;
    poll(&ready, 1, -1);
    if ((ready.revents & POLLOUT) != 0) {
      const ssize_t sent =
          send(descriptor_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      SLUICE_CHECK(sent > 0 || errno == EAGAIN, "the controller lives");
      if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
    }
    if ((ready.revents & (POLLIN | POLLHUP)) != 0) Hear();
  }

  void Hear() {
    std::array<char, 65536> buffer;
    const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    SLUICE_CHECK(size > 0, "the controller lives");
    in_.Append({buffer.data(), static_cast<std::size_t>(size)});
    while (const auto line = in_.Next()) {
      const auto message = wire::DecodeToWorker(*line);
      SLUICE_CHECK(message.has_value() && !std::holds_alternative<wire::Refuse>(*message),
                   "we were not refused");
      if (const auto* ack = std::get_if<wire::Ack>(&*message)) {
        outbox_.Acknowledge(ack->seq);
        acknowledged_ = ack->seq;
      }
    }
  }

  int descriptor_;
  const wire::Assign& assign_;
  wire::Outbox outbox_;
  int window_;
  std::string unsent_;
  wire::LineBuffer in_;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

int main(int count, char** words) {
  SLUICE_CHECK(count == 2, "usage: sender REPORTS");
  const std::uint64_t reports = std::strtoull(words[1], nullptr, 10);
  const wire::Assign assign = ReadAssign();
  Sender sender(Connect(Environment("SLUICE_SOCKET")), assign);
  sender.Hello();
  const std::int64_t first_ns = NowNs();
  sender.Send(reports);
  fmt::print("{{\"reports\": {}, \"first_ns\": {}, \"last_ns\": {}}}\n", reports, first_ns,
             NowNs());
  return 0;
}
