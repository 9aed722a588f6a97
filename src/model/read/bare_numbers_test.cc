#include "model/read/bare_numbers.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::model {
namespace {

TEST(WithQuotedNumbersTest, QuotesWhatStandsOutsideOfTexts) {
  EXPECT_EQ(WithQuotedNumbers(R"({"a": -Infinity, "b": [Infinity,NaN], "c": -1})"),
            R"({"a": "-Infinity", "b": ["Infinity","NaN"], "c": -1})");
}

TEST(WithQuotedNumbersTest, LeavesTexts) {
  for (const std::string text :
       {R"({"NaN": "-Infinity", "a\"NaN": "\\", "b": "\\\"NaN"})", R"({"a": None, "b": -In})", "",
        R"({"a": "NaN)", R"({"a": "NaN\)", "{\"a\": \"NaN\\"})
    EXPECT_EQ(WithQuotedNumbers(text), text);
}

}  // namespace
}  // namespace sluice::model
