#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace sluice {

// The address of a Unix socket. The kernel limits such an address to 107 bytes. So a longer path is
// given relative to an open descriptor of its folder, which the object owns. The address is valid
// while the object lives.
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
