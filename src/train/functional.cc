#include "train/functional.h"

#include <algorithm>
#include <utility>

namespace sluice::train {
namespace {

struct OutForm {
  std::string_view name;
  std::string_view functional;
};
// Operators that write into an argument, where the functional one has another overload.
constexpr OutForm kOutForms[] = {
    {"aten.add.out", "aten.add.Tensor"},
    {"aten.bernoulli_.float", "aten.bernoulli.p"},
    {"aten.div.out", "aten.div.Tensor"},
    {"aten.mul.out", "aten.mul.Tensor"},
    {"aten.normal_.default", "aten.normal_functional.default"},
    {"aten.pow.Tensor_Scalar_out", "aten.pow.Tensor_Scalar"},
    {"aten.sub.out", "aten.sub.Tensor"},
};

// They take a generator, which is left out: their numbers are drawn by rules of this room alone
// (rules/random.cc).
constexpr std::string_view kDrawnHere[] = {
    "bernoulli",         "cauchy", "exponential", "geometric", "log_normal",
    "normal_functional", "random", "rrelu",       "uniform",
};

// Takes and returns tensors and numbers, and writes none of them.
bool IsFunctional(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.alias_info() && argument.alias_info()->isWrite()) return false;
    const std::string type = argument.type()->str();
    if (type.find("Generator") != std::string::npos || type.find("Storage") != std::string::npos ||
        type.find("Stream") != std::string::npos || type.find("Dimname") != std::string::npos)
      return false;
  }
  for (const c10::Argument& result : schema.returns()) {
    const std::string type = result.type()->str();
    if (type != "Tensor" && type != "Tensor[]") return false;
  }
  return !schema.returns().empty();
}

}  // namespace

FoundOperator FindFunctional(std::string_view name) {
  FoundOperator found;
  const OutForm* form = std::ranges::find(kOutForms, name, &OutForm::name);
  const bool listed = form != std::end(kOutForms);
  if (listed) {
    found.written = name.ends_with("out") ? "out" : "self";
    name = form->functional;
  }
  if (!name.starts_with("aten.")) return found;
  const std::size_t dot = name.rfind('.');
  if (dot < 5) return found;
  std::string base(name.substr(5, dot - 5));
  std::string overload(name.substr(dot + 1));
  if (overload == "default") overload.clear();
  if (base.ends_with('_') && !base.ends_with("__")) {
    base.pop_back();
    found.written = "self";
  }
  if (!std::binary_search(kFunctionalNames, kFunctionalNames + kFunctionalCount,
                          std::string_view(base)))
    return found;
  auto op = c10::Dispatcher::singleton().findSchema({"aten::" + base, overload});
  const bool drawn = std::ranges::find(kDrawnHere, base) != std::end(kDrawnHere);
  if (op && (drawn || IsFunctional(op->schema()))) found.op = op;
  return found;
}

}  // namespace sluice::train
