#include "engine/read/study_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/read/test_study_text.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StudyKeysTest, ChecksEnvironments) {
  EXPECT_EQ(With("environment: {9A: x}"),
            "study.yaml:1: environment.9A: expected a variable's name of letters, digits and '_', "
            "found '9A'");
  EXPECT_EQ(With("environment: {SLUICE_TRIAL: x}"),
            "study.yaml:1: environment.SLUICE_TRIAL: expected a name that does not begin with "
            "SLUICE_, since Sluice sets those; choose another, or say --store on the command line "
            "for another store");
  EXPECT_EQ(
      With("environment: {A: '{lr'}"),
      "study.yaml:1: environment.A: expected braces in pairs, as in {lr}, found a lone '{' in "
      "'{lr'; write {{ for a brace itself");
  EXPECT_EQ(With("environment: [A]"),
            "study.yaml:1: environment: expected a map of keys and values, found [A]; write "
            "'environment: {NAME: value}'");
}

TEST(StudyKeysTest, AWeightIsForEveryPolicy) {
  for (const std::string policy : {"confluence", "lpt"}) {
    const auto read = ReadStudy(
        "program: x\nspace: {a: {int: [1, 4]}}\nobjective: {minimize: loss}\ntrials: 3\npolicy: " +
            policy + "\nweight: 2.5\n",
        "study.yaml", "study");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->weight, 2.5);
    EXPECT_THAT(read->notes, ElementsAre());
  }
}

TEST(StudyKeysTest, ChecksNumbersTimesAndSizes) {
  EXPECT_EQ(With("trials: 0"),
            "study.yaml:1: trials: expected a whole number from 1 to 10000000, found 0");
  EXPECT_EQ(With("parallelism: 0"),
            "study.yaml:1: parallelism: expected a whole number from 1 to 100000, found 0; leave "
            "it out for as many as fit");
  EXPECT_EQ(With("retries: 101"),
            "study.yaml:1: retries: expected a whole number from 0 to 100, found 101");
  EXPECT_EQ(With("weight: 0"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found 0");
  EXPECT_EQ(With("weight: 1001"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found 1001");
  EXPECT_EQ(With("weight: .nan"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found .nan");
  EXPECT_EQ(With("weight: heavy"),
            "study.yaml:1: weight: expected a number from 0.001 to 1000, found heavy");
  EXPECT_EQ(With("seed: -1"),
            "study.yaml:1: seed: expected a whole number of at least 0, found -1; leave it out to "
            "have one drawn");
  EXPECT_EQ(With("deadline: 2026-01-31T18:00:00"),
            "study.yaml:1: deadline: expected a duration such as 20m, or a time with its zone such "
            "as 2026-01-31T18:00:00Z, found 2026-01-31T18:00:00; write '2026-01-31T18:00:00Z' if "
            "UTC is meant");
  EXPECT_EQ(
      With("backoff: later"),
      "study.yaml:1: backoff: expected a duration such as 90s, 20m, 1h30m or 2d, found later");
  EXPECT_EQ(With("timeouts: {tiral: 1h}"),
            "study.yaml:1: timeouts.tiral: unknown key (did you mean 'trial'?)");
  EXPECT_EQ(With("timeouts: {lease: 0}"),
            "study.yaml:1: timeouts.lease: expected a lease of at least 100ms, found 0");
  EXPECT_EQ(With("output_cap: big"),
            "study.yaml:1: output_cap: expected a size such as 500kB, 16MiB or 2GB, found big");
  EXPECT_EQ(With("checkpoint_cap: 0"),
            "study.yaml:1: checkpoint_cap: expected a size above 0, found 0");
}

TEST(StudyKeysTest, ChecksResources) {
  EXPECT_EQ(With("resources: {gpus: 1.5}"),
            "study.yaml:1: resources.gpus: expected a share of one GPU, from 0 to 1, or a whole "
            "number of them, found 1.5");
  EXPECT_EQ(With("resources: {cpus: -1}"),
            "study.yaml:1: resources.cpus: expected a number from 0 to 100000, found -1");
  EXPECT_EQ(With("resources: {cpus: 0.0001}"),
            "study.yaml:1: resources.cpus: expected at most three decimals, found 0.0001");
  EXPECT_EQ(With("resources: {cpus: 0}"),
            "study.yaml:1: resources: expected some of cpus or gpus, found {cpus: 0}; give a small "
            "share such as {cpus: 0.1}");
  EXPECT_EQ(With("resources: {gpus: 4}"), "");
  EXPECT_EQ(With("resources: {gpus: [0.5, 4]}"), "");
  EXPECT_EQ(With("resources: {gpus: [4, 1]}"),
            "study.yaml:1: resources.gpus: expected two amounts above 0, the smaller one first, "
            "found [4, 1]");
  EXPECT_EQ(With("resources: {gpus: [0.5, 1.5]}"),
            "study.yaml:1: resources.gpus: expected a share of one GPU, from 0 to 1, or a whole "
            "number of them, found [0.5, 1.5]");
  EXPECT_EQ(With("resources: {gpus: [1, 2, 3]}"),
            "study.yaml:1: resources.gpus: expected an amount, or the least and the most of an "
            "elastic trial, as in [1, 4], found [1, 2, 3]");
  EXPECT_EQ(With("resources: {cpus: [1, 2], gpus: 1}"),
            "study.yaml:1: resources.cpus: expected one amount beside 'gpus', found [1, 2]; cores "
            "go along with GPUs in proportion");
  EXPECT_EQ(With("policy: fluid-static"),
            "study.yaml:1: policy: the policy fluid-static plans by what is left of each trial, "
            "and nothing says how far trials go: add 'budget: {max: 27}', or take another policy");
}

TEST(StudyKeysTest, ReadsWhatATrialTakesOfADevice) {
  const auto study = ReadStudy(
      "program: python train.py {args}\n"
      "space: {lr: {float: [1e-4, 1e-1], log: true}}\n"
      "objective: {maximize: accuracy}\n"
      "trials: 24\n"
      "resources: {cpus: 2, gpus: 0.5, memory: 4GiB, bandwidth: 0.3, lent: false}\n"
      "profile:\n"
      "  A100: {unit_time: 20s, gpus: 0.37, bandwidth: 0.2}\n"
      "  H100: {unit_time: 12500ms}\n"
      "fuse: {most: 64, memory: 300MB}\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  const Demand& demand = study->demand;
  EXPECT_EQ(demand.memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(demand.bandwidth, 300);
  EXPECT_FALSE(demand.lent);
  ASSERT_EQ(study->profile.size(), 2U);
  EXPECT_EQ(study->profile[0].kind, "A100");
  EXPECT_DOUBLE_EQ(study->profile[0].seconds_per_unit, 20);
  EXPECT_DOUBLE_EQ(study->profile[1].seconds_per_unit, 12.5);
  EXPECT_EQ(NeedOn(demand, "A100"), (DeviceNeed{.gpus = 370, .bandwidth = 200}));
  EXPECT_EQ(NeedOn(demand, "H100"), (DeviceNeed{.gpus = 500, .bandwidth = 300}))
      << "what was not measured is as 'resources' says";
  EXPECT_EQ(NeedOn(demand, "V100"), (DeviceNeed{.gpus = 500, .bandwidth = 300}));
  EXPECT_EQ(demand.fused_most, 64);
  EXPECT_EQ(demand.fused_bytes, 300'000'000);
}

TEST(StudyKeysTest, FusedTrialsTakeAsMuchMemoryAsAloneUnlessTheFileKnowsBetter) {
  const auto study = ReadStudy(
      "program: python train.py {args}\n"
      "space: {lr: {float: [1e-4, 1e-1], log: true}}\n"
      "objective: {maximize: accuracy}\n"
      "trials: 24\n"
      "resources: {gpus: 1, memory: 2GB}\n"
      "fuse: 8\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->demand.fused_most, 8);
  EXPECT_EQ(study->demand.fused_bytes, 2'000'000'000);
  EXPECT_TRUE(study->demand.lent);
}

TEST(StudyKeysTest, ChecksWhatATrialTakesOfADevice) {
  EXPECT_EQ(With("resources: {memory: 4GiB}"),
            "study.yaml:1: resources.memory: expected this key only beside 'gpus', since it "
            "applies to each GPU, found 4GiB; remove the key");
  EXPECT_EQ(With("resources: {cpus: 1, bandwidth: 0.5}"),
            "study.yaml:1: resources.bandwidth: expected this key only beside 'gpus', since it "
            "applies to each GPU, found 0.5; remove the key");
  EXPECT_EQ(With("resources: {lent: false, gpus: 0}"),
            "study.yaml:1: resources.lent: expected this key only beside 'gpus', since it "
            "applies to each GPU, found false; remove the key");
  EXPECT_EQ(With("resources: {gpus: 1, memory: much}"),
            "study.yaml:1: resources.memory: expected a size such as 500kB, 16MiB or 2GB, found "
            "much");
  EXPECT_EQ(With("resources: {gpus: 1, bandwidth: 1.5}"),
            "study.yaml:1: resources.bandwidth: expected a number from 0 to 1, found 1.5");
  EXPECT_EQ(With("resources: {gpus: 1, bandwidth: 0.1234}"),
            "study.yaml:1: resources.bandwidth: expected at most three decimals, found 0.1234");
  EXPECT_EQ(With("resources: {gpus: 1, lent: sometimes}"),
            "study.yaml:1: resources.lent: expected true or false, found sometimes");
  EXPECT_EQ(With("resources: {gpus: 1, memroy: 4GiB}"),
            "study.yaml:1: resources.memroy: unknown key (did you mean 'memory'?)");
}

TEST(StudyKeysTest, ChecksProfiles) {
  const auto with = [](std::string_view profile) {
    return With("resources: {gpus: 1}\nprofile: " + std::string(profile));
  };
  EXPECT_EQ(with("{A100: {unit_time: 20s}}"), "");
  EXPECT_EQ(with("{A100: {unit_tiem: 20s}}"),
            "study.yaml:2: profile.A100.unit_tiem: unknown key (did you mean 'unit_time'?)");
  EXPECT_EQ(with("{A100: {unit_time: 0s}}"),
            "study.yaml:2: profile.A100.unit_time: expected a time above 0, found 0s");
  EXPECT_EQ(with("{A100: {unit_time: soon}}"),
            "study.yaml:2: profile.A100.unit_time: expected a duration such as 90s, 20m, 1h30m or "
            "2d, found soon");
  EXPECT_EQ(with("{A100: {gpus: 0}}"),
            "study.yaml:2: profile.A100.gpus: expected a share of one GPU, above 0 and at most 1, "
            "found 0");
  EXPECT_EQ(with("{A100: {gpus: 2}}"),
            "study.yaml:2: profile.A100.gpus: expected a number from 0 to 1, found 2");
  EXPECT_EQ(with("{A100: {bandwidth: -1}}"),
            "study.yaml:2: profile.A100.bandwidth: expected a number from 0 to 1, found -1");
  EXPECT_EQ(with("{A100: 20s}"),
            "study.yaml:2: profile.A100: expected a map of keys and values, found 20s");
  EXPECT_EQ(with("20s"), "study.yaml:2: profile: expected a map of keys and values, found 20s");
  for (const char* resources : {"{cpus: 1}", "{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_EQ(
        With("profile: {A100: {unit_time: 20s}}\nresources: " + std::string(resources)),
        "study.yaml:1: profile: expected this key only for trials on one GPU or a share of it, "
        "found {A100: {unit_time: 20s}}; remove the key, or set 'resources: {gpus: 1}'")
        << resources;
  }
}

TEST(StudyKeysTest, ChecksFusion) {
  const auto with = [](std::string_view fuse) {
    return With("resources: {gpus: 1, memory: 1GB}\nfuse: " + std::string(fuse));
  };
  EXPECT_EQ(with("1"), "");
  EXPECT_EQ(with("{most: 16, memory: 1GB}"), "");
  EXPECT_EQ(with("0"), "study.yaml:2: fuse: expected a whole number from 1 to 10000, found 0");
  EXPECT_EQ(with("all"), "study.yaml:2: fuse: expected a whole number from 1 to 10000, found all");
  EXPECT_EQ(with("{memory: 300MB}"),
            "study.yaml:2: fuse.most: expected how many trials one program can train, found "
            "nothing; add 'most: 64'");
  EXPECT_EQ(with("{most: 64, memery: 300MB}"),
            "study.yaml:2: fuse.memery: unknown key (did you mean 'memory'?)");
  EXPECT_EQ(with("{most: 64, memory: 2GB}"),
            "study.yaml:2: fuse: expected at most the memory of a trial alone for each further "
            "trial, found {most: 64, memory: 2GB}; set 'resources: {memory: 4GiB}'");
  for (const char* resources : {"{gpus: 2}", "{gpus: [1, 4]}"}) {
    EXPECT_EQ(
        With("fuse: 64\nresources: " + std::string(resources)),
        "study.yaml:1: fuse: expected this key only for trials on one GPU, found 64; remove the "
        "key, or set 'resources: {gpus: 1}'")
        << resources;
  }
  EXPECT_EQ(
      With("fuse: 64\nresources: {cpus: [1, 4]}"),
      "study.yaml:1: fuse: expected this key only for trials on a fixed number of cores, found "
      "64; remove the key, or set 'resources: {cpus: 1}'");
}

TEST(StudyKeysTest, TrialsOnCoresFuseToo) {
  const auto read = [](const std::string& more) {
    const auto study = ReadStudy(
        "program: x\nspace: {a: {int: [1, 4]}}\nobjective: {minimize: loss}\ntrials: 3\n" + more,
        "study.yaml", "study");
    EXPECT_TRUE(study) << study.error().message;
    return *study;
  };
  const StudySpec study = read("fuse: 16\nresources: {cpus: 2}\npolicy: hydro\n");
  EXPECT_EQ(study.demand.fused_most, 16);
  EXPECT_EQ(study.demand.fused_bytes, 0);
  EXPECT_THAT(study.notes, ElementsAre());
  const StudySpec with_memory = read("fuse: {most: 16, memory: 1GB}\npolicy: confluence\n");
  EXPECT_EQ(with_memory.demand.fused_most, 16);
  EXPECT_EQ(with_memory.demand.fused_bytes, 0);
  EXPECT_THAT(with_memory.notes,
              ElementsAre("fuse.memory: has no effect without GPUs, since it applies to each GPU"));
  EXPECT_THAT(read("fuse: 16\n").notes,
              ElementsAre("fuse: has no effect under the policy fifo, only under hydro, "
                          "confluence; write 'policy: hydro'"));
  EXPECT_THAT(read("fuse: 1\n").notes, ElementsAre());
}

TEST(StudyKeysTest, ReadsWhichParametersMakeAShape) {
  const auto study = ReadStudy(
      "program: x\nobjective: {minimize: loss}\ntrials: 3\nshape: [model, dropout]\nspace:\n"
      "  lr: {float: [0, 1]}\n  model: {choice: [mlp, cnn]}\n"
      "  dropout: {float: [0, 0.5], step: 0.1}\n",
      "study.yaml", "study");
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_THAT(study->shape, ElementsAre("model", "dropout"));
  EXPECT_THAT(study->notes, ElementsAre());
}

TEST(StudyKeysTest, ChecksWhichParametersMakeAShape) {
  const auto with = [](std::string_view shape) {
    return With(
        "space: {lr: {float: [0, 1]}, batch_size: {int: [1, 9]}, model: {choice: [a, b]}}\n"
        "shape: " +
        std::string(shape));
  };
  EXPECT_EQ(with("[batch_size, model]"), "");
  EXPECT_EQ(with("[model, batchsize]"),
            "study.yaml:2: shape[1]: expected a parameter of the space (batch_size, lr, model), "
            "found 'batchsize' (did you mean 'batch_size'?)");
  EXPECT_EQ(with("[]"), "study.yaml:2: shape: expected a parameter at least, as in [lr], found []");
  EXPECT_EQ(with("model"),
            "study.yaml:2: shape: expected a list of parameters, found model; write '[model]'");
  EXPECT_EQ(with("\n  - model\n  - model"),
            "study.yaml:4: shape[1]: expected each parameter once, found 'model' again");
  EXPECT_EQ(with("[lr]"),
            "study.yaml:2: shape[0]: expected a parameter whose values recur in several trials, "
            "found 'lr', which is continuous: hardly any two trials would have the same shape; "
            "remove it, or give it steps, as in 'lr: {float: [0, 1], step: 0.1}'");
  EXPECT_EQ(with("[[model]]"),
            "study.yaml:2: shape[0]: expected a text, found [model]; quote a text that begins with "
            "a brace or bracket");
}

TEST(StudyKeysTest, ReadsTheNetworkThatIsTrained) {
  const auto read = [](const std::string& lines) {
    return *ReadStudy(lines +
                          "\nprogram: train {args}\nspace: {lr: {float: [0, 1]}}\n"
                          "objective: {minimize: loss}\ntrials: 1\n",
                      "study.yaml", "study");
  };
  EXPECT_FALSE(read("seed: 1").model);
  const auto alone = read("seed: 1\nmodel: nets/net.pt2").model;
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->network, "nets/net.pt2");
  EXPECT_EQ(alone->loss, "returned");
  EXPECT_EQ(alone->scale, 1);
  const auto model = read("model: {network: 'zoo:mlp,hidden=64', loss: mse, scale: 8}").model;
  ASSERT_TRUE(model);
  EXPECT_EQ(model->network, "zoo:mlp,hidden=64");
  EXPECT_EQ(model->loss, "mse");
  EXPECT_EQ(model->scale, 8);
}

TEST(StudyKeysTest, ChecksTheNetworkThatIsTrained) {
  EXPECT_EQ(With("model: ''"),
            "study.yaml:1: model: expected a file of torch.export, or zoo:NAME, found ''");
  EXPECT_THAT(With("model: [net.pt2]"), HasSubstr("study.yaml:1: model: expected"));
  EXPECT_THAT(
      With("model: {loss: mse}"),
      HasSubstr("model.network: expected a file of torch.export, or zoo:NAME, found nothing; "
                "add 'network: net.pt2'"));
  EXPECT_THAT(With("model: {network: net.pt2, scale: 0.5}"),
              HasSubstr("model.scale: expected a number from 1 to"));
  EXPECT_THAT(With("model: {netwrk: net.pt2}"), HasSubstr("did you mean 'network'?"));
}

TEST(StudyKeysTest, PoliciesThatPackGpusNeedToKnowMemory) {
  for (const char* policy : {"hypersack-ff", "hypersack-ffd", "hypersack-wf", "hypersack-wfd",
                             "hypersack-mip", "hydro"}) {
    const std::string line = "policy: " + std::string(policy) + "\nresources: ";
    EXPECT_EQ(With(line + "{gpus: 1}"),
              "study.yaml:1: policy: the policy " + std::string(policy) +
                  " packs trials by the memory they take, and nothing says how much that is: add "
                  "'resources: {memory: 4GiB}', or take another policy");
    EXPECT_EQ(With(line + "{gpus: 1, memory: 4GiB}"), "");
    EXPECT_EQ(With(line + "{cpus: 1}"), "") << "without GPUs there is nothing to say";
  }
}

}  // namespace
}  // namespace sluice
