#pragma once

#include <string>

#include "base/result.h"
#include "cluster/cluster.h"
#include "engine/study.h"

namespace sluice {

// Fails with failed_precondition if the study needs an ability that simulations have and the
// executor on real machines does not have yet. The message names the ability.
Status CheckCarriedOut(const StudySpec& spec);

// Fails with failed_precondition if a trial needs more than this node has. `whose` says in the
// message what the node is.
Status CheckFits(const StudySpec& spec, const Node& node,
                 const std::string& whose = "this machine");

}  // namespace sluice
