#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/unix_address.h"
#include "client/client.h"
#include "wire/message.h"

namespace sluice::client {

constexpr int kLimitMs = 20'000;

inline LaunchRef TestLaunch(std::uint32_t trial, std::uint32_t launch = 1) {
  return {TrialId(trial), LaunchId(launch)};
}

// A folder for one test, removed at its end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-client-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;

  std::string Sub(const std::string& name) const { return path_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

// A controller on a real socket. It sends only what the test sends through it.
class TestController {
 public:
  explicit TestController(const std::string& path) : path_(path) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const UnixAddress address(path);
    EXPECT_EQ(bind(listener_, address.get(), address.size()), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
  }
  ~TestController() {
    HangUp();
    close(listener_);
    unlink(path_.c_str());
  }
  TestController(const TestController&) = delete;

  // Waits for a connection and its hello.
  wire::Hello Accept() {
    HangUp();
    pollfd watched{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&watched, 1, kLimitMs) != 1) return ADD_FAILURE() << "nothing connects", wire::Hello{};
    connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    in_ = {};
    return Expect<wire::Hello>();
  }
  void Welcome(int window = wire::kWindow, std::int64_t lease_ms = 10'000) {
    Send(wire::Welcome{.version = 2, .lease_ms = lease_ms, .window = window});
  }
  void Send(const wire::ToWorker& message) {
    const std::string line = wire::Encode(message) + "\n";
    EXPECT_EQ(send(connection_, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
  }
  void Acknowledge(LaunchRef at, std::uint64_t seq) { Send(wire::Ack{.at = at, .seq = seq}); }
  void HangUp() {
    if (connection_ >= 0) close(std::exchange(connection_, -1));
  }

  // Returns the next message that is no heartbeat, or nothing if the worker has hung up.
  std::optional<wire::FromWorker> Hear() {
    while (true) {
      if (const auto line = in_.Next()) {
        auto message = wire::DecodeFromWorker(*line);
        if (!message) return ADD_FAILURE() << message.error().message, std::nullopt;
        if (!std::holds_alternative<wire::Heartbeat>(*message)) return *std::move(message);
        continue;
      }
      pollfd watched{.fd = connection_, .events = POLLIN, .revents = 0};
      if (poll(&watched, 1, kLimitMs) != 1) return ADD_FAILURE() << "nothing came", std::nullopt;
      std::array<char, 65536> buffer;
      const ssize_t size = recv(connection_, buffer.data(), buffer.size(), 0);
      if (size <= 0) return std::nullopt;
      in_.Append({buffer.data(), static_cast<std::size_t>(size)});
    }
  }
  template <typename Message>
  Message Expect() {
    const auto message = Hear();
    if (message && std::holds_alternative<Message>(*message)) return std::get<Message>(*message);
    ADD_FAILURE() << "found " << (message ? wire::Encode(*message) : "the end of the connection");
    return {};
  }

 private:
  std::string path_;
  int listener_ = -1;
  int connection_ = -1;
  wire::LineBuffer in_;
};

// A test controller, a folder for each launch, and clients whose first launch is of trial 7.
class ClientWorld {
 public:
  ClientWorld() { controller_.emplace(socket_path()); }

  TestController& controller() { return *controller_; }
  void EndController() { controller_.reset(); }
  void StartController() { controller_.emplace(socket_path()); }
  std::string socket_path() const { return folder_.Sub("socket"); }

  std::string Folder(LaunchRef at) const {
    return folder_.Sub(fmt::format("{}.{}", Number(at.trial), Number(at.launch)));
  }
  std::string FileOf(LaunchRef at, const std::string& name) const {
    return TestFolder::Read(Folder(at) + "/" + name);
  }
  wire::Assign Assign(LaunchRef at) const {
    std::filesystem::create_directories(Folder(at));
    wire::Assign assign;
    assign.study = "s";
    assign.at = at;
    assign.params = "{}";
    assign.folder = Folder(at);
    assign.unit = "epoch";
    assign.objective = "loss";
    assign.lease_ms = 10'000;
    return assign;
  }
  Settings MakeSettings(int capacity) const {
    Settings settings;
    settings.socket_path = socket_path();
    settings.worker = "7.1";
    settings.first = Assign(TestLaunch(7));
    settings.capacity = capacity;
    return settings;
  }
  // A client that has connected and was welcomed.
  std::unique_ptr<Client> Connected(int capacity, int window = wire::kWindow) {
    Settings settings = MakeSettings(capacity);
    settings.first.window = window;
    auto client = Client::Open(std::move(settings));
    EXPECT_TRUE(client) << client.error().message;
    controller_->Accept();
    controller_->Welcome(window);
    EXPECT_EQ((*client)->Take().joined.size(), 1u);
    return *std::move(client);
  }
  // Assigns the launch to the client, and waits until the news shows it as joined.
  void Join(Client& client, LaunchRef at, int window = wire::kWindow) {
    wire::Assign assign = Assign(at);
    assign.window = window;
    controller_->Send(assign);
    const News news = client.Wait(Clock::now() + std::chrono::milliseconds(kLimitMs));
    ASSERT_EQ(news.joined.size(), 1u);
    EXPECT_EQ(news.joined.front().at, at);
  }

 private:
  TestFolder folder_;
  std::optional<TestController> controller_;
};

}  // namespace sluice::client
