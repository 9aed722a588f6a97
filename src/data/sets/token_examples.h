#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files/byte_source.h"
#include "base/result.h"
#include "data/sets/examples.h"

namespace sluice::data {

struct TokenStream {
  std::shared_ptr<const ByteSource> source;
  std::string path;
};

struct TokenOptions {
  DType dtype = DType::kUint16;  // of a token in the file: a type of whole numbers
  std::int64_t vocabulary = 0;   // tokens are below this
  std::int64_t window = 0;       // how many tokens an example has
};

constexpr std::int64_t kMostWindow = std::int64_t{1} << 24;

// Examples of a language model from files of tokens without a header. Example i of a file is its
// tokens from i * window on; the target of each token is the token after it. So examples do not
// overlap, but for the token that ends one and begins the next, and none crosses from file to file.
// Tokens after the last whole example are left out. Every token is checked. Fails with
// invalid_argument if a token is out of range or a file is too short.
Result<std::shared_ptr<const Examples>> MakeTokenExamples(std::vector<TokenStream> streams,
                                                          const TokenOptions& options);

}  // namespace sluice::data
