#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// The parameters of a study that do not carry over from a narrower network to the original, and
// why.
std::vector<std::string> WhatDoesNotCarryOver(const Space& space);

// The name by which the network of a study is opened. `folder` is the study's.
std::string NetworkOf(const ModelSpec& model, const std::string& folder);

// Reads the network that a study names, and makes it as narrow as the study says. Fails if that
// cannot be done, or if its loss does not fit; the message begins like those about the rest of the
// file. Otherwise returns what a reader should know. `source` is the text of the file.
Result<std::vector<std::string>> CheckStudyModel(const StudySpec& spec, const std::string& source,
                                                 const std::string& file,
                                                 const std::string& folder);

}  // namespace sluice
