#include "exec/socket/reception.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <variant>
#include <vector>

namespace sluice {
namespace {

constexpr Duration kAcceptAgain = std::chrono::milliseconds(100);

// Device and inode of the file of this name.
std::pair<dev_t, ino_t> FileAt(const std::string& path) {
  struct stat file{};
  return lstat(path.c_str(), &file) == 0 ? std::pair(file.st_dev, file.st_ino)
                                         : std::pair<dev_t, ino_t>();
}

}  // namespace

Reception::Reception(EventLoop& loop, CommandLine command_line)
    : loop_(loop), command_line_(std::move(command_line)) {}

Reception::~Reception() {
  visitors_.clear();
  StopListening();
}

void Reception::StopListening() {
  loop_.Cancel(accept_timer_);
  if (listener_ < 0) return;
  // Removes the socket's file, unless another controller's socket has taken its place. While our
  // socket is open, no other file has its inode.
  if (FileAt(path_) == socket_) unlink(path_.c_str());
  loop_.Forget(listener_);
  close(listener_);
  listener_ = -1;
}

bool Reception::WaitFor(PeerId peer, Duration patience) const {
  const auto found = visitors_.find(peer);
  return found == visitors_.end() || found->second.connection->WaitFor(patience);
}

Status Reception::Listen(const std::string& path) {
  SLUICE_ASSIGN(listener_, ListenAt(path));
  path_ = path;
  socket_ = FileAt(path);
  loop_.Watch(listener_, [this] { Accept(); });
  return {};
}

void Reception::Go(const Receiver& receiver) {
  std::erase_if(receivers_, [&](const auto& each) { return each.second == &receiver; });
  std::erase_if(visitors_, [&](const auto& each) { return each.second.receiver == &receiver; });
}

void Reception::Send(PeerId peer, const wire::ToWorker& message) {
  if (const auto found = visitors_.find(peer); found != visitors_.end())
    found->second.connection->Send(message);
}

void Reception::Drain(PeerId peer) {
  if (const auto found = visitors_.find(peer); found != visitors_.end())
    found->second.connection->Drain();
}

void Reception::DrainNewcomers() {
  if (listener_ >= 0) Accept();
  std::vector<PeerId> newcomers;
  for (const auto& [peer, visitor] : visitors_) {
    if (visitor.receiver == nullptr) newcomers.push_back(peer);
  }
  for (const PeerId peer : newcomers) Drain(peer);
}

void Reception::Accept() {
  while (true) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
      const bool exhausted = errno == EMFILE || errno == ENFILE;
      if (exhausted && accept_timer_ == 0) {
        // There is no free descriptor. The waiting connection would wake the loop all the time, so
        // the listener is not watched for a while.
        loop_.Forget(listener_);
        accept_timer_ = loop_.At(loop_.Now() + kAcceptAgain, [this] {
          accept_timer_ = 0;
          loop_.Watch(listener_, [this] { Accept(); });
        });
      }
      return;
    }
    const PeerId peer = next_peer_++;
    Connection::Handlers handlers{
        .line = [this, peer](std::string_view line) { Heard(peer, line); },
        .closed = [this, peer] { Closed(peer); }};
    visitors_[peer].connection =
        std::make_unique<Connection>(loop_, descriptor, std::move(handlers));
  }
}

void Reception::Heard(PeerId peer, std::string_view line) {
  Visitor& visitor = visitors_.at(peer);
  if (visitor.receiver != nullptr) return visitor.receiver->Heard(peer, line);
  const auto message = wire::DecodeFromWorker(line);
  if (!message) return Refuse(peer, message.error().message);
  if (const auto* ask = std::get_if<wire::Ask>(&*message)) {
    visitor.asks = true;
    return command_line_.asked(peer, *ask);
  }
  const auto* hello = std::get_if<wire::Hello>(&*message);
  if (hello == nullptr) return Refuse(peer, "expected hello first");
  visitor.receiver = ReceiverOf(*hello);
  if (visitor.receiver == nullptr) {
    return Refuse(
        peer, fmt::format("no worker '{}' of study '{}' is known", hello->worker, hello->study));
  }
  visitor.receiver->Connected(peer);
  visitor.receiver->Heard(peer, line);
}

void Reception::Refuse(PeerId peer, const std::string& reason) {
  Send(peer, wire::Refuse{reason});
  Close(peer);
}

Receiver* Reception::ReceiverOf(const wire::Hello& hello) const {
  if (!hello.study.empty()) {
    const auto found = receivers_.find(hello.study);
    return found == receivers_.end() ? nullptr : found->second;
  }
  if (receivers_.size() == 1) return receivers_.begin()->second;
  for (const auto& [study, receiver] : receivers_) {
    if (receiver->HasHost(hello.worker, hello.secret)) return receiver;
  }
  return nullptr;
}

void Reception::Closed(PeerId peer) {
  const Visitor& visitor = visitors_.at(peer);
  const bool asks = visitor.asks;
  if (visitor.receiver != nullptr) visitor.receiver->Closed(peer);
  Close(peer);
  if (asks) command_line_.left(peer);
}

}  // namespace sluice
