#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "sim/pipeline_job.h"

namespace sluice {

// Reads a pipeline job of a scenario. Without a result where it has mistakes, which are reported.
std::optional<PipelineSchedule> ReadPipelineJob(const ConfigNode& item, std::string default_name);

}  // namespace sluice
