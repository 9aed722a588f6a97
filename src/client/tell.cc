#include "client/tell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

namespace sluice::client {

void Tell(std::string_view text) {
  const std::string line = fmt::format("sluice: {}\n", text);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sluice::client
