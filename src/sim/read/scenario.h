#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/study.h"
#include "policy/policy_table.h"
#include "sim/learning_curve.h"
#include "sim/pipeline_job.h"
#include "sim/true_speed.h"

namespace sluice {

// The measure by which a scenario's policies are compared.
enum class Goal { kMakespan, kTimeToTarget, kErrorAtDeadline };
std::string_view Name(Goal goal);

// A study of a simulated cluster: as in a study file, with a workload instead of a program.
struct ScenarioStudy {
  StudySpec spec;
  WorkloadSpec workload;
  CurveSpec curve;
  Duration arrives{0};
  int line = 0;  // in the file
};

// An entry of `policies`: a policy and the studies as they are under it. The studies differ from
// the scenario's in how they are searched and run, and some may be left out. They do not differ in
// what their trials are: the same point gives the same values under every policy.
struct ScenarioPolicy {
  std::string label;  // a name of its own, or that of the policy
  std::string policy;
  std::string differs;                 // the entry as the file has it, to be shown
  std::vector<ScenarioStudy> studies;  // the scenario's studies that it does not leave out
};

// The pipeline job and the stage that lend a device during their bubbles.
struct Lender {
  std::size_t job = 0;
  int stage = 0;
};

// A node goes down, with all that runs on it, and comes back.
struct NodeFailure {
  NodeId node{};
  Duration at{0};
  Duration lasts{0};
};

// A simulated cluster and the studies that arrive there.
struct Scenario {
  std::string name;
  Goal goal = Goal::kMakespan;
  int seeds = 5;  // how many to run, by default
  std::vector<Node> nodes;
  std::vector<std::string> clusters;  // names of the clusters to choose from; usually none
  std::string cluster;                // the name of the cluster with these nodes
  std::vector<NodeFailure> failures;
  std::vector<PipelineSchedule> pipeline_jobs;  // on devices of their own
  std::map<std::string, Lender> lenders;        // of lent devices, by uuid; they are in `nodes` too
  std::vector<ScenarioStudy> studies;           // those that fit on a node
  std::vector<std::string> left_out;            // a message for each study that fits nowhere
  std::vector<ScenarioPolicy> policies;
  // Labels or policies to run, by default.
  std::vector<std::string> compare = {std::string(kDefaultPolicy)};
};

// The most that a file may ask for.
constexpr int kMostSimulatedDevices = 10'000;
constexpr std::int64_t kMostReportsOfATrial = 1'000'000;

// Reads a scenario from YAML text of at most 1 MiB. The reader of study files reads its studies.
// `file` is the name of the text in messages. All mistakes are reported together, one message a
// line. A study with trials that fit on no node of the cluster is named in `left_out`; it is an
// error if no study is left. If the file has several clusters, `cluster` says which of them to
// take; empty: the first.
Result<Scenario> ReadScenario(std::string_view text, std::string_view file,
                              std::string_view default_name, std::string_view cluster = "");

// Reads only the nodes of a scenario file, or of one of its clusters, as a Scenario without
// studies. The values of other keys are ignored.
Result<Scenario> ReadScenarioNodes(std::string_view text, std::string_view file,
                                   std::string_view cluster = "");

// Why no node has room for a trial of this study even when nothing else runs; empty if a node has
// room.
// Lent devices do not count: a study that uses them must fit on the scenario's own nodes too.
std::string WhyNowhere(const std::vector<Node>& nodes, const ScenarioStudy& study);

// What can be compared: the labels of the scenario's policies, then the other policies.
std::vector<std::string> LabelsOf(const Scenario& scenario);

// A scenario as it is under one of those labels.
struct LabelledScenario {
  std::string label;
  std::string policy;
  std::string differs;  // empty for a policy without an entry
  Scenario scenario;
};
// Fails with invalid_argument where there is no such label.
Result<LabelledScenario> ScenarioUnder(const Scenario& scenario, const std::string& label);

// Checks that the constraints of each study leave points to try. ReadScenario does not, because
// this check is slow. Fails as ReadScenario does.
Status CheckScenario(const Scenario& scenario, std::string_view file);

}  // namespace sluice
