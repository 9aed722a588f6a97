#include "model/analyse/size_formula.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"

namespace sluice::model {
namespace {

constexpr int kMaxFormulaDepth = 32;

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Parses NAME(ARGUMENT, ...), where an argument is another such term, a number, 'TEXT' or KEY=WORD.
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : rest_(text) {}

  std::optional<std::string> All() {
    auto read = Term(0);
    return rest_.empty() && read != "" ? read : std::nullopt;
  }

 private:
  bool Take(char c) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string Word() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    std::size_t length = rest_.starts_with('-') ? 1 : 0;
    while (length < rest_.size() && IsWordChar(rest_[length])) ++length;
    std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return word;
  }
  std::optional<std::string> Term(int depth) {
    if (depth > kMaxFormulaDepth) return std::nullopt;
    if (Take('\'')) {
      const std::size_t end = rest_.find('\'');
      if (end == std::string_view::npos) return std::nullopt;
      std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return text;
    }
    std::string name = Word();
    if (name.empty()) return std::nullopt;
    if (Take('=')) return Word().empty() ? std::nullopt : std::optional<std::string>("");
    if (!Take('(')) return name;
    std::vector<std::string> parts;
    while (!Take(')')) {
      if (!parts.empty() && !Take(',')) return std::nullopt;
      auto part = Term(depth + 1);
      if (!part) return std::nullopt;
      parts.push_back(*std::move(part));
    }
    std::erase(parts, "");
    if (parts.empty()) return std::nullopt;
    if (name == "Symbol" || name == "Integer") return parts.front();
    if (name == "Mul") return Join(parts, "*");
    if (name == "Add") return "(" + Join(parts, " + ") + ")";
    return name + "(" + Join(parts) + ")";
  }

  std::string_view rest_;
};

}  // namespace

std::string ReadableFormula(std::string_view formula) {
  return FormulaParser(formula).All().value_or(std::string(formula));
}

bool IsSymbolName(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text, IsWordChar);
}

}  // namespace sluice::model
