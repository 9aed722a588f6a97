#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/site.h"
#include "engine/engine.h"
#include "wire/message.h"

namespace sluice {

// "7.2", as the worker of a launch calls itself, and back.
std::string WorkerName(wire::LaunchRef at);
std::optional<wire::LaunchRef> ParseWorkerName(std::string_view name);

// The message that gives a trial to a worker.
wire::Assign MakeAssign(const Study& study, const Trial& trial, const LaunchPlaces& places);

}  // namespace sluice
