#include "exec/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  ~SocketPair() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  int here() const { return ends_[0]; }
  void Say() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void Hear() const {
    char byte = 0;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
  }
  void HangUp() {
    close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() : loop_(*EventLoop::Open()) {}
  // Runs the loop for 20 ms.
  void Settle() {
    bool over = false;
    loop_->At(loop_->Now() + milliseconds(20), [&] { over = true; });
    while (!over) loop_->RunOnce();
  }
  std::unique_ptr<EventLoop> loop_;
  std::vector<int> calls_;
};

TEST_F(EventLoopTest, CallsWhenThereIsSomethingToRead) {
  SocketPair pair;
  loop_->Watch(pair.here(), [&] {
    pair.Hear();
    calls_.push_back(1);
  });
  Settle();
  EXPECT_TRUE(calls_.empty());
  pair.Say();
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
  loop_->Forget(pair.here());
  loop_->Forget(pair.here());
  pair.Say();
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
}

TEST_F(EventLoopTest, CallsWhenTheOtherSideHangsUp) {
  SocketPair pair;
  loop_->Watch(pair.here(), [&] {
    calls_.push_back(1);
    loop_->Forget(pair.here());  // while this handler runs
  });
  pair.HangUp();
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
}

TEST_F(EventLoopTest, AHandlerMayForgetAnother) {
  SocketPair first;
  SocketPair second;
  for (SocketPair* pair : {&first, &second}) {
    loop_->Watch(pair->here(), [&] {
      calls_.push_back(1);
      loop_->Forget(first.here());
      loop_->Forget(second.here());
    });
    pair->Say();
  }
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
}

TEST_F(EventLoopTest, WritabilityIsAskedFor) {
  SocketPair pair;
  loop_->Watch(pair.here(), [&] {
    calls_.push_back(1);
    loop_->WatchWritable(pair.here(), false);
  });
  Settle();
  EXPECT_TRUE(calls_.empty());
  loop_->WatchWritable(pair.here(), true);
  loop_->WatchWritable(pair.here(), true);
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
  loop_->WatchWritable(99999, true);  // not watched
  loop_->Forget(pair.here());
}

TEST_F(EventLoopTest, TimersFireOnceInOrderAndNotBefore) {
  const Time now = loop_->Now();
  const auto timer = [&](int id) { return [this, id] { calls_.push_back(id); }; };
  loop_->At(now + milliseconds(15), timer(3));
  loop_->At(now + milliseconds(5), timer(1));
  loop_->At(now + milliseconds(5), timer(2));
  const auto cancelled = loop_->At(now + milliseconds(6), timer(9));
  loop_->Cancel(cancelled);
  loop_->Cancel(cancelled);
  loop_->Cancel(0);
  loop_->At(now - milliseconds(5), timer(0));
  while (calls_.size() < 4) loop_->RunOnce();
  EXPECT_THAT(calls_, ElementsAre(0, 1, 2, 3));
  EXPECT_GE(loop_->Now(), now + milliseconds(15));
}

TEST_F(EventLoopTest, ATimerMayCancelAndMakeOthers) {
  const Time now = loop_->Now();
  EventLoop::TimerId other = 0;
  loop_->At(now, [&] {
    calls_.push_back(1);
    loop_->Cancel(other);
    loop_->At(now, [&] { calls_.push_back(3); });
  });
  other = loop_->At(now, [&] { calls_.push_back(2); });
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1, 3));
}

TEST_F(EventLoopTest, ReadinessOfAForgottenDescriptorIsNotThatOfItsSuccessor) {
  SocketPair first;
  SocketPair second;
  auto other = std::make_unique<SocketPair>();
  const int number = second.here();
  loop_->Watch(first.here(), [&] {
    first.Hear();
    calls_.push_back(1);
    // The descriptor has an event that is still to be handled in this call of RunOnce. Another file
    // now gets its number.
    loop_->Forget(number);
    ASSERT_EQ(dup2(other->here(), number), number);
    loop_->Watch(number, [&] { calls_.push_back(3); });
  });
  loop_->Watch(number, [&] { calls_.push_back(2); });
  first.Say();
  second.Say();
  Settle();
  EXPECT_THAT(calls_, ElementsAre(1));
}

}  // namespace
}  // namespace sluice
