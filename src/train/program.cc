#include "train/program.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <span>

#include "train/failure.h"
#include "train/tensor_bound.h"

namespace sluice::train {
namespace {

// The settings of a run, and those that regions of a graph change. They are of the thread, and are
// put back at the end.
class RunSettings {
 public:
  RunSettings(at::DeviceType device, std::optional<at::ScalarType> autocast)
      : device_(device),
        outer_gradients_(at::GradMode::is_enabled()),
        outer_autocast_(at::autocast::is_autocast_enabled(device)),
        outer_type_(at::autocast::get_autocast_dtype(device)),
        autocast_(autocast.has_value()) {
    if (autocast && *autocast != outer_type_) at::autocast::set_autocast_dtype(device_, *autocast);
    // Casts of parameters are kept until the outermost of these ends.
    at::autocast::increment_nesting();
    Leave();
  }
  ~RunSettings() {
    at::GradMode::set_enabled(outer_gradients_);
    SetAutocast(outer_autocast_);
    if (at::autocast::get_autocast_dtype(device_) != outer_type_)
      at::autocast::set_autocast_dtype(device_, outer_type_);
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  RunSettings(const RunSettings&) = delete;
  RunSettings& operator=(const RunSettings&) = delete;

  void Enter(const model::Region& region) {
    at::GradMode::set_enabled(outer_gradients_ && !region.no_grad);
    SetAutocast(region.autocast_device.empty() ? autocast_ : region.autocast_enabled);
  }
  void Leave() {
    at::GradMode::set_enabled(outer_gradients_);
    SetAutocast(autocast_);
  }

 private:
  void SetAutocast(bool on) {
    if (at::autocast::is_autocast_enabled(device_) != on)
      at::autocast::set_autocast_enabled(device_, on);
  }

  at::DeviceType device_;
  bool outer_gradients_;
  bool outer_autocast_;
  at::ScalarType outer_type_;
  bool autocast_;
};

// All operands are shared: the operator is called once, and so are its results.
void CallOnce(Call& call) {
  auto& stack = call.BoxedAll();
  call.Invoke(stack);
  for (c10::IValue& each : stack) {
    if (each.isTensorList()) {
      for (at::Tensor& tensor : each.toTensorVector()) call.Return(Shared(std::move(tensor)));
    } else {
      call.Return(Shared(std::move(each).toTensor()));
    }
  }
}

// Puts what an operator that writes in place has computed where it writes.
void Write(Value& target, Value result) {
  const at::ScalarType type = target.tensor.scalar_type();
  if (result.tensor.scalar_type() != type) result.tensor = result.tensor.to(type);
  target = std::move(result);
}

void Store(const Step& step, Call& call, std::span<Value> registers) {
  if (step.written) {
    TORCH_CHECK(call.results.size() == 1, "expected one result to write in place");
    Write(registers[*step.written], std::move(call.results[0]));
    return;
  }
  TORCH_CHECK(call.results.size() >= step.outputs.size(), "expected ", step.outputs.size(),
              " results, found ", call.results.size());
  for (std::size_t i = 0; i < step.outputs.size(); ++i)
    if (step.outputs[i]) registers[*step.outputs[i]] = std::move(call.results[i]);
}

void RunStep(const Step& step, const Call::Context& context) {
  Call call(step, context);
  if (!step.always_acts && !call.AnyStacked()) {
    CallOnce(call);
  } else if (step.action) {
    step.action(call);
  } else if (step.vmap) {
    call.CallByVmap();
  } else {
    call.Loop();
  }
  for (const Value& each : call.results) CheckBound(each.tensor);
  Store(step, call, context.registers);
  for (const Register each : step.freed) context.registers[each] = {};
}

// Whether an operand of the step holds NaN or infinity. That below all numbers does not count: it
// stands for what a mask hides.
bool ReadsNoNumber(const Step& step, std::span<const Value> registers) {
  const at::NoGradGuard without_gradients;
  try {
    return std::ranges::any_of(step.reads, [&](Register each) {
      const at::Tensor& tensor = registers[each].tensor;
      return tensor.defined() && tensor.is_floating_point() &&
             !(tensor < std::numeric_limits<double>::infinity()).all().item().toBool();
    });
  } catch (const std::exception&) {
    return false;  // there is no memory to look at them
  }
}

}  // namespace

Status Program::CheckFeed(const Feed& feed) const {
  if (feed.trials < 1) return InvalidArgument("expected at least one trial to run");
  if (feed.inputs.size() != inputs_.size())
    return InvalidArgument(fmt::format("expected {} inputs of the network, found {}",
                                       inputs_.size(), feed.inputs.size()));
  if (feed.parameters.size() != stacked_.size())
    return InvalidArgument(fmt::format("expected {} parameters of the network, found {}",
                                       stacked_.size(), feed.parameters.size()));
  if (draws_ && !feed.draws)
    return InvalidArgument("the network draws random numbers: expected where they come from");
  for (const DropoutRates& each : feed.dropout) {
    const auto node = static_cast<std::size_t>(each.node);
    if (!std::ranges::binary_search(dropout_, each.node))
      return InvalidArgument(fmt::format(
          "expected rates for nodes that drop something, found them for node {}", node));
    if (each.of_trials.size() != static_cast<std::size_t>(feed.trials))
      return InvalidArgument(fmt::format("dropout of node {}: expected {} rates, found {}", node,
                                         feed.trials, each.of_trials.size()));
    for (const double rate : each.of_trials)
      if (!(rate >= 0 && rate <= 1))
        return InvalidArgument(
            fmt::format("dropout of node {}: expected rates from 0 to 1, found {}", node, rate));
  }
  for (std::size_t i = 0; i < feed.inputs.size(); ++i) {
    if (feed.inputs[i].stacked() && !stacked_inputs_[i])
      return InvalidArgument(
          fmt::format("input {}: expected one for all trials, as it was prepared for", i));
    const Value& input = feed.inputs[i];
    if (input.stacked() && input.tensor.size(input.axis) != feed.trials)
      return InvalidArgument(fmt::format("input {}: expected {} trials, found {}", i, feed.trials,
                                         input.tensor.size(input.axis)));
  }
  for (const Given& each : parameters_) {
    const at::Tensor& tensor = feed.parameters[each.place];
    if (!tensor.defined())
      return InvalidArgument(fmt::format("parameter {}: expected a tensor", each.place));
    if (stacked_[each.place] && (tensor.dim() < 1 || tensor.size(0) != feed.trials))
      return InvalidArgument(fmt::format("parameter {}: expected {} trials in its first dimension",
                                         each.place, feed.trials));
  }
  return {};
}

Result<Outcome> Program::Run(const Feed& feed) const {
  SLUICE_TRY(CheckFeed(feed));
  std::vector<Value> registers(registers_);
  std::vector<std::uint32_t> looped;
  for (const Constant& each : constants_) registers[each.into] = each.value;
  for (const Given& each : parameters_)
    registers[each.into] = stacked_[each.place] ? Stacked(feed.parameters[each.place])
                                                : Shared(feed.parameters[each.place]);
  for (const Given& each : inputs_) registers[each.into] = feed.inputs[each.place];

  std::vector<c10::IValue> stack;
  const Call::Context context{.registers = registers,
                              .trials = feed.trials,
                              .draws = feed.draws,
                              .dropout = feed.dropout,
                              .looped = &looped,
                              .stack = &stack};
  RunSettings settings(device_.type(), autocast_);
  std::optional<std::uint32_t> region;
  std::size_t at = 0;
  try {
    for (; at < steps_.size(); ++at) {
      const Step& step = steps_[at];
      if (step.region != region) {
        region = step.region;
        if (region) {
          settings.Enter(regions_[*region]);
        } else {
          settings.Leave();
        }
      }
      if (feed.watch) feed.watch->Begins(step.nodes.front());
      RunStep(step, context);
      if (feed.watch) feed.watch->Ends(step.nodes.front());
    }
  } catch (const std::exception& error) {
    auto failure = FailureOf(error, where_[at]);
    if (failure.error().code == ErrorCode::kInvalidArgument && ReadsNoNumber(steps_[at], registers))
      failure.error().code = ErrorCode::kFailedPrecondition;
    return failure;
  }
  settings.Leave();

  Outcome outcome;
  for (const Register each : outputs_) outcome.outputs.push_back(registers[each]);
  for (const Given& each : written_)
    outcome.written.emplace_back(each.place, At(registers[each.into], 0, feed.trials));
  for (const std::uint32_t node : looped) outcome.looped.push_back(model::NodeId{node});
  return outcome;
}

}  // namespace sluice::train
