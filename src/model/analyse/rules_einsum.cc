#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// The letters of an operand. The ellipsis "..." becomes a single '.'.
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

// The result of an equation without "->": the ellipsis, then the letters that occur once, in
// alphabetical order.
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

void Einsum(const Step& step, Inference& inference) {
  const Equation equation = Parse(step.Text("equation"));
  const std::vector<Shape> operands = step.Tensors("tensors");
  const std::vector<std::optional<ValueId>> values = step.ValuesOf("tensors");
  if (equation.operands.size() != operands.size())
    inference.Fail("expected as many terms in the equation as there are tensors");
  std::array<std::optional<Dim>, 128> dims{};
  Shape ellipsis;
  for (std::size_t o = 0; o < operands.size() && inference.ok(); ++o) {
    const std::string& letters = equation.operands[o];
    const Shape& shape = operands[o];
    const auto dots = static_cast<std::size_t>(std::ranges::count(letters, '.'));
    if (dots > 1 || letters.size() - dots > shape.size() ||
        (dots == 0 && letters.size() != shape.size())) {
      inference.Fail("the equation does not match the dimensions of the tensors");
      return;
    }
    std::size_t at = 0;
    for (const char letter : letters) {
      if (letter == '.') {
        const std::size_t covers = shape.size() - (letters.size() - 1);
        const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(at);
        ellipsis = inference.Broadcast(ellipsis,
                                       Shape(begin, begin + static_cast<std::ptrdiff_t>(covers)));
        at += covers;
        continue;
      }
      if (std::isalpha(static_cast<unsigned char>(letter)) == 0) {
        inference.Fail("expected letters in the equation");
        return;
      }
      std::optional<Dim>& dim = dims[static_cast<std::size_t>(letter)];
      const Dim here = shape[at++];
      if (dim && inference.SizeOf(*dim) != 1 && inference.SizeOf(here) != 1) {
        inference.Unify(*dim, here);
      } else if (!dim || inference.SizeOf(*dim) == 1) {
        dim = here;
      }
    }
  }
  if (!inference.ok()) return;
  const std::string result = equation.result.value_or(ImplicitResult(equation));
  Shape out;
  for (const char letter : result) {
    if (letter == '.') {
      out.insert(out.end(), ellipsis.begin(), ellipsis.end());
    } else if (const auto& dim = dims[static_cast<std::size_t>(letter) & 127]) {
      out.push_back(*dim);
    } else {
      inference.Fail("the result has a letter that no term has");
    }
  }
  // Weights are summed up along the letters that the result does not have.
  std::string kept = result;  // letters of the result and of weights
  std::vector<std::string> active;
  std::vector<ValueId> terms;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const std::string& letters = equation.operands[o];
    if (inference.IsActivation(*values[o])) {
      active.push_back(letters);
      terms.push_back(*values[o]);
      continue;
    }
    std::vector<std::size_t> contracted;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (letters[i] == '.') break;  // after the ellipsis, a letter's position is not its axis
      if (result.find(letters[i]) == std::string::npos) contracted.push_back(i);
    }
    inference.AddUse(*values[o], contracted);
    kept += letters;
  }
  // A dimension is a head if all activations have it and it is not summed up among them. The other
  // dimensions are inside of a head.
  std::vector<Dim> heads;
  std::vector<Dim> inner;
  std::optional<Dim> summed;
  for (char letter = 'A'; letter <= 'z' && active.size() > 1; ++letter) {
    const std::optional<Dim>& dim = dims[static_cast<std::size_t>(letter)];
    const auto has = [&](const std::string& term) {
      return term.find(letter) != std::string::npos;
    };
    const auto count = std::ranges::count_if(active, has);
    if (!dim || count == 0) continue;
    if (count == std::ssize(active) && has(kept)) {
      heads.push_back(*dim);
      continue;
    }
    inner.push_back(*dim);
    inference.Raise(*dim, Dims::Rank::kInner);
    if (count > 1 && !has(kept)) summed = dim;
  }
  if (summed) inference.AddContraction({.dim = *summed, .heads = heads, .inner = inner}, terms);
  inference.SetOutput(std::move(out));
}

}  // namespace sluice::model
