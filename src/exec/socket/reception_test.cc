#include "exec/socket/reception.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Remembers what the reception hands on.
class Listener final : public Receiver {
 public:
  explicit Listener(std::string secret = "") : secret_(std::move(secret)) {}
  bool HasHost(const std::string&, const std::string& secret) override {
    return !secret_.empty() && secret == secret_;
  }
  void Connected(PeerId) override { said.emplace_back("connected"); }
  void Heard(PeerId, std::string_view line) override {
    const auto message = wire::DecodeFromWorker(line);
    const auto* hello = message ? std::get_if<wire::Hello>(&*message) : nullptr;
    said.push_back(hello != nullptr ? "hello " + hello->worker : "another");
  }
  void Closed(PeerId) override { said.emplace_back("closed"); }

  std::vector<std::string> said;

 private:
  const std::string secret_;
};

class ReceptionTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(reception_.Listen(path_)); }

  int Connect() {
    const auto descriptor = ConnectTo(path_);
    EXPECT_TRUE(descriptor) << descriptor.error().message;
    return *descriptor;
  }
  void Say(int descriptor, const wire::FromWorker& message) {
    const std::string line = wire::Encode(message) + "\n";
    ASSERT_EQ(send(descriptor, line.data(), line.size(), 0), static_cast<ssize_t>(line.size()));
  }
  static wire::Hello Hello(const std::string& study, const std::string& secret = "") {
    wire::Hello hello;
    hello.study = study;
    hello.worker = "1.1";
    hello.secret = secret;
    return hello;
  }
  // Lets the loop handle what has arrived.
  void Turn() {
    for (int turns = 0; turns < 5; ++turns) {
      loop_->At(loop_->Now(), [] {});
      loop_->RunOnce();
    }
  }
  // What has been said to this side, "" if nothing, "(closed)" at its end.
  std::string Answer(int descriptor) {
    std::array<char, 4096> buffer;
    const ssize_t size = recv(descriptor, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size == 0) return "(closed)";
    return size < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

  const TestFolder folder_;
  const std::string path_ = folder_ / "socket";
  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::Open());
  std::vector<std::string> asked_;
  std::vector<PeerId> left_;
  PeerId asker_ = 0;
  Reception reception_{*loop_,
                       {.asked =
                            [this](PeerId peer, const wire::Ask& ask) {
                              asker_ = peer;
                              asked_.push_back(ask.verb);
                            },
                        .left = [this](PeerId peer) { left_.push_back(peer); }}};
};

TEST_F(ReceptionTest, WorkersAreHandedOnByTheirStudy) {
  Listener a;
  Listener b;
  reception_.Come("a", a);
  reception_.Come("b", b);
  const int worker = Connect();
  Say(worker, Hello("b"));
  Say(worker, wire::Heartbeat{});
  Turn();
  EXPECT_THAT(a.said, IsEmpty());
  EXPECT_THAT(b.said, ElementsAre("connected", "hello 1.1", "another"));
  close(worker);
  Turn();
  EXPECT_EQ(b.said.back(), "closed");
}

TEST_F(ReceptionTest, AWorkerThatDoesNotNameItsStudyIsKnownByItsSecret) {
  Listener a("one");
  Listener b("two");
  reception_.Come("a", a);
  reception_.Come("b", b);
  const int worker = Connect();
  Say(worker, Hello("", "two"));
  const int stranger = Connect();
  Say(stranger, Hello("", "three"));
  Turn();
  EXPECT_THAT(a.said, IsEmpty());
  EXPECT_THAT(b.said, ElementsAre("connected", "hello 1.1"));
  EXPECT_THAT(Answer(stranger), HasSubstr("no worker '1.1'"));
  EXPECT_EQ(Answer(stranger), "(closed)");
  close(worker);
  close(stranger);
}

TEST_F(ReceptionTest, AStudyThatIsNotHereHasNoWorkers) {
  Listener a;
  reception_.Come("a", a);
  const int worker = Connect();
  Say(worker, Hello("b"));
  Turn();
  EXPECT_THAT(a.said, IsEmpty());
  EXPECT_THAT(Answer(worker), HasSubstr("no worker '1.1' of study 'b' is known"));
  close(worker);
}

TEST_F(ReceptionTest, ConnectionsOfAStudyThatGoesAreClosed) {
  Listener a;
  reception_.Come("a", a);
  const int worker = Connect();
  Say(worker, Hello("a"));
  Turn();
  reception_.Go(a);
  EXPECT_EQ(Answer(worker), "(closed)");
  EXPECT_THAT(a.said, ElementsAre("connected", "hello 1.1"));
  close(worker);
}

TEST_F(ReceptionTest, TheCommandLineAsksAndIsAnswered) {
  const int command = Connect();
  Say(command, wire::Ask{.verb = "stop", .study = "a"});
  Turn();
  EXPECT_THAT(asked_, ElementsAre("stop"));
  reception_.Send(asker_, wire::Answer{.ok = true, .message = "yes"});
  EXPECT_THAT(Answer(command), HasSubstr("yes"));
  EXPECT_FALSE(reception_.WaitFor(asker_, Duration(0)));
  Say(command, wire::Ask{.verb = "pause", .study = "a"});
  EXPECT_TRUE(reception_.WaitFor(asker_, std::chrono::seconds(10)));
  EXPECT_THAT(asked_, ElementsAre("stop")) << "it waits, and reads nothing";
  Turn();
  EXPECT_THAT(asked_, ElementsAre("stop", "pause"));
  close(command);
  EXPECT_TRUE(reception_.WaitFor(asker_, std::chrono::seconds(10)));
  Turn();
  EXPECT_THAT(left_, ElementsAre(asker_));
}

TEST_F(ReceptionTest, WhoSaysSomethingElseFirstIsRefused) {
  const int stranger = Connect();
  Say(stranger, wire::Heartbeat{});
  Turn();
  EXPECT_THAT(Answer(stranger), HasSubstr("expected hello first"));
  EXPECT_THAT(left_, IsEmpty());
  close(stranger);
}

TEST_F(ReceptionTest, NobodyConnectsOnceItHasStopped) {
  reception_.StopListening();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(ConnectTo(path_));
  // A socket that another controller has made there stays.
  Reception other(*loop_, {.asked = {}, .left = {}});
  ASSERT_TRUE(other.Listen(path_));
  reception_.StopListening();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace sluice
