#pragma once

#include "base/result.h"
#include "cli/options.h"
#include "cli/view/terminal.h"
#include "ledger/store.h"

namespace sluice {

// What every verb needs to know.
struct Context {
  StorePaths paths;
  Terminal terminal;
  bool json = false;
};

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

// Each prints to standard output and returns the exit status.
Result<int> RunVerb(const Context& context, const TuneOptions& options);
Result<int> RunVerb(const Context& context, const CheckOptions& options);
Result<int> RunVerb(const Context& context, const ResumeOptions& options);
Result<int> RunVerb(const Context& context, const RunOptions& options);
Result<int> RunVerb(const Context& context, const StudiesOptions& options);
Result<int> RunVerb(const Context& context, const StatusOptions& options);
Result<int> RunVerb(const Context& context, const WatchOptions& options);
Result<int> RunVerb(const Context& context, const TrialsOptions& options);
Result<int> RunVerb(const Context& context, const BestOptions& options);
Result<int> RunVerb(const Context& context, const LogsOptions& options);
Result<int> RunVerb(const Context& context, const RetryOptions& options);
Result<int> RunVerb(const Context& context, const EnqueueOptions& options);
Result<int> RunVerb(const Context& context, const StopOptions& options);
Result<int> RunVerb(const Context& context, const DeleteOptions& options);
Result<int> RunVerb(const Context& context, const ExportOptions& options);
Result<int> RunVerb(const Context& context, const ImportOptions& options);
Result<int> RunVerb(const Context& context, const DoctorOptions& options);
Result<int> RunVerb(const Context& context, const SimulateOptions& options);
Result<int> RunVerb(const Context& context, const PlanOptions& options);
Result<int> RunVerb(const Context& context, const ModelOptions& options);

}  // namespace sluice
