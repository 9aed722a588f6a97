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
  // Both of the form "width=64,stem=cifar"; what is given takes the place of the usual. Of words, all that may be given
  // are there, the usual one first: "stem=cifar|imagenet". Fails with invalid_argument for an option that is not among
  // the usual ones, or for another word, or none where a number is expected.
  static Result<ZooOptions> Read(std::string_view usual, std::string_view given);

  std::int64_t Number(std::string_view name) const;
  const std::string& Text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace sluice::model
