#include "cli/inspect/study_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/study_file.h"
#include "model/loss.h"
#include "model/network.h"
#include "model/shrink/carries_over.h"
#include "model/shrink/shrink.h"

namespace sluice {

std::vector<std::string> WhatDoesNotCarryOver(const Space& space) {
  std::vector<std::string> notes;
  for (const Parameter& parameter : space.parameters()) {
    const std::string why = model::WhyItDoesNotCarryOver(parameter.name);
    if (!why.empty()) notes.push_back(fmt::format("'{}': {}", parameter.name, why));
  }
  return notes;
}

std::string NetworkOf(const ModelSpec& model, const std::string& folder) {
  if (model::IsOfZoo(model.network)) return model.network;
  return (std::filesystem::path(folder) / model.network).lexically_normal().string();
}

Result<std::vector<std::string>> CheckStudyModel(const StudySpec& spec, const std::string& source,
                                                 const std::string& file,
                                                 const std::string& folder) {
  const ModelSpec& said = *spec.model;
  const auto refuse = [&](std::string_view key, const Error& error) {
    const std::string path = fmt::format("model.{}", key);
    return InvalidArgument(
        fmt::format("{}: {}: {}", PlaceOf(source, file, path), path, error.message));
  };
  const auto network = model::OpenNetwork(NetworkOf(said, folder));
  if (!network) return refuse("network", network.error());
  if (const Status fits = model::CheckLoss(network->graph, said.loss); !fits)
    return refuse("loss", fits.error());
  if (said.scale == 1) return std::vector<std::string>{};
  if (const auto narrow = model::Shrink(network->graph, network->widths, {.scale = said.scale});
      !narrow)
    return refuse("scale", narrow.error());
  std::vector<std::string> notes;
  for (const std::string& note : WhatDoesNotCarryOver(spec.space))
    notes.push_back(
        fmt::format("model: the network is {:.4g} times narrower: {}", said.scale, note));
  return notes;
}

}  // namespace sluice
