#include "train/views.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace sluice::train {
namespace {

struct ViewForm {
  std::string_view op;
  bool writable = true;
};
// All of them have a rule. An operand other than the first only tells sizes.
constexpr ViewForm kViewForms[] = {
    {"aten::alias"},
    {"aten::chunk"},
    {"aten::detach", false},
    {"aten::expand", false},
    {"aten::expand_as", false},
    {"aten::mT"},
    {"aten::narrow"},
    {"aten::permute"},
    {"aten::select"},
    {"aten::slice"},
    {"aten::split"},
    {"aten::squeeze"},
    {"aten::split_with_sizes"},
    {"aten::swapaxes"},
    {"aten::swapdims"},
    {"aten::t"},
    {"aten::tensor_split"},
    {"aten::transpose"},
    {"aten::unbind"},
    {"aten::unflatten"},
    {"aten::unsqueeze"},
    {"aten::view"},
    {"aten::view_as"},
};

const ViewForm* FormOf(const c10::FunctionSchema& schema) {
  // The elements of one type as those of another.
  if (schema.overload_name() == "dtype") return nullptr;
  const ViewForm* form = std::ranges::find(kViewForms, schema.name(), &ViewForm::op);
  return form == std::end(kViewForms) ? nullptr : form;
}

}  // namespace

bool Views::Makes(const c10::FunctionSchema& schema) { return FormOf(schema) != nullptr; }

void Views::Add(const Step& step, std::size_t place) {
  if (!step.op || step.written) return;
  const ViewForm* form = FormOf(step.op->schema());
  if (!form || step.operands[0].kind != Operand::Kind::kValue) return;
  for (std::size_t i = 0; i < step.outputs.size(); ++i)
    if (step.outputs[i])
      made_[*step.outputs[i]] = {step.operands[0].value, place, i, form->writable};
}

std::vector<Views::Made> Views::ChainOf(Register value) const {
  std::vector<Made> chain;
  for (auto at = made_.find(value); at != made_.end(); at = made_.find(at->second.of))
    chain.push_back(at->second);
  std::ranges::reverse(chain);
  return chain;
}

Register Views::BaseOf(Register value) const {
  for (auto at = made_.find(value); at != made_.end(); at = made_.find(value))
    value = at->second.of;
  return value;
}

void ReturnPlaces(Call& call) {
  const Value& x = call.Tensor(0);
  const Sizes sizes = x.sizes();
  call.Return(Shared(
      at::arange(c10::multiply_integers(sizes), x.tensor.options().dtype(at::kLong)).view(sizes)));
}

void PutBack(Call& call) {
  const Value& whole = call.Tensor(0);
  const Value& part = call.Tensor(1);
  const at::Tensor places = OfTrial(call.Tensor(2), 0).flatten();
  const bool stacked = whole.stacked() || part.stacked();
  const std::int64_t rows = stacked ? call.trials() : 1;
  const auto in_rows = [&](const Value& value) {
    return (stacked ? At(value, 0, rows) : value.tensor).reshape({rows, -1});
  };
  Sizes sizes = whole.sizes();
  if (stacked) sizes.insert(sizes.begin(), rows);
  at::Tensor y = in_rows(whole).index_copy(1, places, in_rows(part)).view(sizes);
  call.Return(stacked ? Stacked(std::move(y)) : Shared(std::move(y)));
}

}  // namespace sluice::train
