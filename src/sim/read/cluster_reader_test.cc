#include "sim/read/cluster_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/read/test_scenario_text.h"

namespace sluice {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ClusterReaderTest, NodesAlone) {
  const auto nodes = ReadScenarioNodes(
      "clusters:\n  small: [{cpus: 2}]\n  large: [{count: 3, devices: {kind: H100, count: 2}}]\n"
      "studies: [whatever]\n",
      "c.yaml", "large");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->nodes.size(), 3U);
  EXPECT_EQ(nodes->cluster, "large");
  EXPECT_TRUE(nodes->studies.empty());
  EXPECT_EQ(ReadScenarioNodes("nodes: []\n", "c.yaml").error().message,
            "c.yaml:1: nodes: expected at least one node, found []");
  EXPECT_FALSE(ReadScenarioNodes("nodes: [{cpus: 2}]\n", "c.yaml", "large"));
}

TEST(ClusterReaderTest, RefusesImpossibleDevices) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A10}}]")),
              AllOf(StartsWith("s.yaml:1: nodes[0].devices.kind"), HasSubstr("did you mean")));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, memory: -4GB}}]")),
              AllOf(HasSubstr("nodes[0].devices.memory: expected a size"), HasSubstr("-4GB")));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, memory: 0}}]")), HasSubstr("above 0"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, count: 1000000}}]")), HasSubstr("10000"));
  EXPECT_THAT(Bad(Text("[{count: 9000, devices: {kind: A100, count: 9000}}]")),
              HasSubstr("at most 10000 devices"));
  EXPECT_THAT(Bad(Text("[{name: a, cpus: 1}, {name: a, cpus: 1}]")), HasSubstr("two nodes 'a'"));
}

TEST(ClusterReaderTest, RefusesZeroDevicesAndEmptyClusters) {
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100, count: 0}}]")),
              AllOf(HasSubstr("devices.count"), HasSubstr("found 0")));
  EXPECT_THAT(Bad(Text("[{count: 0, cpus: 1}]")), HasSubstr("nodes[0].count"));
  EXPECT_THAT(Bad(Text("[]")), HasSubstr("at least one node"));
  EXPECT_THAT(Bad(Text("[{cpus: 0}]")), HasSubstr("cores or devices"));
  EXPECT_THAT(Bad(Text("[{devices: []}]")), HasSubstr("at least one kind"));
  EXPECT_THAT(Bad("studies: []\nnodes: [{cpus: 1}]\n"), HasSubstr("at least one study"));
  EXPECT_THAT(Bad("seeds: 3\n"), AllOf(HasSubstr("nodes: expected"), HasSubstr("studies: ex")));
}

constexpr std::string_view kClusters = R"(clusters:
  small: [{name: a, devices: {kind: A100, count: 2}}]
  mixed:
    - {name: h, devices: {kind: H100, count: 4}}
    - {name: a, count: 2, devices: {kind: A100}}
studies:
  - study: small
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    trials: 8
    budget: {max: 9}
    resources: {cpus: 1, gpus: 1}
    workload: {unit_time: 10s, profiled: true, busy: {A100: 0.3, H100: 0.2}, memory: 4GB}
)";

TEST(ClusterReaderTest, OneOfSeveralClustersIsChosenByName) {
  const auto on = [](std::string_view cluster) {
    return *ReadScenario(kClusters, "s.yaml", "s", cluster);
  };
  const Scenario first = on("");
  EXPECT_EQ(first.cluster, "small");
  EXPECT_THAT(first.clusters, ElementsAre("small", "mixed"));
  ASSERT_EQ(first.nodes.size(), 1);
  EXPECT_EQ(first.nodes[0].devices.size(), 2);
  EXPECT_EQ(first.studies[0].spec.profile.size(), 1) << "of the kinds that are there";

  const Scenario mixed = on("mixed");
  EXPECT_EQ(mixed.cluster, "mixed");
  ASSERT_EQ(mixed.nodes.size(), 3);
  EXPECT_EQ(mixed.nodes[0].devices.size(), 4);
  const StudySpec& spec = mixed.studies[0].spec;
  ASSERT_EQ(spec.profile.size(), 2);
  EXPECT_EQ(NeedOn(spec.demand, "A100").gpus, 300);
  EXPECT_EQ(NeedOn(spec.demand, "H100").gpus, 200);
  EXPECT_EQ(spec.demand.memory_bytes, 4'000'000'000);
}

TEST(ClusterReaderTest, AClusterThatIsNotThereIsNamed) {
  EXPECT_EQ(
      ReadScenario(kClusters, "s.yaml", "s", "mixd").error().message,
      "s.yaml: expected one of its clusters (small, mixed), found 'mixd' (did you mean 'mixed'?)");
  EXPECT_EQ(ReadScenario(Text(), "s.yaml", "s", "small").error().message,
            "s.yaml: expected 'clusters' to choose 'small' from, found none: it has one list of "
            "'nodes'");
}

TEST(ClusterReaderTest, MistakesOfEveryClusterAreSaid) {
  const std::string studies = "studies:" + std::string(kStudy);
  EXPECT_THAT(Lines(Bad(R"(clusters:
  good: [{devices: {kind: A100}}]
  odd: [{devices: {kind: A10}}]
  empty: []
  "a,b": [{devices: {kind: A100}}]
  twice: [{name: a, cpus: 1}, {name: a, cpus: 1}]
)" + studies)),
              ElementsAre(StartsWith("s.yaml:3: clusters.odd[0].devices.kind: expected one of"),
                          StartsWith("s.yaml:4: clusters.empty: expected at least one node"),
                          StartsWith("s.yaml:5: clusters.a,b: expected a name"),
                          StartsWith("s.yaml:6: clusters.twice: expected names of their own")));
  EXPECT_THAT(Bad("clusters: {}\n" + studies),
              HasSubstr("clusters: expected at least one cluster"));
  EXPECT_THAT(Bad("clusters: [3]\n" + studies), HasSubstr("clusters: expected a map"));
  EXPECT_THAT(Bad(Text("[{devices: {kind: A100}}]", "clusters: {a: [{cpus: 1}]}\n")),
              StartsWith("s.yaml:1: nodes: expected either 'nodes' or 'clusters', found"));
}

TEST(ClusterReaderTest, ReadsWhenNodesGoDown) {
  const Scenario scenario = Good(
      Working("memory: 1GB", "{gpus: 1}",
              std::string(kLending) + "failures: [{node: gpt, at: 2h, for: 30m}, {node: node1, "
                                      "at: 1m, for: 1s}, {node: gpt, at: 1h, for: 59m}]\n"));
  ASSERT_EQ(scenario.failures.size(), 3);
  EXPECT_EQ(scenario.failures[0].node, NodeId(2));
  EXPECT_EQ(scenario.failures[0].at, minutes(120));
  EXPECT_EQ(scenario.failures[0].lasts, minutes(30));
  EXPECT_EQ(scenario.failures[1].node, NodeId(1));
}

TEST(ClusterReaderTest, ChecksWhenNodesGoDown) {
  EXPECT_THAT(
      Lines(Bad(Text("[{name: a, devices: {kind: A100}}, {name: big, cpus: 1}]", R"(failures:
  - {node: bug, at: 1h, for: 1h}
  - {node: a, at: 0s, for: 1h}
  - {node: a, at: 1h, for: 0s}
  - {node: a, at: 1h}
  - {at: 1h, for: -1h}
  - {node: a, when: 1h, for: 1h}
  - {node: a, at: 4h, for: 1h}
  - {node: a, at: 3h, for: 2h}
  - {node: big, at: 3h, for: 1h}
  - {node: big, at: 4h, for: 1h}
  - a
)"))),
      ElementsAre(
          StartsWith("s.yaml:3: failures[0].node: expected one of a, big, found bug (did you mean"),
          StartsWith(
              "s.yaml:4: failures[1].at: expected a time above 0 at which the node goes down"),
          StartsWith("s.yaml:5: failures[2].for: expected a time above 0 for which the node is "
                     "down, found 0s"),
          StartsWith("s.yaml:6: failures[3].for: expected a time above 0 for which the node is "
                     "down, found nothing"),
          StartsWith("s.yaml:7: failures[4].node: expected the name of the node"),
          StartsWith("s.yaml:7: failures[4].for: expected a duration"),
          StartsWith("s.yaml:8: failures[5].when: unknown key"),
          StartsWith(
              "s.yaml:8: failures[5].at: expected a time above 0 at which the node goes down"),
          StartsWith("s.yaml:10: failures[7]: expected a node to be up for a while before it goes"),
          StartsWith("s.yaml:12: failures[9]: expected a node to be up for a while"),
          StartsWith("s.yaml:13: failures[10]: expected a map")));
}

TEST(ClusterReaderTest, NodesOfOtherClustersGoDownThere) {
  const std::string failures = "failures: [{node: h, at: 1h, for: 1h}]\n";
  const std::string text = failures + std::string(kClusters);
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "small")->failures, IsEmpty());
  EXPECT_THAT(ReadScenario(text, "s.yaml", "s", "mixed")->failures, ::testing::SizeIs(1));
}

}  // namespace
}  // namespace sluice
