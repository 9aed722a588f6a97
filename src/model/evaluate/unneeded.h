#pragma once

#include "model/graph.h"

namespace sluice::model {

// Removes the nodes that no output depends on, writes to buffers among them: what is computed
// without them is the same, as long as nothing else reads the buffers. Of the nodes that check
// their operands, those remain whose operands do.
void RemoveUnneeded(Graph& graph);

}  // namespace sluice::model
