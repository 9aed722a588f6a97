#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// What of a study does not carry over from a narrower network to the original, a text each.
std::vector<std::string> WhatDoesNotCarryOver(const Space& space);

// The name under which the network of a study is opened that lies in this folder.
std::string NetworkOf(const ModelSpec& model, const std::string& folder);

// Reads the network that a study names, and makes it as narrow as the study says. Fails if that cannot be done, or its
// loss does not fit, in words that begin like those about the rest of the file; otherwise what a reader should know.
// `source` is the text of the file.
Result<std::vector<std::string>> CheckStudyModel(const StudySpec& spec, const std::string& source,
                                                 const std::string& file,
                                                 const std::string& folder);

}  // namespace sluice
