#include "exec/event_loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/check.h"

namespace sluice {
namespace {

Duration SinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) +
                                              std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

EventLoop::EventLoop(int epoll)
    : epoll_(epoll),
      opened_(std::chrono::duration_cast<Duration>(
          std::chrono::system_clock::now().time_since_epoch())),
      opened_since_boot_(SinceBoot()) {}

Result<std::unique_ptr<EventLoop>> EventLoop::Open() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0)
    return Unavailable(fmt::format("cannot make an event loop: {}", std::strerror(errno)));
  return std::unique_ptr<EventLoop>(new EventLoop(epoll));
}

EventLoop::~EventLoop() { close(epoll_); }

std::uint64_t EventLoop::Tag(int descriptor, std::uint32_t round) {
  return static_cast<std::uint64_t>(round) << 32 | static_cast<std::uint32_t>(descriptor);
}

void EventLoop::Watch(int descriptor, Handler handler) {
  const std::uint32_t round = next_round_++;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = Tag(descriptor, round);
  SLUICE_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0,
               "an open descriptor is watched once");
  watched_[descriptor] = {std::make_shared<Handler>(std::move(handler)), EPOLLIN, round};
}

void EventLoop::WatchWritable(int descriptor, bool writable) {
  const auto found = watched_.find(descriptor);
  if (found == watched_.end()) return;
  const std::uint32_t events = writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (found->second.events == events) return;
  found->second.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = Tag(descriptor, found->second.round);
  epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event);
}

void EventLoop::Forget(int descriptor) {
  if (watched_.erase(descriptor) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

EventLoop::TimerId EventLoop::At(Time time, Handler handler) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(time, id), std::move(handler));
  timer_times_[id] = time;
  return id;
}

void EventLoop::Cancel(TimerId timer) {
  const auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, timer});
  timer_times_.erase(found);
}

void EventLoop::RunOnce() {
  int timeout_ms = -1;
  if (!timers_.empty()) {
    const std::int64_t left_us = (timers_.begin()->first.first - Now()).count();
    // Rounded up, so that the timer is due when epoll_wait returns.
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>((left_us + 999) / 1000, 0, 60'000));
  }
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    const int descriptor = static_cast<int>(static_cast<std::uint32_t>(tag));
    const auto found = watched_.find(descriptor);
    // Skips a descriptor that an earlier handler forgot. Its number may belong to another file now.
    if (found == watched_.end() || Tag(descriptor, found->second.round) != tag) continue;
    const std::shared_ptr<Handler> handler = found->second.handler;
    (*handler)();
  }
  const Time now = Now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto first = timers_.begin();
    const Handler handler = std::move(first->second);
    timer_times_.erase(first->first.second);
    timers_.erase(first);
    handler();
  }
}

Time EventLoop::Now() const { return opened_ + (SinceBoot() - opened_since_boot_); }

}  // namespace sluice
