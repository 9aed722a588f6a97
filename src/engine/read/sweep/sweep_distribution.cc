#include "engine/read/sweep/sweep_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"

namespace sluice {
namespace {

constexpr double kReach = 8;                // how far a normal law reaches to each side, in sigmas
constexpr double kMostSteps = 0x1.0p52;     // so that steps and whole values stay exact
constexpr double kLargestWhole = 0x1.0p52;  // the largest quantized value
constexpr double kSlack = 1e-9;             // tolerance for a multiple, relative to q
constexpr std::size_t kMostLogSteps = 1000;

enum class Family { kChoices, kWhole, kRange, kNormal, kBeta };

// What min and max of a range stand for.
enum class Bounds { kValues, kExponents, kNegativeExponents };

struct Distribution {
  std::string name;
  Family family = Family::kRange;
  Law law = Law::kUniform;
  Bounds bounds = Bounds::kValues;
  bool quantized = false;
};

// log(1 / x) is uniform exactly if log(x) is. So an inverse law differs from the plain law only in
// what min and max mean.
const std::vector<Distribution>& Distributions() {
  using enum Law;
  static const auto& all = *new std::vector<Distribution>{
      {"constant", Family::kChoices},
      {"categorical", Family::kChoices},
      {"categorical_w_probabilities", Family::kChoices},
      {"int_uniform", Family::kWhole},
      {"uniform", Family::kRange},
      {"q_uniform", Family::kRange, kUniform, Bounds::kValues, true},
      {"log_uniform", Family::kRange, kLog, Bounds::kExponents},
      {"log_uniform_values", Family::kRange, kLog},
      {"q_log_uniform", Family::kRange, kLog, Bounds::kExponents, true},
      {"q_log_uniform_values", Family::kRange, kLog, Bounds::kValues, true},
      {"inv_log_uniform", Family::kRange, kLog, Bounds::kNegativeExponents},
      {"inv_log_uniform_values", Family::kRange, kLog},
      {"normal", Family::kNormal, kNormal},
      {"q_normal", Family::kNormal, kNormal, Bounds::kValues, true},
      {"log_normal", Family::kNormal, kLogNormal},
      {"q_log_normal", Family::kNormal, kLogNormal, Bounds::kValues, true},
      {"beta", Family::kBeta, kBeta},
      {"q_beta", Family::kBeta, kBeta, Bounds::kValues, true},
  };
  return all;
}

std::vector<std::string> KeysOf(const Distribution& distribution) {
  std::vector<std::string> keys = {"distribution"};
  switch (distribution.family) {
    case Family::kChoices: keys.insert(keys.end(), {"value", "values", "probabilities"}); break;
    case Family::kWhole:
    case Family::kRange: keys.insert(keys.end(), {"min", "max"}); break;
    case Family::kNormal: keys.insert(keys.end(), {"mu", "sigma"}); break;
    case Family::kBeta: keys.insert(keys.end(), {"a", "b"}); break;
  }
  if (distribution.quantized) keys.push_back("q");
  return keys;
}

// k * q. If q has few enough decimals, the product is exact in decimals: 3 * 0.1 gives 0.3.
double Multiple(double k, double q) {
  double scale = 1;
  for (int decimals = 0; decimals <= 15; ++decimals, scale *= 10) {
    const double units = std::round(q * scale);
    if (units / scale != q) continue;
    if (std::abs(k * units) < kMostSteps) return k * units / scale;
    break;
  }
  return k * q;
}

Choice MultipleChoice(double k, double q) {
  const double value = Multiple(k, q);
  if (q == std::floor(q)) return static_cast<std::int64_t>(value);
  return value;
}

class NumbersReader {
 public:
  NumbersReader(const ConfigNode& node, const ConfigMap& map, const std::string& name,
                std::vector<std::string>& notes)
      : node_(node), map_(map), notes_(notes) {
    parameter_.name = name;
  }

  std::optional<Parameter> Read() {
    const auto distribution = FindDistribution();
    if (!distribution) return std::nullopt;
    SLUICE_CHECK(distribution->family != Family::kChoices, "choices are read elsewhere");
    const std::vector<std::pair<std::string, std::string>> foreign = {
        {"mean", "'mu'"},
        {"std", "'sigma'"},
        {"stddev", "'sigma'"},
        {"low", "'min'"},
        {"high", "'max'"},
        {"step", "'q', with a distribution that begins with q_"},
        {"q", "'distribution: q_uniform' where there is a q"},
        {"log", "'distribution: log_uniform_values'"}};
    map_.AllowOnly(KeysOf(*distribution), foreign);
    parameter_.law = distribution->law;
    if (!ReadLaw(*distribution)) return std::nullopt;
    if (distribution->quantized && !Quantize(*distribution)) return std::nullopt;
    return std::move(parameter_);
  }

 private:
  std::optional<Distribution> FindDistribution() {
    const ConfigNode* named = map_.Find("distribution");
    if (named == nullptr) {
      const bool whole = IsWhole("min") && IsWhole("max");
      return Distribution{whole ? "int_uniform" : "uniform",
                          whole ? Family::kWhole : Family::kRange};
    }
    const auto word = ReadSweepDistribution(*named);
    if (!word) return std::nullopt;
    return *std::ranges::find(Distributions(), *word, &Distribution::name);
  }

  // Whether a bound is written as a whole number. False for a missing bound, which is reported
  // later.
  bool IsWhole(std::string_view key) const {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr || !node->is_scalar()) return false;
    const auto value = node->Value();
    return value && std::holds_alternative<std::int64_t>(*value);
  }

  bool ReadLaw(const Distribution& distribution) {
    switch (distribution.family) {
      case Family::kChoices: return false;
      case Family::kWhole: parameter_.kind = ParameterKind::kInt; return ReadRange(distribution);
      case Family::kRange: return ReadRange(distribution);
      case Family::kNormal: return ReadNormal(distribution);
      case Family::kBeta: return ReadBeta();
    }
    return false;
  }

  std::optional<double> Bound(std::string_view key) {
    const ConfigNode* node =
        map_.Require(key, "a number", "give both min and max, or 'values: [...]', or 'value: ...'");
    if (node == nullptr) return std::nullopt;
    if (parameter_.kind != ParameterKind::kInt) return node->Number();
    const auto whole = node->Integer();
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }

  bool ReadRange(const Distribution& distribution) {
    const auto min = Bound("min");
    const auto max = Bound("max");
    if (!min || !max) return false;
    if (!(*min < *max)) {
      node_.Report(fmt::format("expected min < max, found min {} and max {}", *min, *max));
      return false;
    }
    parameter_.low = *min;
    parameter_.high = *max;
    if (distribution.bounds != Bounds::kValues) return ReadExponents(distribution);
    if (distribution.law == Law::kLog && *min <= 0) {
      node_.Report(fmt::format("expected min > 0 for {}, found {}", distribution.name, *min));
      return false;
    }
    return true;
  }

  bool ReadExponents(const Distribution& distribution) {
    const double min = parameter_.low;
    const double max = parameter_.high;
    const bool negative = distribution.bounds == Bounds::kNegativeExponents;
    parameter_.low = std::exp(negative ? -max : min);
    parameter_.high = std::exp(negative ? -min : max);
    if (!(parameter_.low > 0) || !std::isfinite(parameter_.high)) {
      node_.Report(
          fmt::format("expected min and max of {} as exponents of e, from -700 to 700, found {} "
                      "and {}; write {}_values to give the values themselves",
                      distribution.name, min, max, distribution.name));
      return false;
    }
    if (min > 0 && max <= 1) {
      notes_.push_back(fmt::format(
          "{}: min and max of {} are exponents of e, which gives values from {:.6g} to {:.6g}; "
          "write {}_values to give the values themselves",
          parameter_.name, distribution.name, parameter_.low, parameter_.high, distribution.name));
    }
    return true;
  }

  // A number above 0, or `otherwise` if the key is missing. Nothing if the value is something else,
  // which is then reported.
  std::optional<double> Positive(std::string_view key, double otherwise) {
    const ConfigNode* node = map_.Find(key);
    if (node == nullptr) return otherwise;
    const auto value = node->Number();
    if (value && *value <= 0) {
      node->Expected("a number above 0");
      return std::nullopt;
    }
    return value;
  }

  bool ReadNormal(const Distribution& distribution) {
    const ConfigNode* mu_node = map_.Find("mu");
    const auto mu = mu_node != nullptr ? mu_node->Number() : std::optional(0.0);
    const auto sigma = Positive("sigma", 1);
    if (!mu || !sigma) return false;
    parameter_.first = *mu;
    parameter_.second = *sigma;
    parameter_.low = *mu - kReach * *sigma;
    parameter_.high = *mu + kReach * *sigma;
    const bool log = distribution.law == Law::kLogNormal;
    if (log) {
      parameter_.low = std::exp(parameter_.low);
      parameter_.high = std::exp(parameter_.high);
    }
    if (std::isfinite(parameter_.high - parameter_.low) && parameter_.low < parameter_.high &&
        (!log || parameter_.low > 0)) {
      return true;
    }
    node_.Report(fmt::format(
        "expected mu and sigma that keep {} within representable numbers, found mu {} and sigma "
        "{}, which reach from {} to {}",
        distribution.name, *mu, *sigma, parameter_.low, parameter_.high));
    return false;
  }

  bool ReadBeta() {
    const auto a = Positive("a", 1);
    const auto b = Positive("b", 1);
    if (!a || !b) return false;
    parameter_.first = *a;
    parameter_.second = *b;
    parameter_.low = 0;
    parameter_.high = 1;
    return true;
  }

  // Limits the range to the multiples of q in it.
  bool Quantize(const Distribution& distribution) {
    const auto q = Positive("q", 1);
    if (!q) return false;
    const double most = *q >= 1 ? std::floor(kLargestWhole / *q) : kMostSteps / 2;
    double first = std::ceil(parameter_.low / *q - kSlack);
    double last = std::floor(parameter_.high / *q + kSlack);
    if (first > last) {
      if (distribution.family == Family::kRange) {
        node_.Report(fmt::format("expected a multiple of q = {} from {:.6g} to {:.6g}, found none",
                                 *q, parameter_.low, parameter_.high));
        return false;
      }
      // A law narrower than q is rounded to the nearest multiple.
      first = last = std::round((parameter_.low + parameter_.high) / 2 / *q);
    }
    first = std::clamp(first, -most, most) + 0.0;  // + 0.0 turns -0 into 0
    last = std::clamp(last, -most, most) + 0.0;
    if (first == last) {
      Become({MultipleChoice(first, *q)}, {});
      return true;
    }
    if (distribution.law == Law::kLog && *q != 1) {
      QuantizeLog(first, last, *q);
      return true;
    }
    if (*q == std::floor(*q)) parameter_.kind = ParameterKind::kInt;
    parameter_.low = Multiple(first, *q);
    parameter_.high = Multiple(last, *q);
    parameter_.step = *q;
    return true;
  }

  // A log scale has no steps, so the multiples of q become choices in order. Each choice is as
  // likely as the values that round to it. If there are very many multiples, only some become
  // choices, evenly spaced on the log scale.
  void QuantizeLog(double first, double last, double q) {
    const std::vector<double> multiples = LogMultiples(first, last);
    if (static_cast<double>(multiples.size()) < last - first + 1) {
      notes_.push_back(
          fmt::format("{}: of the {} multiples of q = {}, {} are tried, evenly on the log scale",
                      parameter_.name, last - first + 1, q, multiples.size()));
    }
    std::vector<Choice> choices;
    std::vector<double> weights;
    const double whole = std::log(parameter_.high / parameter_.low);
    double begin = parameter_.low;
    for (std::size_t i = 0; i < multiples.size(); ++i) {
      const bool is_last = i + 1 == multiples.size();
      const double end = is_last ? parameter_.high : (multiples[i] + multiples[i + 1]) / 2 * q;
      choices.push_back(MultipleChoice(multiples[i], q));
      weights.push_back(std::log(end / begin) / whole);
      begin = end;
    }
    Become(std::move(choices), std::move(weights));
  }

  static std::vector<double> LogMultiples(double first, double last) {
    std::vector<double> multiples;
    if (last - first < static_cast<double>(kMostLogSteps)) {
      for (double k = first; k <= last; ++k) multiples.push_back(k);
      return multiples;
    }
    const double lowest = std::max(first, 1.0);
    for (std::size_t i = 0; i < kMostLogSteps; ++i) {
      const double part = static_cast<double>(i) / (kMostLogSteps - 1);
      const double k = std::round(lowest * std::pow(last / lowest, part));
      if (multiples.empty() || k > multiples.back()) multiples.push_back(k);
    }
    return multiples;
  }

  void Become(std::vector<Choice> choices, std::vector<double> weights) {
    Parameter ordinal;
    ordinal.name = parameter_.name;
    ordinal.kind = choices.size() == 1 ? ParameterKind::kCategorical : ParameterKind::kOrdinal;
    ordinal.choices = std::move(choices);
    ordinal.weights = std::move(weights);
    parameter_ = std::move(ordinal);
  }

  const ConfigNode& node_;
  const ConfigMap& map_;
  std::vector<std::string>& notes_;
  Parameter parameter_;
};

}  // namespace

std::optional<std::string> ReadSweepDistribution(const ConfigNode& node) {
  static const auto& names = *[] {
    auto* all = new std::vector<std::string>;
    for (const Distribution& distribution : Distributions()) all->push_back(distribution.name);
    return all;
  }();
  // Names of distributions in other tuners, each with W&B's name. The bounds of "loguniform" in
  // other tuners are values, as with log_uniform_values. The bounds of W&B's log_uniform are
  // exponents.
  static const auto& foreign =
      *new std::map<std::string, std::string>{{"loguniform", "log_uniform_values"},
                                              {"log", "log_uniform_values"},
                                              {"reciprocal", "log_uniform_values"},
                                              {"quniform", "q_uniform"},
                                              {"qloguniform", "q_log_uniform_values"},
                                              {"int", "int_uniform"},
                                              {"integer", "int_uniform"},
                                              {"randint", "int_uniform"},
                                              {"float", "uniform"},
                                              {"double", "uniform"},
                                              {"choice", "categorical"},
                                              {"gaussian", "normal"},
                                              {"lognormal", "log_normal"}};
  const auto known = node.is_scalar() ? foreign.find(node.Show()) : foreign.end();
  if (known == foreign.end()) return node.OneOf(names);
  node.Expected("a distribution of W&B", fmt::format("write '{}'", known->second));
  return std::nullopt;
}

std::optional<Parameter> ReadSweepNumbers(const ConfigNode& node, const ConfigMap& map,
                                          const std::string& name,
                                          std::vector<std::string>& notes) {
  return NumbersReader(node, map, name, notes).Read();
}

}  // namespace sluice
