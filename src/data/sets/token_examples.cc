#include "data/sets/token_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "data/sets/whole_numbers.h"

namespace sluice::data {
namespace {

class TokenExamples final : public Examples {
 public:
  TokenExamples(std::vector<Rows> streams, const TokenOptions& options)
      : streams_(std::move(streams)),
        options_(options),
        type_{.dtype = DType::kInt64, .shape = {options.window}} {
    std::int64_t end = 0;
    for (const Rows& stream : streams_) ends_.push_back(end += (stream.count - 1) / options.window);
  }

  std::int64_t count() const override { return ends_.back(); }
  const TensorType& input() const override { return type_; }
  const TensorType& target() const override { return type_; }
  std::int64_t classes() const override { return options_.vocabulary; }
  Status ReadInput(std::int64_t which, std::span<char> into) const override {
    return ReadWindow(which, 0, into);
  }
  Status ReadTarget(std::int64_t which, std::span<char> into) const override {
    return ReadWindow(which, 1, into);
  }

 private:
  Status ReadWindow(std::int64_t which, std::int64_t shift, std::span<char> into) const {
    SLUICE_CHECK(which >= 0 && which < count(), "only examples there are can be read");
    SLUICE_CHECK(into.size() == *BytesOf(type_), "the buffer is as long as the example");
    const auto place =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, which) - ends_.begin());
    const std::int64_t window = which - (place == 0 ? 0 : ends_[place - 1]);
    const auto tokens = static_cast<std::size_t>(options_.window);
    std::string bytes(tokens * BytesOf(options_.dtype), '\0');
    SLUICE_TRY(streams_[place].Read(window * options_.window + shift, bytes));
    WidenToInt64(options_.dtype, bytes, {reinterpret_cast<std::int64_t*>(into.data()), tokens});
    return {};
  }

  std::vector<Rows> streams_;       // a row is a token
  std::vector<std::int64_t> ends_;  // of each stream's examples
  TokenOptions options_;
  TensorType type_;
};

Status CheckTokens(const Rows& tokens, const TokenOptions& options) {
  std::optional<std::pair<std::int64_t, std::int64_t>> wrong;
  SLUICE_TRY(ForEachWholeNumber(tokens, [&](std::int64_t row, std::int64_t token) {
    if (token < 0 || token >= options.vocabulary) wrong = {row, token};
    return !wrong;
  }));
  if (!wrong) return {};
  return InvalidArgument(fmt::format(
      "{}: expected tokens from 0 to {}, found {} at token {}: is the vocabulary "
      "larger, or are tokens not {}?",
      tokens.path, options.vocabulary - 1, wrong->second, wrong->first, Name(options.dtype)));
}

}  // namespace

Result<std::shared_ptr<const Examples>> MakeTokenExamples(std::vector<TokenStream> streams,
                                                          const TokenOptions& options) {
  SLUICE_CHECK(!streams.empty(), "there are files of tokens");
  SLUICE_CHECK(options.window > 0 && options.window <= kMostWindow && options.vocabulary > 0,
               "the options were checked");
  const std::uint64_t token_bytes = BytesOf(options.dtype);
  std::vector<Rows> rows;
  for (TokenStream& stream : streams) {
    const std::uint64_t size = stream.source->size();
    if (size % token_bytes != 0) {
      return InvalidArgument(fmt::format(
          "{}: expected tokens of {} bytes ({}), found {} bytes, which is no multiple of that",
          stream.path, token_bytes, Name(options.dtype), size));
    }
    const auto tokens = static_cast<std::int64_t>(size / token_bytes);
    if (tokens <= options.window) {
      return InvalidArgument(fmt::format(
          "{}: expected more than {} tokens, the window, found {}: choose a smaller window",
          stream.path, options.window, tokens));
    }
    rows.push_back({.source = std::move(stream.source),
                    .path = std::move(stream.path),
                    .stride = token_bytes,
                    .count = tokens,
                    .type = {.dtype = options.dtype, .shape = {}}});
    if (token_bytes > 1 || options.vocabulary < 256) SLUICE_TRY(CheckTokens(rows.back(), options));
  }
  return std::make_shared<const TokenExamples>(std::move(rows), options);
}

}  // namespace sluice::data
