#include "search/sampler.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "search/samplers/bohb.h"
#include "search/samplers/grid.h"
#include "search/samplers/random.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"

namespace sluice {
namespace {

using Made = Result<std::unique_ptr<Sampler>>;

struct SamplerKind {
  const char* name;
  Made (*make)(const SamplerSpec& spec, const Space& space, std::uint64_t seed);
};

constexpr std::array kKinds = {
    SamplerKind{"random",
                [](const SamplerSpec&, const Space& space, std::uint64_t seed) -> Made {
                  return std::make_unique<RandomSampler>(space, seed);
                }},
    SamplerKind{"grid",
                [](const SamplerSpec&, const Space& space, std::uint64_t) -> Made {
                  return GridSampler::Make(space);
                }},
    SamplerKind{"sobol",
                [](const SamplerSpec&, const Space& space, std::uint64_t seed) -> Made {
                  return std::make_unique<SobolSampler>(space, seed);
                }},
    SamplerKind{"tpe",
                [](const SamplerSpec& spec, const Space& space, std::uint64_t seed) -> Made {
                  return std::make_unique<TpeSampler>(spec, space, seed);
                }},
    SamplerKind{"bohb",
                [](const SamplerSpec& spec, const Space& space, std::uint64_t seed) -> Made {
                  return std::make_unique<BohbSampler>(spec, space, seed);
                }},
};

}  // namespace

const std::vector<std::string>& SamplerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const SamplerKind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

bool Learns(std::string_view sampler) {
  return sampler != "random" && sampler != "grid" && sampler != "sobol";
}

Result<std::unique_ptr<Sampler>> MakeSampler(const SamplerSpec& spec, const Space& space,
                                             std::uint64_t seed) {
  for (const SamplerKind& kind : kKinds) {
    if (spec.name == kind.name) return kind.make(spec, space, seed);
  }
  return NotFound(fmt::format("expected one of the samplers {}, found '{}'{}", Join(SamplerNames()),
                              spec.name, DidYouMean(spec.name, SamplerNames())));
}

}  // namespace sluice
