#include "base/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sluice {
namespace {

struct Nothing {};
struct Inner {
  int a = 1;
  int b = 2;
};
struct Outer {
  std::string text;
  std::vector<int> list;
  std::array<int, 3> three{};
  std::unique_ptr<int> owned;
  Inner inner;
  bool flag = false;
};

static_assert(kFieldsOf<Nothing> == 0);
static_assert(kFieldsOf<Inner> == 2);
static_assert(kFieldsOf<Outer> == 6, "a field that is a struct or an array counts once");

TEST(FieldsTest, VisitsEachFieldInTurn) {
  const Inner inner;
  std::vector<int> seen;
  VisitFields<kFieldsOf<Inner>>([&](int value) { seen.push_back(value); }, inner.b, inner.a);
  EXPECT_EQ(seen, (std::vector<int>{2, 1}));
}

}  // namespace
}  // namespace sluice
