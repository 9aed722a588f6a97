#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "train/aliases.h"
#include "train/arguments.h"
#include "train/failure.h"
#include "train/fallback/trial_choice.h"
#include "train/functional.h"
#include "train/numbers.h"
#include "train/program.h"
#include "train/rules/rules.h"
#include "train/views.h"

namespace sluice::train {

int Signature::Place(std::string_view name) const {
  const auto place = schema.argumentIndexWithName(name);
  return place ? *place : -1;
}

std::vector<int> Signature::Tensors() const {
  std::vector<int> places;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::TypePtr& type = schema.arguments()[i].type();
    const bool optional = type->kind() == c10::TypeKind::OptionalType;
    const c10::TypeKind kind =
        optional ? type->expectRef<c10::OptionalType>().getElementType()->kind() : type->kind();
    if (kind == c10::TypeKind::TensorType) places.push_back(static_cast<int>(i));
  }
  return places;
}

namespace {

// They check what the reader has checked, or say what a run does not need.
constexpr std::array<std::string_view, 6> kSkipped = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._assert_async.default",
};

struct Replacement {
  std::string_view op;
  std::string_view by;
};
// Memory that has not been written would make runs differ.
constexpr Replacement kZeroed[] = {
    {"aten.empty.memory_format", "aten.zeros.default"},
    {"aten.empty_like.default", "aten.zeros_like.default"},
    {"aten.new_empty.default", "aten.new_zeros.default"},
};

// What a batch norm writes, although its schema does not say so.
constexpr std::array<std::string_view, 2> kRunningStatistics = {"running_mean", "running_var"};

std::string NameOfNode(const model::Node& node) {
  return node.label.empty() ? fmt::format("node '{}' ({})", node.name, node.op)
                            : fmt::format("node '{}' ({} in '{}')", node.name, node.op, node.label);
}

}  // namespace

// Makes the steps of a program, node by node.
class Preparation {
 public:
  Preparation(const model::Graph& graph, const ProgramOptions& options)
      : graph_(graph),
        options_(options),
        aliases_(graph),
        memory_(graph),
        registers_(graph.values.size()),
        differs_(graph.values.size()),
        sources_{options_, [this](model::ValueId id) { return RegisterOf(id); },
                 [this](Value value) {
                   const Register into = NewRegister();
                   made_.constants_.push_back({into, std::move(value)});
                   return into;
                 }} {}

  Result<Program> Make() && {
    PlaceGivenValues();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto added = Add(i);
      if (!added)
        return Fail(added.error().code,
                    fmt::format("{}: {}", NameOfNode(graph_.nodes[i]), added.error().message));
    }
    for (const model::ValueId output : graph_.outputs) {
      if (!known_.contains(model::Index(output)))
        return InvalidArgument(
            fmt::format("the output '{}' is computed by no node", graph_.value(output).name));
      made_.outputs_.push_back(RegisterOf(output));
    }
    FreeAfterLastUse();
    for (const DropoutNode& each : DropoutNodes(graph_)) made_.dropout_.push_back(each.node);
    made_.regions_ = graph_.regions;
    made_.device_ = options_.device;
    made_.autocast_ = options_.autocast;
    return std::move(made_);
  }

 private:
  Register NewRegister() { return static_cast<Register>(made_.registers_++); }

  Register RegisterOf(model::ValueId id) {
    auto& place = registers_[model::Index(id)];
    if (!place) place = NewRegister();
    return *place;
  }

  void PlaceGivenValues() {
    FindWritten();
    const std::size_t count = graph_.parameters.size();
    made_.stacked_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const model::Parameter& parameter = graph_.parameters[i];
      known_[model::Index(parameter.value)] = true;
      if (parameter.tied_to) {
        const model::Parameter& first = graph_.parameters[*parameter.tied_to];
        registers_[model::Index(parameter.value)] = RegisterOf(first.value);
        aliases_.Join(parameter.value, first.value);
        made_.stacked_[i] = made_.stacked_[*parameter.tied_to];
        continue;
      }
      made_.stacked_[i] =
          parameter.trainable || IsWritten(parameter.value) ||
          (i < options_.stacked_parameters.size() && options_.stacked_parameters[i]);
      made_.parameters_.push_back({i, RegisterOf(parameter.value)});
      by_register_[RegisterOf(parameter.value)] = i;
    }
    for (std::size_t i = 0; i < count; ++i)
      differs_[model::Index(graph_.parameters[i].value)] = made_.stacked_[i];
    made_.stacked_inputs_ = options_.stacked_inputs;
    made_.stacked_inputs_.resize(graph_.inputs.size());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      known_[model::Index(graph_.inputs[i])] = true;
      made_.inputs_.push_back({i, RegisterOf(graph_.inputs[i])});
      differs_[model::Index(graph_.inputs[i])] = made_.stacked_inputs_[i];
    }
  }

  // What nodes write: under these names, or as other values in the same memory.
  void FindWritten() {
    for (const model::Parameter& each : graph_.parameters)
      if (each.tied_to) memory_.Join(each.value, graph_.parameters[*each.tied_to].value);
    for (const model::Node& node : graph_.nodes) {
      const FoundOperator found = FindFunctional(node.op);
      if (!found.op) continue;
      memory_.Add(node, found.op->schema());
      for (const model::ValueId target : TargetsOf(node, found.written)) {
        written_.push_back(target);
        for (const auto& output : node.outputs)
          if (output && !found.written.empty()) memory_.Join(*output, target);
      }
    }
  }
  bool IsWritten(model::ValueId value) const {
    return std::ranges::any_of(written_,
                               [&](model::ValueId each) { return memory_.MayShare(each, value); });
  }

  // The tensors that a node writes: the argument of this name, and running statistics.
  static std::vector<model::ValueId> TargetsOf(const model::Node& node, std::string_view argument) {
    std::vector<model::ValueId> targets;
    const auto add = [&](std::string_view name) {
      const model::Argument* found = model::Find(node, name);
      const auto* target = found ? std::get_if<model::ValueId>(&found->value) : nullptr;
      if (target) targets.push_back(*target);
    };
    if (!argument.empty()) add(argument);
    if (WritesStatistics(node)) std::ranges::for_each(kRunningStatistics, add);
    return targets;
  }

  static bool WritesStatistics(const model::Node& node) {
    if (node.op != "aten.batch_norm.default" && node.op != "aten.instance_norm.default")
      return false;
    const model::Argument* own =
        model::Find(node, node.op == "aten.batch_norm.default" ? "training" : "use_input_stats");
    const bool* flag = own ? std::get_if<bool>(&own->value) : nullptr;
    return flag && *flag;
  }

  Status Add(std::size_t at) {
    const model::Node& node = graph_.nodes[at];
    Status defined;
    model::ForEachOperand(node, [&](model::ValueId value) {
      if (!known_.contains(model::Index(value)))
        defined = InvalidArgument(fmt::format("its operand '{}' is computed by no node before it",
                                              graph_.value(value).name));
    });
    SLUICE_TRY(std::move(defined));
    if (std::ranges::find(kSkipped, node.op) != kSkipped.end()) return {};
    Step step;
    step.nodes = {model::NodeId{static_cast<std::uint32_t>(at)}};
    step.region = node.region;
    step.returns_list = node.returns_list;
    NumberRule number = NumberRuleOf(node.op);
    if (number.action) {
      SLUICE_ASSIGN(step.operands, NumberOperandsOf(node, sources_));
      if (step.operands.size() != number.operands || node.outputs.size() > 1)
        return InvalidArgument(fmt::format("expected {} operands", number.operands));
      step.action = std::move(number.action);
      step.always_acts = true;
      SetOutputs(node, step);
      AddStep(std::move(step));
      return {};
    }
    return AddOperator(node, at, std::move(step));
  }

  void AddStep(Step step) {
    views_.Add(step, made_.steps_.size());
    made_.where_.push_back(NameOfNode(graph_.nodes[model::Index(step.nodes.front())]));
    made_.steps_.push_back(std::move(step));
  }

  Status AddOperator(const model::Node& node, std::size_t at, Step step) {
    std::string_view name = node.op;
    const auto zeroed = std::ranges::find(kZeroed, name, &Replacement::op);
    if (zeroed != std::end(kZeroed)) name = zeroed->by;
    const FoundOperator found = FindFunctional(name);
    if (!found.op)
      return InvalidArgument(
          "expected an operator that takes and returns tensors and numbers and changes nothing "
          "else: the trainer does not call this one");
    step.op = found.op;
    const c10::FunctionSchema& schema = found.op->schema();
    const std::string_view skipped =
        zeroed != std::end(kZeroed) ? "memory_format" : std::string_view(found.written);
    SLUICE_ASSIGN(step.operands,
                  OperandsOf(node, schema, skipped == "self" ? "" : skipped, sources_));
    const Signature signature{*step.op, schema, step.operands};
    const Rule rule = RuleOf(schema.name());
    if (rule) step.action = rule(signature);
    const bool drawn = DrawsNumbers(signature);
    if (drawn && !step.action)
      return InvalidArgument("this form of drawing random numbers is not supported yet");
    // PyTorch has no derivative of the functional copy: the rule has.
    step.always_acts = drawn || WritesStatistics(node) || schema.name() == "aten::copy";
    made_.draws_ = made_.draws_ || drawn;
    const std::vector<model::ValueId> targets = TargetsOf(node, found.written);
    if (!found.written.empty()) {
      if (targets.size() != 1 || node.outputs.size() > 1)
        return InvalidArgument(
            fmt::format("expected a tensor as '{}', to write it", found.written));
      WriteInPlace(node, targets.front(), step);
    }
    aliases_.Add(node, schema);
    SetOutputs(node, step);
    NoteFallback(node, at, step);
    // A view in place gives the tensor other sizes, and what lies in its memory stays.
    const bool reshapes = !found.written.empty() && Views::Makes(schema);
    AddStep(std::move(step));
    for (const model::ValueId target : targets) SLUICE_TRY(FollowWrite(target, at, reshapes));
    return {};
  }

  void WriteInPlace(const model::Node& node, model::ValueId target, Step& step) {
    step.written = RegisterOf(target);
    if (node.outputs.empty() || !node.outputs[0]) return;
    registers_[model::Index(*node.outputs[0])] = step.written;
    aliases_.Join(*node.outputs[0], target);
    // What the tensor is from here on, also by its own name.
    differs_[model::Index(target)] = true;
  }

  // A parameter that is written has its new tensor among what a run returns.
  Status ListWritten(Register target) {
    const auto parameter = by_register_.find(target);
    if (parameter == by_register_.end()) return {};
    const model::Parameter& what = graph_.parameters[parameter->second];
    if (what.trainable)
      return InvalidArgument(
          fmt::format("it writes the parameter '{}', which is trained", what.name));
    const auto listed =
        std::ranges::find(made_.written_, parameter->second, &Program::Given::place);
    if (listed == made_.written_.end()) made_.written_.push_back({parameter->second, target});
    return {};
  }

  // After a step that has written `target`: what it is a view of gets the new numbers too, and the
  // other views of that are made again, as far as they are read later.
  Status FollowWrite(model::ValueId target, std::size_t at, bool reshapes) {
    const Register into = RegisterOf(target);
    const Register base = views_.BaseOf(into);
    SLUICE_TRY(ListWritten(into));
    std::set<std::size_t> again;
    bool seen = false;
    for (const model::ValueId other : aliases_.SeenLater(target, at)) {
      const Register theirs = RegisterOf(other);
      if (theirs == into) continue;
      if (reshapes || views_.BaseOf(theirs) != base)
        return InvalidArgument(
            fmt::format("it writes '{}' in place, which is read later as '{}': write the network "
                        "without this operation in place",
                        graph_.value(target).name, graph_.value(other).name));
      for (const Views::Made& each : views_.ChainOf(theirs)) again.insert(each.step);
      differs_[model::Index(other)] = true;
      seen = true;
    }
    if (!seen) {
      views_.Cut(into);
      return {};
    }
    SLUICE_TRY(PutIntoBase(target, base, at));
    for (const std::size_t each : again) AddStep(Step(made_.steps_[each]));
    return {};
  }

  Status PutIntoBase(model::ValueId target, Register base, std::size_t at) {
    const Register into = RegisterOf(target);
    if (into == base) return {};
    SLUICE_TRY(ListWritten(base));
    Step step;
    step.nodes = {model::NodeId{static_cast<std::uint32_t>(at)}};
    step.region = graph_.nodes[at].region;
    step.always_acts = true;
    const auto act = [&](Action action, std::vector<Register> from, Register result) {
      step.action = std::move(action);
      step.operands.clear();
      for (const Register each : from) step.operands.push_back(OfRegister(each));
      step.outputs = {result};
      AddStep(step);
    };
    // The places of the view's elements are what the view shows of the places of all elements.
    Register places = NewRegister();
    act(ReturnPlaces, {base}, places);
    for (const Views::Made& each : views_.ChainOf(into)) {
      if (!each.writable)
        return InvalidArgument(
            fmt::format("it writes '{}' in place, which is a view that PyTorch does not write "
                        "through in training",
                        graph_.value(target).name));
      Step view = made_.steps_[each.step];
      view.operands[0] = OfRegister(places);
      places = NewRegister();
      for (auto& output : view.outputs) output.reset();
      view.outputs[each.output] = places;
      AddStep(std::move(view));
    }
    act(PutBack, {base, into, places}, base);
    return {};
  }

  void SetOutputs(const model::Node& node, Step& step) {
    for (const auto& output : node.outputs) {
      if (!output) {
        step.outputs.push_back(std::nullopt);
        continue;
      }
      known_[model::Index(*output)] = true;
      step.outputs.push_back(RegisterOf(*output));
    }
  }

  void NoteFallback(const model::Node& node, std::size_t at, Step& step) {
    bool differs = step.always_acts;
    model::ForEachOperand(
        node, [&](model::ValueId value) { differs = differs || differs_[model::Index(value)]; });
    for (const auto& output : node.outputs)
      if (output) differs_[model::Index(*output)] = differs;
    if (!differs || step.action) return;
    const TrialChoice choice =
        ChooseForTrials(step, made_.registers_, [this](Register each) { return ExampleOf(each); });
    step.vmap = choice.vmap;
    const std::string_view rule = RuleOf(step.op->schema().name())
                                      ? "the rule does not cover this form of the operator"
                                      : "the operator has no rule for several trials";
    made_.fallbacks_.push_back({.node = model::NodeId{static_cast<std::uint32_t>(at)},
                                .op = node.op,
                                .why = choice.vmap ? fmt::format("{}: it runs by vmap", rule)
                                                   : fmt::format("{}, and {}", rule, choice.why),
                                .vmap = choice.vmap});
  }

  // What a register may hold when the program runs. Undefined if that is not known.
  Value ExampleOf(Register of) const {
    const auto constant = std::ranges::find(made_.constants_, of, &Program::Constant::into);
    if (constant != made_.constants_.end()) return constant->value;
    for (std::size_t i = 0; i < registers_.size(); ++i)
      if (registers_[i] == of) return RandomOperand(graph_.values[i], differs_[i], of);
    return {};
  }

  void FreeAfterLastUse() {
    std::vector<bool> kept(made_.registers_);
    for (const Register each : made_.outputs_) kept[each] = true;
    for (const Program::Given& each : made_.written_) kept[each.into] = true;
    std::vector<bool> seen = kept;
    for (auto step = made_.steps_.rbegin(); step != made_.steps_.rend(); ++step) {
      const auto use = [&](Register value) {
        if (seen[value]) return;
        seen[value] = true;
        step->freed.push_back(value);
      };
      for (const Operand& operand : step->operands) {
        if (operand.kind == Operand::Kind::kValue) step->reads.push_back(operand.value);
        for (const auto& each : operand.values)
          if (each) step->reads.push_back(*each);
        for (const auto& each : operand.numbers)
          if (each.computed) step->reads.push_back(*each.computed);
      }
      std::ranges::for_each(step->reads, use);
      for (const auto& each : step->outputs)
        if (each) use(*each);
      if (step->written) use(*step->written);
    }
  }

  const model::Graph& graph_;
  const ProgramOptions& options_;
  Aliases aliases_;
  Aliases memory_;                       // the same, of all nodes from the start
  std::vector<model::ValueId> written_;  // what nodes write in place
  Views views_;
  std::vector<std::optional<Register>> registers_;  // of values of the graph
  std::map<std::size_t, bool> known_;               // values that are there by now
  std::map<Register, std::size_t> by_register_;     // parameters, those that are not tied
  std::vector<bool> differs_;                       // values that may be stacked
  ArgumentSources sources_;
  Program made_;
};

Result<Program> Program::Prepare(const model::Graph& graph, const ProgramOptions& options) {
  if (options.stacked_parameters.size() > graph.parameters.size())
    return InvalidArgument(
        fmt::format("expected at most {} parameters that each trial has its own of, found {}",
                    graph.parameters.size(), options.stacked_parameters.size()));
  return Guarded("PyTorch does not take the network",
                 [&] { return Preparation(graph, options).Make(); });
}

}  // namespace sluice::train
