#include "engine/read/foreign_keys.h"

#include <functional>
#include <map>

namespace sluice {
namespace {

using Translations = std::vector<std::pair<std::string, std::string>>;

struct Meaning {
  std::string ours;
  std::vector<std::string> theirs;
};

Translations* Listed(const std::vector<Meaning>& meanings) {
  auto* all = new Translations;
  for (const auto& [ours, theirs] : meanings) {
    for (const std::string& key : theirs) all->emplace_back(key, ours);
  }
  return all;
}

}  // namespace

const Translations& ForeignSweepKeys() {
  static const auto& keys = *Listed({
      {"'run_cap: 50'",
       {"trials", "n_trials", "num_samples", "max_evals", "num_trials", "max_trials", "count",
        "max_runs"}},
      {"'parameters: {lr: {min: 0.1, max: 1.0}}'",
       {"search_space", "params", "param_space", "hyperparameters", "config", "sweep_parameters"}},
      {"'metric: {name: loss, goal: minimize}'", {"direction", "goal", "metrics", "mode"}},
      {"'method: bayes'", {"sampler", "search_alg", "algorithm", "algo", "search", "strategy"}},
      {"'early_terminate: {type: hyperband, min_iter: 3}'",
       {"stopper", "pruner", "early_stopping", "early_termination"}},
      {"'parallelism: 4'", {"n_jobs", "max_concurrent", "max_concurrent_trials", "num_workers"}},
      {"'environment: {NAME: value}'", {"env", "envs", "env_vars"}},
      {"'name: NAME'", {"study", "sweep_name", "study_name"}},
      {"'program: train.py', or a 'command' list", {"script", "cmd", "entrypoint", "run"}},
  });
  return keys;
}

const Translations& ForeignKeysOf(std::string_view section) {
  static const auto& sections = *new std::map<std::string, Translations*, std::less<>>{
      {"budget",
       Listed({{"'trials: 24' beside the budget", {"trials", "n_trials", "num_samples"}},
               {"'deadline: 1h' beside the budget", {"deadline", "time", "timeout"}},
               {"'max: 27'",
                {"max_t", "max_resource", "max_epochs", "epochs", "max_iter", "total", "n_epochs",
                 "maximum", "limit"}},
               {"'min: 1'", {"grace_period", "min_resource", "min_t", "min_iter", "minimum"}},
               {"'eta: 3'", {"reduction_factor", "factor", "reduction"}},
               {"'unit: epoch'", {"time_attr", "units", "resource_attr", "step_unit"}}})},
      {"objective",
       Listed({{"'objective: {maximize: METRIC}' or 'objective: {minimize: METRIC}'",
                {"name", "metric", "goal", "direction", "mode", "type"}},
               {"'maximize: METRIC'", {"max", "maximise"}},
               {"'minimize: METRIC'", {"min", "minimise"}},
               {"'stop_at: {METRIC: 0.9}' beside the objective", {"target", "threshold"}}})},
      {"data",
       Listed({{"'path: FOLDER'", {"dataset", "root", "dir", "folder", "file", "name", "data"}},
               {"'kind: idx'", {"format", "type"}},
               {"'validation_fraction: 0.1'",
                {"val_fraction", "validation_split", "val_split", "val_size", "valid_fraction"}},
               {"'test_fraction: 0.1'", {"test_split", "test_size"}},
               {"'validation: {inputs: FILE, targets: FILE}'", {"val", "valid", "eval"}},
               {"'split_seed: 0'", {"seed", "random_state"}},
               {"'normalise: measure'", {"normalize", "normalization", "standardize", "scale"}},
               {"'window: 128'", {"block_size", "context", "sequence_length", "seq_len", "length"}},
               {"'vocabulary: 50257'", {"vocab", "vocab_size"}},
               {"'token_type: uint16'", {"dtype"}},
               {"'classes: 10'", {"num_classes", "n_classes"}},
               {"'crop: 4'", {"padding", "random_crop", "crop_padding"}},
               {"'flip: true'", {"hflip", "horizontal_flip", "random_flip", "mirror"}},
               {"'batch: 32' in 'train'", {"batch", "batch_size"}}})},
      {"data.files",
       Listed({{"'inputs: FILE'", {"x", "X", "images", "features", "input", "files", "path"}},
               {"'targets: FILE'", {"y", "Y", "labels", "target", "label"}}})},
      {"data.normalise", Listed({{"'deviation: 0.25'", {"std", "stddev", "sigma"}}})},
      {"model",
       Listed({{"'network: net.pt2'", {"name", "path", "file", "archive", "net", "arch", "model"}},
               {"'loss: cross_entropy'", {"criterion", "objective", "loss_fn"}}})},
      {"resources",
       Listed({{"'memory: 16GiB'", {"mem", "ram", "vram", "gpu_memory", "memory_gb"}},
               {"'cpus: 2'", {"cores", "num_cpus", "cpu_count", "threads"}},
               {"'gpus: 1'",
                {"num_gpus", "gpu_count", "devices", "accelerators", "gpus_per_trial"}}})},
      {"stopper",
       Listed({{"'name: asha'", {"type", "kind", "method", "algorithm", "scheduler"}},
               {"'eta: 3' in 'budget', beside the stopper", {"eta", "reduction_factor"}},
               {"'max: 27' in 'budget', beside the stopper",
                {"max_t", "max", "max_resource", "max_iter"}},
               {"'min: 1' in 'budget', beside the stopper",
                {"min", "grace_period", "min_resource", "min_iter", "n_warmup_steps", "warmup"}},
               {"'startup: 5'", {"n_startup_trials", "startup_trials", "min_samples_required"}},
               {"'min_trials: 1'", {"n_min_trials", "min_samples"}},
               {"'interval: 4'", {"perturbation_interval", "interval_steps"}},
               {"'quantile: 0.25'", {"quantile_fraction"}},
               {"'mutate: [lr]'", {"hyperparam_mutations", "mutations"}}})},
      {"train",
       Listed({{"'lr: 0.1'", {"learning_rate", "eta", "step_size"}},
               {"'batch: 32'", {"batch_size", "batchsize", "bs"}},
               {"'optimizer: sgd'", {"optimiser", "optim", "opt"}},
               {"'schedule: cosine'", {"scheduler", "lr_schedule", "lr_scheduler"}},
               {"'schedule: {name: cosine, warmup: 1}'", {"warmup", "warm_up", "warmup_epochs"}},
               {"'weight_decay: 0.01'", {"wd", "l2", "decay"}},
               {"'betas: [0.9, 0.999]'", {"beta1", "beta2", "beta"}},
               {"'clip_norm: 1'",
                {"grad_clip", "clip", "max_grad_norm", "gradient_clip_val", "max_norm"}},
               {"'eps: 1e-8'", {"epsilon"}},
               {"'precision: bf16'", {"dtype", "amp"}},
               {"'label_smoothing: 0.1'", {"smoothing"}},
               {"'budget: {max: 10}' beside 'train'",
                {"epochs", "max_epochs", "steps", "max_steps", "n_epochs", "num_epochs"}},
               {"'seed: 1' beside 'train'", {"seed"}},
               {"'model: {network: NAME, loss: cross_entropy}' beside 'train'",
                {"loss", "network", "criterion"}},
               {"'data: FOLDER' beside 'train'", {"data", "dataset"}}})},
      {"train.schedule",
       Listed({{"'name: cosine'", {"type", "kind"}},
               {"'every: 10'", {"step_size", "step", "steps"}},
               {"'at: [10, 20]'", {"milestones"}},
               {"'over: 30'", {"T_max", "t_max", "total", "epochs", "total_steps"}},
               {"'last: 0'", {"eta_min", "min_lr", "final"}},
               {"'rise: 0.3'", {"pct_start"}},
               {"'div: 25'", {"div_factor"}},
               {"'warmup: 1'", {"warm_up", "warmup_epochs", "warmup_steps"}}})},
      {"timeouts",
       Listed({{"'deadline: 1h' beside the timeouts", {"total", "study", "deadline", "all"}},
               {"'trial: 10m'", {"run", "per_trial", "max", "job", "timeout"}},
               {"'report: 5m'", {"heartbeat", "silence", "idle", "stall"}},
               {"'grace: 30s'", {"kill", "shutdown", "stop", "term"}}})},
      {"warm_start", Listed({{"'trials: best 20'", {"top", "best", "n", "count", "limit"}},
                             {"'study: NAME'", {"name", "from", "source"}},
                             {"'store: FILE'", {"file", "path", "database", "db"}}})}};
  static const Translations& none = *new Translations;
  const auto found = sections.find(section);
  return found == sections.end() ? none : *found->second;
}

const Translations& ForeignSamplers() {
  static const auto& names = *Listed(
      {{"tpe", {"bayes", "bayesian", "bayesopt", "optuna", "hyperopt", "gaussian_process", "gp"}},
       {"sobol", {"qmc", "halton", "latin_hypercube", "lhs", "quasi_random"}},
       {"grid", {"exhaustive", "brute_force"}}});
  return names;
}

const Translations& ForeignStoppers() {
  static const auto& names = *Listed({{"sha", {"successive_halving", "halving"}},
                                      {"hyperband", {"bohb"}},
                                      {"patience", {"early_stopping", "plateau", "no_improvement"}},
                                      {"pbt", {"population", "population_based_training"}},
                                      {"asha", {"async_hyperband"}},
                                      {"none", {"nop", "no", "off"}}});
  return names;
}

const Translations& ForeignKeys() {
  static const auto& keys = *Listed({
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
        "target"}},
      {"'stopper: {name: patience, patience: 10}'", {"patience", "min_delta"}},
      {"'stopper: {name: median, startup: 5}'", {"startup", "min_trials", "n_startup_trials"}},
      {"'stopper: {name: percentile, percentile: 25}'", {"percentile"}},
      {"'stopper: {name: pbt, quantile: 0.25}'", {"quantile", "interval", "mutate"}},
      {"'stopper: {name: sha, bracket: 27}'", {"bracket", "brackets"}},
      {"'budget: {max: 27, eta: 3, unit: epoch}'",
       {"eta", "unit", "reduction_factor", "min", "max"}},
      {"'timeouts: {trial: 10m, grace: 30s}'", {"trial", "grace", "lease", "report"}},
      {"'space: {NAME: {..., when: ...}}', below a parameter", {"when", "conditions"}},
      {"'fuse: {most: 4}'", {"fusion", "most"}},
      {"'objective: {maximize: METRIC}'", {"maximize", "maximise"}},
      {"'stopper: asha'", {"pruner", "scheduler", "early_terminate", "early_stopping", "pruning"}},
      {"'sampler: tpe'", {"search_alg", "searcher", "algorithm", "algo", "method", "search"}},
      {"'gpus: 1' in 'resources'", {"gpus", "gpu", "num_gpus"}},
      {"'cpus: 2' in 'resources'", {"cpus", "cpu", "num_cpus"}},
      {"'memory: 8GiB' in 'resources'", {"memory"}},
      {"'resources: {cpus: 2, gpus: 1}'", {"resources_per_trial"}},
      {"'space: {lr: {float: [0.1, 1]}}'",
       {"search_space", "parameters", "params", "param_space", "hyperparameters", "config",
        "hparams", "param_distributions", "param_grid"}},
      {"'environment: {NAME: value}'", {"env", "envs", "env_vars", "environment_variables"}},
      {"'program: python train.py {args}'",
       {"command", "cmd", "script", "entrypoint", "run", "main", "executable", "args"}},
      {"'study: NAME'", {"name", "study_name", "project", "experiment", "experiment_name"}},
      {"'--store FILE' on the command line",
       {"storage", "store", "database", "storage_path", "local_dir", "output_dir", "save_dir",
        "log_dir"}},
      {"'budget: {max: 27}'",
       {"epochs", "max_epochs", "max_iter", "max_t", "n_epochs", "max_steps"}},
      {"'min: 1' in 'budget'", {"grace_period", "min_resource"}},
      {"'retries: 1'", {"max_retries", "retry", "restarts"}},
      {"'max_failures: 3'", {"fail_fast", "max_failed_trials", "maxFailedTrialCount"}},
      {"'seed: 1'", {"random_seed", "random_state"}},
      {"'enqueue: [{lr: 0.1}]'",
       {"initial_points", "points_to_evaluate", "initial_params", "enqueue_trial"}},
  });
  return keys;
}

}  // namespace sluice
