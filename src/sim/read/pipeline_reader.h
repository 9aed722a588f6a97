#pragma once

#include "config/config.h"
#include "sim/read/scenario.h"

namespace sluice {

// Reads 'pipeline_jobs', which may be missing, into a scenario whose own nodes are known. The
// devices that a job lends become a node of their own, after the others. Mistakes are reported to
// the file, and a job with mistakes is left out.
void ReadPipelineJobs(const ConfigNode* list, Scenario& scenario);

}  // namespace sluice
