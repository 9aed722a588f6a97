#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::model {

// What a network of the zoo is asked for, by name; all that it has are there.
class ZooOptions {
 public:
  // Both of the form "width=64,stem=cifar"; what is given takes the place of the usual. Fails with invalid_argument for
  // one that is not among the usual ones, or is no number where that is one.
  static Result<ZooOptions> Read(std::string_view usual, std::string_view given);

  std::int64_t Number(std::string_view name) const;
  const std::string& Text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace sluice::model
