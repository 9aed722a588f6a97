#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "sim/pipeline_job.h"

namespace sluice {

// A pipeline job of a scenario. Nothing, with what is wrong reported, where it is none.
std::optional<PipelineSchedule> ReadPipelineJob(const ConfigNode& item, std::string default_name);

}  // namespace sluice
