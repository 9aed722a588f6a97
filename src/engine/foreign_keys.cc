#include "engine/foreign_keys.h"

namespace sluice {

const std::vector<std::pair<std::string, std::string>>& ForeignKeys() {
  static const auto& keys = *[] {
    struct Meaning {
      std::string ours;
      std::vector<std::string> theirs;
    };
    const std::vector<Meaning> meanings = {
        {"'parallelism: 4'",
         {"n_jobs", "max_concurrent", "max_concurrent_trials", "max_parallel_trials", "concurrency",
          "concurrent_trials", "parallel", "num_workers", "workers", "max_workers",
          "parallelTrialCount"}},
        {"'trials: 24'",
         {"num_samples", "max_evals", "run_cap", "num_trials", "max_trials", "count", "iterations",
          "n_iter", "total_trials", "maxTrialCount"}},
        {"'deadline: 1h' for the study, or 'timeouts: {trial: 10m}' for each trial",
         {"timeout", "time_budget", "time_budget_s", "max_time", "max_duration", "time_limit"}},
        {"'objective: {minimize: loss}'",
         {"direction", "directions", "metric", "metrics", "mode", "goal", "optimize", "minimize",
          "maximize", "target"}},
        {"'stopper: asha'",
         {"pruner", "scheduler", "early_terminate", "early_stopping", "pruning"}},
        {"'sampler: tpe'", {"search_alg", "searcher", "algorithm", "algo", "method", "search"}},
        {"'resources: {cpus: 2, gpus: 1}'",
         {"gpus", "gpu", "num_gpus", "cpus", "cpu", "num_cpus", "memory", "resources_per_trial"}},
        {"'space: {lr: {float: [0.1, 1]}}'",
         {"search_space", "parameters", "params", "param_space", "hyperparameters", "config",
          "hparams", "param_distributions", "param_grid"}},
        {"'environment: {NAME: value}'", {"env", "envs", "env_vars", "environment_variables"}},
        {"'program: python train.py {args}'",
         {"command", "cmd", "script", "entrypoint", "run", "main", "executable", "train", "args"}},
        {"'study: NAME'", {"name", "study_name", "project", "experiment", "experiment_name"}},
        {"'--store FILE' on the command line",
         {"storage", "store", "database", "storage_path", "local_dir", "output_dir", "save_dir",
          "log_dir"}},
        {"'budget: {max: 27}'",
         {"epochs", "max_epochs", "max_iter", "max_t", "grace_period", "n_epochs", "max_steps"}},
        {"'retries: 1'", {"max_retries", "retry", "restarts"}},
        {"'max_failures: 3'", {"fail_fast", "max_failed_trials", "maxFailedTrialCount"}},
        {"'seed: 1'", {"random_seed", "random_state"}},
        {"'enqueue: [{lr: 0.1}]'",
         {"initial_points", "points_to_evaluate", "initial_params", "enqueue_trial"}},
    };
    auto* all = new std::vector<std::pair<std::string, std::string>>;
    for (const auto& [ours, theirs] : meanings) {
      for (const std::string& key : theirs) all->emplace_back(key, ours);
    }
    return all;
  }();
  return keys;
}

}  // namespace sluice
