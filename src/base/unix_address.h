#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace sluice {

// The address of a Unix socket. Such addresses hold 107 bytes: a longer path is reached through an
// open descriptor of its folder. The address is valid while the object lives.
class UnixAddress {
 public:
  explicit UnixAddress(const std::string& path);
  ~UnixAddress();
  UnixAddress(const UnixAddress&) = delete;
  UnixAddress& operator=(const UnixAddress&) = delete;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return sizeof address_; }

 private:
  sockaddr_un address_{};
  int folder_ = -1;
};

}  // namespace sluice
