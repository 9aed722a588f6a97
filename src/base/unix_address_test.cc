#include "base/unix_address.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace sluice {
namespace {

TEST(UnixAddressTest, ASocketIsReachedWhateverTheLengthOfItsPath) {
  std::string root = (std::filesystem::temp_directory_path() / "sluice-address-XXXXXX").string();
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  for (const std::size_t length : {1u, 106u, 107u, 108u, 200u}) {
    const std::string folder = root + "/" + std::string(length, 'x');
    std::filesystem::create_directories(folder);
    const UnixAddress address(folder + "/socket");
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int caller = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener, address.get(), address.size()), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    const UnixAddress again(folder + "/socket");
    EXPECT_EQ(connect(caller, again.get(), again.size()), 0) << length;
    close(caller);
    close(listener);
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sluice
