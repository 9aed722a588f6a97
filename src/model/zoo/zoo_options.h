#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::model {

// The options of a network of the zoo, by name. Each of them has a value.
class ZooOptions {
 public:
  // `usual` has all options with their defaults, and `given` has the options that are set:
  // "width=64,stem=cifar". For an option that is a word, `usual` lists all allowed words, the
  // default first: "stem=cifar|imagenet". Fails with invalid_argument for an option that is not in
  // `usual`, for a word that is not allowed, and for a value that should be a number but is not.
  static Result<ZooOptions> Read(std::string_view usual, std::string_view given);

  std::int64_t Number(std::string_view name) const;
  const std::string& Text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace sluice::model
