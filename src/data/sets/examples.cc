#include "data/sets/examples.h"

#include <utility>

#include "base/check.h"

namespace sluice::data {
namespace {

class Subset final : public Examples {
 public:
  Subset(std::shared_ptr<const Examples> all, std::vector<std::int64_t> which)
      : all_(std::move(all)), which_(std::move(which)) {
    SLUICE_CHECK(!which_.empty(), "a subset has examples");
    for (const std::int64_t each : which_)
      SLUICE_CHECK(each >= 0 && each < all_->count(), "a subset is made of examples there are");
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(which_.size()); }
  const TensorType& input() const override { return all_->input(); }
  const TensorType& target() const override { return all_->target(); }
  std::int64_t classes() const override { return all_->classes(); }
  Status ReadInput(std::int64_t which, std::span<char> into) const override {
    return all_->ReadInput(which_[static_cast<std::size_t>(which)], into);
  }
  Status ReadTarget(std::int64_t which, std::span<char> into) const override {
    return all_->ReadTarget(which_[static_cast<std::size_t>(which)], into);
  }

 private:
  std::shared_ptr<const Examples> all_;
  std::vector<std::int64_t> which_;
};

}  // namespace

Status Examples::ReadInputs(std::span<const std::int64_t> which, std::span<char> into) const {
  const std::size_t bytes = static_cast<std::size_t>(*BytesOf(input()));
  SLUICE_CHECK(into.size() == bytes * which.size(), "the buffer is as long as the examples");
  for (std::size_t i = 0; i < which.size(); ++i)
    SLUICE_TRY(ReadInput(which[i], into.subspan(i * bytes, bytes)));
  return {};
}

Status Examples::ReadTargets(std::span<const std::int64_t> which, std::span<char> into) const {
  const std::size_t bytes = static_cast<std::size_t>(*BytesOf(target()));
  SLUICE_CHECK(into.size() == bytes * which.size(), "the buffer is as long as the examples");
  for (std::size_t i = 0; i < which.size(); ++i)
    SLUICE_TRY(ReadTarget(which[i], into.subspan(i * bytes, bytes)));
  return {};
}

std::shared_ptr<const Examples> SubsetOf(std::shared_ptr<const Examples> all,
                                         std::vector<std::int64_t> which) {
  return std::make_shared<Subset>(std::move(all), std::move(which));
}

}  // namespace sluice::data
