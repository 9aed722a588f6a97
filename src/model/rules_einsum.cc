#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "model/rules.h"

namespace sluice::model {
namespace {

// The letters of an operand; "..." is a single '.'.
std::string LettersOf(std::string_view term) {
  std::string letters;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, 3) == "...") i += 2;
    letters += term[i];
  }
  return letters;
}

struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Equation Parse(std::string_view text) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  if (arrow != std::string_view::npos) equation.result = LettersOf(text.substr(arrow + 2));
  text = text.substr(0, arrow);
  while (true) {
    const std::size_t comma = text.find(',');
    equation.operands.push_back(LettersOf(text.substr(0, comma)));
    if (comma == std::string_view::npos) return equation;
    text.remove_prefix(comma + 1);
  }
}

// Those that occur once, in the order of the alphabet.
std::string ImplicitResult(const Equation& equation) {
  std::array<int, 128> counts{};
  bool ellipsis = false;
  for (const std::string& operand : equation.operands) {
    for (const char letter : operand) {
      if (letter == '.') ellipsis = true;
      if (std::isalpha(static_cast<unsigned char>(letter)) != 0)
        ++counts[static_cast<std::size_t>(letter)];
    }
  }
  std::string result = ellipsis ? "." : "";
  for (char letter = 'A'; letter <= 'z'; ++letter)
    if (counts[static_cast<std::size_t>(letter)] == 1) result += letter;
  return result;
}

}  // namespace

void Einsum(Step& step) {
  const Equation equation = Parse(step.Text("equation"));
  const std::vector<Shape> operands = step.Tensors("tensors");
  const std::vector<std::optional<ValueId>> values = step.Values("tensors");
  if (equation.operands.size() != operands.size())
    step.Wrong("expected as many terms in the equation as there are tensors");
  std::array<std::optional<Dim>, 128> dims{};
  Shape ellipsis;
  bool all_from_input = operands.size() > 1;
  for (std::size_t o = 0; o < operands.size() && step.ok(); ++o) {
    const std::string& letters = equation.operands[o];
    const Shape& shape = operands[o];
    all_from_input = all_from_input && step.IsFromInput(*values[o]);
    const auto dots = static_cast<std::size_t>(std::ranges::count(letters, '.'));
    if (dots > 1 || letters.size() - dots > shape.size() ||
        (dots == 0 && letters.size() != shape.size())) {
      step.Wrong("the equation does not go with the dimensions of the tensors");
      return;
    }
    std::size_t at = 0;
    for (const char letter : letters) {
      if (letter == '.') {
        const std::size_t covers = shape.size() - (letters.size() - 1);
        const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(at);
        ellipsis =
            step.Broadcast(ellipsis, Shape(begin, begin + static_cast<std::ptrdiff_t>(covers)));
        at += covers;
        continue;
      }
      if (std::isalpha(static_cast<unsigned char>(letter)) == 0) {
        step.Wrong("expected letters in the equation");
        return;
      }
      std::optional<Dim>& dim = dims[static_cast<std::size_t>(letter)];
      const Dim here = shape[at++];
      if (dim && step.SizeOf(*dim) != 1 && step.SizeOf(here) != 1) {
        step.Same(*dim, here);
      } else if (!dim || step.SizeOf(*dim) == 1) {
        dim = here;
      }
    }
  }
  if (!step.ok()) return;
  const std::string result = equation.result.value_or(ImplicitResult(equation));
  Shape out;
  for (const char letter : result) {
    if (letter == '.') {
      out.insert(out.end(), ellipsis.begin(), ellipsis.end());
    } else if (const auto& dim = dims[static_cast<std::size_t>(letter) & 127]) {
      out.push_back(*dim);
    } else {
      step.Wrong("the result has a letter that no term has");
    }
  }
  bool sums = false;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    std::vector<std::size_t> contracted;
    for (std::size_t i = 0; i < equation.operands[o].size(); ++i) {
      const char letter = equation.operands[o][i];
      if (letter == '.') break;  // behind it axes are not where letters are
      if (result.find(letter) == std::string::npos) contracted.push_back(i);
      if (result.find(letter) == std::string::npos && all_from_input && !sums) {
        step.ContractsActivations(*dims[static_cast<std::size_t>(letter)]);
        sums = true;
      }
    }
    step.Contracts(*values[o], contracted);
  }
  // Between activations, those that all terms and the result have are heads, the others inside of one.
  for (std::size_t letter = 0; letter < dims.size() && all_from_input; ++letter) {
    if (!dims[letter]) continue;
    const auto has = [&](const std::string& term) {
      return term.find(static_cast<char>(letter)) != std::string::npos;
    };
    if (!has(result) || !std::ranges::all_of(equation.operands, has))
      step.dims().Raise(*dims[letter], Dims::Rank::kInner);
  }
  step.Out(std::move(out));
}

}  // namespace sluice::model
