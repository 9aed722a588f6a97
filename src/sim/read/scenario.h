#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "engine/study.h"
#include "sim/learning_curve.h"
#include "sim/pipeline_job.h"
#include "sim/true_speed.h"

namespace sluice {

// What a scenario is about: the measure its policies are compared by.
enum class Goal { kMakespan, kTimeToTarget, kErrorAtDeadline };
std::string_view Name(Goal goal);

// A study of a simulated cluster: as in a study file, with a world instead of a program.
struct ScenarioStudy {
  StudySpec spec;
  WorkloadSpec workload;
  CurveSpec curve;
  Duration arrives{0};
  int line = 0;  // in the file
};

// An entry of `policies`: a policy and the studies as they are under it. They differ from the
// scenario's in how they are searched and run, and some may be left out, but not in what their trials are:
// the same point gives the same values under every policy.
struct ScenarioPolicy {
  std::string label;  // what it is called: a name of its own, or that of the policy
  std::string policy;
  std::string differs;                 // what the file says, to be shown
  std::vector<ScenarioStudy> studies;  // those of the scenario's that it does not leave out
};

// Whose bubbles a device's are.
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

// A simulated cluster and what comes to it.
struct Scenario {
  std::string name;
  Goal goal = Goal::kMakespan;
  int seeds = 5;  // how many to run, by default
  std::vector<Node> nodes;
  std::vector<std::string> clusters;  // names of those there are to choose from; usually none
  std::string cluster;                // the one whose nodes these are
  std::vector<NodeFailure> failures;
  std::vector<PipelineSchedule> pipeline_jobs;  // on devices of their own,
  std::map<std::string, Lender> lenders;  // of which those are nodes too that are lent, by uuid
  std::vector<ScenarioStudy> studies;     // those that fit
  std::vector<std::string> left_out;      // a message for each study that fits nowhere
  std::vector<ScenarioPolicy> policies;
  std::vector<std::string> compare = {"fifo"};  // labels or policies to run, by default
};

// What a file may ask for at most.
constexpr int kMostSimulatedDevices = 10'000;
constexpr std::int64_t kMostReportsOfATrial = 1'000'000;

// Reads a scenario from YAML text: its studies by the reader of study files. `file` is what messages
// call it. Everything the text can say wrongly is said at once, one message a line. A study whose
// trials fit on no node of the cluster is said by name and left out; that nothing is left is an
// error. At most 1 MiB. Of a scenario with several clusters it is that on the named one, or the first.
Result<Scenario> ReadScenario(std::string_view text, std::string_view file,
                              std::string_view default_name, std::string_view cluster = "");

// The nodes of such a file, or those of one of its clusters, and nothing else of it: a Scenario
// without studies. What else the file says is not looked at.
Result<Scenario> ReadScenarioNodes(std::string_view text, std::string_view file,
                                   std::string_view cluster = "");

// Why no node has room for a trial of this study even when nothing else runs; empty if one has. Devices
// that are lent do not count: those who use them want one of their own too.
std::string WhyNowhere(const std::vector<Node>& nodes, const ScenarioStudy& study);

// What can be compared: the labels of the scenario's policies, then the other policies.
std::vector<std::string> LabelsOf(const Scenario& scenario);

// A scenario as one of those meets it.
struct LabelledScenario {
  std::string label;
  std::string policy;
  std::string differs;  // empty for a policy without an entry
  Scenario scenario;
};
// Fails with invalid_argument where there is no such label.
Result<LabelledScenario> ScenarioUnder(const Scenario& scenario, const std::string& label);

// What takes longer to look at than reading may: whether constraints leave points to try. Fails as
// ReadScenario does.
Status CheckScenario(const Scenario& scenario, std::string_view file);

}  // namespace sluice
