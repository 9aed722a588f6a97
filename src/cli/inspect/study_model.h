#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// A note for each parameter whose best value in a narrower network is not its best value in the
// original. The note says why.
std::vector<std::string> WhatDoesNotCarryOver(const Space& space);

// The name that model::OpenNetwork takes for a study's network. `folder` is the study's folder.
std::string NetworkOf(const ModelSpec& model, const std::string& folder);

// Reads the network that a study names, and shrinks it as the study says. Fails with
// invalid_argument if one of these cannot be done, or if the study's loss does not fit the network.
// The message begins with the place in the file ("study.yaml:7: model.scale: ..."). Returns remarks
// for the user. `source` is the text of `file`.
Result<std::vector<std::string>> CheckStudyModel(const StudySpec& spec, const std::string& source,
                                                 const std::string& file,
                                                 const std::string& folder);

}  // namespace sluice
