#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/site.h"
#include "engine/engine.h"
#include "wire/message.h"

namespace sluice {

// The name of the worker of a launch, such as "7.2", and the launch that such a name stands for.
std::string WorkerName(wire::LaunchRef at);
std::optional<wire::LaunchRef> ParseWorkerName(std::string_view name);

// The message that gives a trial to a worker.
wire::Assign MakeAssign(const Study& study, const Trial& trial, const LaunchPlaces& places);

}  // namespace sluice
