#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph.h"

namespace sluice::model {

// A network as it is evaluated.
struct Evaluation {
  Graph graph;
  // What stays as in training because the graph does not say what evaluation does instead: one line
  // for each node, which begins with its name.
  std::vector<std::string> notes;
};

// Makes the graph of evaluation from the graph of training, as module.eval() does in PyTorch:
// nothing is dropped, batch norm and instance norm use their running statistics if they have any,
// and the slopes of rrelu are their mean. Nodes that no output depends on are removed: among them
// are those that write statistics for later. Values, parameters, inputs and regions stay as they
// are. An output that was dropped becomes what it was before.
//
// What the code of a module decides by `self.training` is in no graph. So a network may differ from
// module.eval() without a note; only a comparison with the outputs of module.eval() finds that.
//
// Fails with invalid_argument if a node has no constant where its operator needs one.
Result<Evaluation> MakeEvaluation(const Graph& training);

}  // namespace sluice::model
