#include "space/condition_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxConstraints = 1000;

// An expression and its place in the file.
struct ExpressionAt {
  std::string text;
  ConfigNode node;
};

// A value of another parameter, as an expression writes it.
std::optional<std::string> ReadValue(const ConfigNode& node) {
  const auto value = node.Value();
  if (!value) return std::nullopt;
  return QuotedValue(*value);
}

// "optimizer == 'sgd'", or "optimizer in ['sgd', 'adam']"
std::optional<std::string> ReadEquality(const std::string& name, const ConfigNode& node) {
  if (!node.is_list()) {
    const auto value = ReadValue(node);
    return value ? std::optional(fmt::format("{} == {}", QuotedName(name), *value)) : std::nullopt;
  }
  const auto items = node.List();
  if (!items) return std::nullopt;
  if (items->empty()) {
    node.Expected("a value or a list of some");
    return std::nullopt;
  }
  std::vector<std::string> values;
  for (const ConfigNode& item : *items) {
    auto value = ReadValue(item);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return fmt::format("{} in [{}]", QuotedName(name), Join(values));
}

std::vector<ExpressionAt> ReadConstraints(const ConfigNode& node) {
  std::vector<ExpressionAt> constraints;
  const auto add = [&](const ConfigNode& item) {
    if (auto text = item.is_scalar() ? item.Text() : std::nullopt; text && !text->empty()) {
      constraints.push_back({std::move(*text), item.Named(node.path())});
    } else {
      item.Named(node.path()).Expected("an expression such as lr * momentum < 0.5");
    }
  };
  const auto items = node.is_list() ? node.List() : std::nullopt;
  if (!items) {
    add(node);
    return constraints;
  }
  if (items->size() > kMaxConstraints) {
    node.Report(
        fmt::format("expected at most {} constraints, found {}", kMaxConstraints, items->size()));
    return constraints;
  }
  for (const ConfigNode& item : *items) add(item);
  return constraints;
}

// Reports each text that is not a valid expression about these parameters. True if all are
// expressions.
bool CheckExpressions(const std::vector<ExpressionAt>& expressions,
                      const std::vector<Parameter>& parameters) {
  // Looking for the nearest word costs time, and a user does not read the hundredth suggestion.
  constexpr int kMaxProblems = 20;
  const Symbols symbols(parameters);
  int problems = 0;
  for (const auto& [text, node] : expressions) {
    const auto parsed = Expression::Parse(text, symbols);
    if (parsed) continue;
    node.Report(fmt::format("'{}': {}", Shown(text), parsed.error().message));
    if (++problems == kMaxProblems) break;
  }
  return problems == 0;
}

// Reports a circle of conditions at the parameter whose name begins the message.
void ReportFor(const std::vector<DescribedParameter>& parameters, const std::string& message) {
  for (const auto& [parameter, when] : parameters) {
    if (when && message.starts_with(parameter.name + ": ")) return when->Named("").Report(message);
  }
  SLUICE_CHECK(false, "parameters that are good by themselves fail together by their conditions");
}

}  // namespace

std::optional<std::string> ReadCondition(const ConfigNode& node) {
  if (node.is_scalar()) {
    auto text = node.Text();
    if (text && text->empty()) {
      node.Expected("an expression such as optimizer == 'sgd'");
      return std::nullopt;
    }
    return text;
  }
  const auto map = node.is_map() ? node.Map() : std::nullopt;
  if (!map || map->entries().empty()) {
    node.Expected("an expression such as optimizer == 'sgd', or a map such as {optimizer: sgd}");
    return std::nullopt;
  }
  std::vector<std::string> parts;
  for (const auto& [name, value] : map->entries()) {
    auto part = ReadEquality(name, value);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return Join(parts, " and ");
}

std::optional<Space> AssembleSpace(const std::vector<DescribedParameter>& parameters,
                                   const ConfigNode* constraints) {
  std::vector<Parameter> all;
  std::vector<ExpressionAt> expressions;
  for (const auto& [parameter, when] : parameters) {
    all.push_back(parameter);
    if (when) expressions.push_back({parameter.when, when->Named(parameter.name + ".when")});
  }
  std::vector<std::string> texts;
  if (constraints != nullptr) {
    for (ExpressionAt& constraint : ReadConstraints(*constraints)) {
      texts.push_back(constraint.text);
      expressions.push_back(std::move(constraint));
    }
  }
  if (!CheckExpressions(expressions, all)) return std::nullopt;
  auto space = Space::Make(std::move(all), std::move(texts));
  if (space) return std::move(*space);
  ReportFor(parameters, space.error().message);
  return std::nullopt;
}

}  // namespace sluice
