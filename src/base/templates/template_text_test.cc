#include "base/templates/template_text.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TemplateTextTest, WordsAreReplacedAndDoubledBracesAreBraces) {
  const TemplateValues values = {{"lr", "0.1"}, {"braces", "{lr}"}};
  EXPECT_EQ(Expand("a {lr} b", values), "a 0.1 b");
  EXPECT_EQ(Expand("{{lr}} {lr}", values), "{lr} 0.1");
  EXPECT_EQ(Expand("{braces}", values), "{lr}") << "a value is not expanded again";
  EXPECT_EQ(Expand("x{unknown}y", values), "xy");
  EXPECT_EQ(Expand("", values), "");
}

TEST(TemplateTextTest, ATextHasItsValuesOrLacksOne) {
  EXPECT_TRUE(HasValues("{a}-{b}", {{"a", ""}, {"b", "1"}}));
  EXPECT_FALSE(HasValues("{a}-{b}", {{"a", ""}}));
  EXPECT_TRUE(HasValues("{{b}}", {}));
}

TEST(TemplateTextTest, WordsAreListedInOrder) {
  EXPECT_THAT(WordsIn("{b} {{c}} {a}{b}"), ElementsAre("b", "a", "b"));
  EXPECT_THAT(WordsIn("{ {"), IsEmpty());
  EXPECT_TRUE(HasWord("x{lr}", "lr"));
  EXPECT_FALSE(HasWord("x{{lr}}", "lr"));
}

TEST(TemplateTextTest, AnEscapedTextExpandsToItself) {
  for (const char* text : {"", "{}", "{\"a\":{\"b\":1}}", "}{", "{{x}}", "{lr}"})
    EXPECT_EQ(Expand(EscapeTemplate(text), {{"lr", "0.1"}}), text);
}

TEST(TemplateTextTest, ALoneBraceIsAPieceOfItsOwn) {
  std::string_view rest = "{a{b}";
  EXPECT_EQ(TakePiece(rest).kind, TemplatePiece::Kind::kLoneBrace);
  EXPECT_EQ(TakePiece(rest).text, "a");
  const TemplatePiece word = TakePiece(rest);
  EXPECT_EQ(word.kind, TemplatePiece::Kind::kWord);
  EXPECT_EQ(word.text, "b");
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace sluice
