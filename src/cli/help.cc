#include "cli/help.h"

#include <array>

namespace sluice {
namespace {

constexpr std::string_view kOverview = R"(sluice: tune the hyperparameters of any program

usage: sluice VERB [ARGUMENT...] [--store FILE] [--json]

run
  tune STUDY.yaml   make a study and run it to its end; Ctrl-C pauses it
  check STUDY.yaml  say what tune would do, and run nothing
  resume NAME       go on with a study: after Ctrl-C, a crash, or with more trials
  run [NAME]        run the program once more with the best parameters, outside the study

look
  studies           every study in the store, one a line
  status [NAME]     how a study stands
  watch [NAME]      the same, live, from another terminal
  trials [NAME]     its trials as a table
  best [NAME]       the best trial, its parameters, and how to run it again
  logs TRIAL        what a trial printed
  export [NAME]     trials or reports as CSV, JSON lines or an Optuna storage

change
  enqueue NAME P=V  try points of your own first
  retry TRIAL       give a failed or stopped trial another chance
  stop [NAME]       end a study for good
  delete NAME       remove a study and all its files
  import FILE       take in a study of Optuna's

plan
  plan STUDY.yaml   predict what tune would do under each policy, and advise one
  simulate SCENARIO try policies on a simulated cluster, in virtual time
  doctor            check this machine and the store

model
  model show FILE   a network exported from PyTorch: its widths, parameters, operators
  model shrink FILE make it narrower, so that what is found on it holds on the original

A study that is not named is the one changed last.

  --store FILE  where studies are kept (else $SLUICE_STORE, else
                ~/.local/share/sluice/sluice.db)
  --json        print for programs instead of people
  --version     print the version
  -h, --help    print this, or the help of a verb

exit status: 0 done, 1 failed, 2 wrong usage or input, 130 paused by Ctrl-C

examples:
  sluice tune study.yaml              run a study
  sluice best                         what came out of it
  sluice trials --sort value          all trials, best first
  sluice tune --help                  more about one verb
)";

constexpr std::string_view kTune =
    "usage: sluice tune STUDY.yaml "
    R"([--name NAME] [--trials N] [--seed N] [--replace] [-q] [--plain]

Makes a study from a file and runs it to its end in this terminal. Everything reported is on
disk before it counts: nothing is lost if this process or the machine dies. Ctrl-C lets what
runs save and leave, a second one kills it; 'sluice resume NAME' goes on.

A sweep file of Weights & Biases is a study too: its scripts run as they are (docs/sweeps.md).

  --name NAME   call the study this instead of what the file says
  --trials N    make this many trials instead of what the file says
  --replace     remove an earlier study of the same name, with its files, and begin anew
  --seed N      draw the same parameters again
  -q, --quiet   show nothing until the end
  --plain       a line now and then instead of a live view (as when the output is no terminal)
  --store FILE  where studies are kept
  --json        progress as one JSON object a line, at most one a second, and a last one with
                "event": "summary"
  -h, --help    print this

examples:
  sluice tune study.yaml
  sluice tune study.yaml --name lr-again --trials 100
  sluice tune study.yaml --seed 7 --plain > tune.log
  sluice tune study.yaml --json | jq 'select(.event == "summary") | .best.params'
)";

constexpr std::string_view kCheck = R"(usage: sluice check STUDY.yaml [--trials N]

Reads a study file and says what 'sluice tune' would do with it on this machine: what is
searched and how, how many trials run at once, and what looks wrong. Nothing is run and nothing
is written. Of a sweep file of Weights & Biases it also says which keys have no effect.

  --trials N    as for 'sluice tune'
  --store FILE  the store to look for a study of the same name in
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice check study.yaml
  sluice check study.yaml && sluice tune study.yaml
  sluice check study.yaml --json | jq .parallelism
)";

constexpr std::string_view kResume =
    R"(usage: sluice resume NAME|STUDY.yaml [--trials N] [--deadline D] [-q] [--plain]

Goes on with a study that was paused by Ctrl-C, was cut off by a crash, or has finished and is
to have more trials or time. What still runs of it is adopted; what was interrupted continues
from its checkpoint. With a file (an argument with '/', or ending in .yaml or .yml) it takes what
was edited there and can change: trials, deadline, parallelism, policy, timeouts, retries, backoff
and max_failures.

  --trials N    a new total number of trials
  --deadline D  a new deadline: a duration from now (20m, 1h30m) or a time (2026-01-31T18:00:00Z)
  -q, --quiet   show nothing until the end
  --plain       a line now and then instead of a live view
  --store FILE  where studies are kept
  --json        progress as one JSON object a line, as for tune
  -h, --help    print this

examples:
  sluice resume fashion
  sluice resume fashion --trials 200      make more trials of a finished study
  sluice resume fashion --deadline 1h
  sluice resume study.yaml                with what was edited in the file
)";

constexpr std::string_view kRun = R"(usage: sluice run [NAME] [--best | --trial N]

Runs the program of a study once more, here and now, with the parameters and the seed of its best
trial: from the study's folder, with its environment, and from no checkpoint. What it reports is
printed; the study does not hear of it. {budget} is how far the trial got, and {checkpoint} a new
folder. The exit status is the program's.

  --best        the best trial, as without a flag
  --trial N     another one
  --store FILE  where studies are kept
  --json        has no effect: what is printed is the program's
  -h, --help    print this

examples:
  sluice run
  sluice run fashion --best
  sluice run fashion --trial 7
)";

constexpr std::string_view kStudies = R"(usage: sluice studies

Lists every study in the store: its state, how many trials are done, the best value, when it
changed.

  --store FILE  where studies are kept
  --json        as a JSON array
  -h, --help    print this

examples:
  sluice studies
  sluice studies --store /data/team.db
  sluice studies --json | jq -r '.[] | select(.state == "interrupted") | .name'
)";

constexpr std::string_view kStatus = R"(usage: sluice status [NAME]

How a study stands: its state, its trials by state, the best one, those that run and, from 10
finished trials on, which parameters mattered most. A study that has not finished and that no
process runs is interrupted: 'sluice resume NAME' goes on with it.

  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice status
  sluice status fashion
  sluice status fashion --json | jq .best.value
)";

constexpr std::string_view kWatch = R"(usage: sluice watch [NAME] [--plain]

The live view of a study that another process runs. Ctrl-C leaves the view; the study goes on.

  --plain       a line now and then instead of a live view
  --store FILE  where studies are kept
  --json        one JSON object a line, at most one a second
  -h, --help    print this

examples:
  sluice watch
  sluice watch fashion
  sluice watch fashion --plain | tee watch.log
)";

constexpr std::string_view kTrials =
    R"(usage: sluice trials [NAME] [--state STATE] [--sort id|value] [--limit N]

The trials of a study as a table. The column named like the objective is what each trial counts
with: its best value, or its last where the study says so. A table too wide for the terminal is cut;
one that goes to a file or a pipe is not.

  --state STATE  only trials that are waiting, running, paused, complete, stopped or failed
  --sort ORDER   id (as they were made) or value (best first)
  --limit N      at most so many
  --store FILE   where studies are kept
  --json         as a JSON array
  -h, --help     print this

examples:
  sluice trials
  sluice trials fashion --sort value --limit 10
  sluice trials --state failed
  sluice trials --json | jq '.[].params.lr'
)";

constexpr std::string_view kBest = R"(usage: sluice best [NAME] [--top N]

The best trial of a study: its value and when it reached it, its parameters, the command that runs
it again ('sluice run' where the program reads its parameters), and where its checkpoint and output
are. From 10 finished trials on also what
mattered in the study: the part each parameter has in the differences between trials, and where the
best tenth of the trials lies.

  --top N       the best N as a table
  --store FILE  where studies are kept
  --json        as a JSON object; with --top as an array
  -h, --help    print this

examples:
  sluice best
  sluice best fashion --top 5
  sluice best --json | jq .params > best.json
  sluice best --json | jq .importance
)";

constexpr std::string_view kLogs =
    R"(usage: sluice logs TRIAL [--study NAME] [--launch N] [--follow] [--stderr]

What a trial printed on standard output. A trial that was resumed or retried has several
launches; the latest is shown.

  --study NAME  the study of the trial
  --launch N    an earlier launch
  -f, --follow  go on as the trial prints more, until the launch ends
  --stderr      standard error instead
  --store FILE  where studies are kept
  --json        one JSON object a line of output
  -h, --help    print this

examples:
  sluice logs 7
  sluice logs 7 --stderr                  why it failed
  sluice logs 12 --study fashion --follow
  sluice logs 7 --launch 1 | less
)";

constexpr std::string_view kRetry = R"(usage: sluice retry TRIAL [--study NAME]

Gives a failed or stopped trial another chance, with the same parameters and from its checkpoint
if it has one: at once if the study runs, else when it is resumed.

  --study NAME  the study of the trial
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice retry 7
  sluice retry 7 --study fashion && sluice resume fashion
)";

constexpr std::string_view kEnqueue = R"(usage: sluice enqueue NAME PARAMETER=VALUE...
       sluice enqueue NAME --file FILE

Gives a study points to try before those its sampler proposes, first in, first tried: at once if
the study runs, else when it is resumed. Parameters that are left out are drawn from the space.
Enqueued points count in the study's number of trials. All points of a file are taken, or none.

  --file FILE   points as JSON objects, one a line, or CSV with a header if it is called *.csv
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice enqueue fashion lr=0.01 width=64
  sluice enqueue fashion lr=0.01          the other parameters are drawn
  sluice enqueue fashion --file points.jsonl && sluice resume fashion --trials 40
)";

constexpr std::string_view kStop = R"(usage: sluice stop [NAME] [--trial N]

Ends a study for good: trials that run are stopped, no new ones are made, what was reported
stays. To pause a study instead, press Ctrl-C where it runs. With --trial it ends that trial
alone, and the study goes on.

  --trial N     end this trial alone
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice stop
  sluice stop fashion
  sluice stop fashion --trial 7           the others go on
  sluice resume fashion --trials 50       changed your mind
)";

constexpr std::string_view kDelete = R"(usage: sluice delete NAME [--yes]

Removes a study with its trials, reports, checkpoints and output. Asks first.

  -y, --yes     do not ask
  --store FILE  where studies are kept
  --json        as a JSON object; needs --yes
  -h, --help    print this

examples:
  sluice delete fashion
  sluice delete fashion --yes
)";

constexpr std::string_view kExport =
    R"(usage: sluice export [NAME] [--format csv|jsonl|optuna] [--reports] [-o FILE]

Writes a study's trials, one a row, or with --reports every report of every trial. Parameters
are the columns params_NAME, facts the trials told of themselves attributes_NAME.

With --format optuna it writes an SQLite file that Optuna 3.2 to 5 loads and goes on with. Stopped
and paused trials are pruned there; a trial's value is its best report, as in 'sluice best'.

  --format F         csv, jsonl or optuna; by default what the file's name ends with, else csv
  --reports          one row a report: trial, launch, time, work, and a column for each metric
  -o, --output FILE  write a file (whole or not at all) instead of standard output; one of
                     Optuna's must be new
  --store FILE       where studies are kept
  --json             to standard output: the same as --format jsonl
  -h, --help         print this

examples:
  sluice export > trials.csv
  sluice export fashion --reports -o curves.csv
  sluice export fashion --format jsonl | jq .params
  sluice export fashion --format optuna -o fashion.db
)";

constexpr std::string_view kImport = R"(usage: sluice import FILE [--study NAME] [--name NAME]

Takes a study of Optuna's into the store: its trials, values and intermediate values, as a finished
study that status, trials, best and export show. FILE is an SQLite file of Optuna 3.2 to 5; it is
only read. The study has no program, so it cannot be resumed: begin a new study from it with
'warm_start: {optuna: FILE}' in its file.

  --study NAME  which of the studies in the file; not needed if there is one
  --name NAME   what to call it here, if not the same
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice import optuna.db
  sluice import optuna.db --study resnet --name resnet-2024
  sluice import optuna.db && sluice best
)";

constexpr std::string_view kDoctor = R"(usage: sluice doctor [--replay NAME]

Checks what studies need on this machine: cores, GPUs and their driver, libraries, the store, its
folder and disk. Exits with 1 if something would keep studies from running.

  --replay NAME  also read every page of the store, replay everything that ever happened in
                 this study, and compare what comes out with the state a restart begins from
  --store FILE   the store to check
  --json         as a JSON object
  -h, --help     print this

examples:
  sluice doctor
  sluice doctor --replay fashion
  sluice doctor --store /data/team.db
  sluice doctor --json | jq '.checks[] | select(.state != "ok")'
)";

constexpr std::string_view kSimulate =
    R"(usage: sluice simulate SCENARIO.yaml [--policy P,...] [--seeds N] [--gantt FILE.svg]

Runs the studies of a scenario on a simulated cluster: the same engine, policies, samplers and
stoppers as 'sluice tune', in virtual time, with learning curves in place of programs. Prints for
each policy the makespan, the time a study took, how much of the devices was used, and how long
the policy's decisions took; then for each study how it fared. Numbers are means over the seeds
with their 95 % intervals. Nothing is stored and nothing is run.

A scenario lists nodes and studies (docs/simulate.md). One that fits on no node is left out, with
a remark, and the others run. The same scenario, policy and seed give the same run everywhere.

  --policy P,...    what to compare: policies (docs/policies.md) and labels of the scenario's
                    'policies'; by default its 'compare', or fifo
  --cluster NAME    one of the scenario's 'clusters', where it has several; by default the first
  --seeds N         runs with the seeds 1 to N instead of what the scenario says
  --gantt FILE.svg  draw who ran where, for seed 1 of each policy; the file must be new
  --store FILE      has no effect here
  --json            as a JSON object, with the values of every seed
  -h, --help        print this

examples:
  sluice simulate scenarios/one-box.yaml
  sluice simulate scenarios/two-studies.yaml --seeds 20
  sluice simulate scenarios/hypersched-1800.yaml --gantt hypersched.svg
  sluice simulate scenarios/one-box.yaml --json | jq '.policies[].makespan_seconds.mean'
)";

constexpr std::string_view kModel =
    R"(usage: sluice model show FILE.pt2 [--json]
       sluice model shrink FILE.pt2 [--scale S] [--explain] [--json] ...
       sluice model zoo [--json]

Looks at a network that was exported with sluice.export or torch.export.save: nothing in the file
is executed, and of weights only samples are read. Or at one that is built in: 'zoo' lists them,
and zoo:NAME or zoo:NAME,OPTION=VALUE,... stands for a file.

show prints its inputs, its widths (sizes that can be chosen), its parameters with how they were
drawn, and its operators.

shrink makes a surrogate: the same network with every width divided by S, and for each parameter
how it is drawn and by which factors its learning rate, weight decay and eps differ, so that what
is found on the surrogate holds on the network itself.

  --scale S         divide widths by this; by default 8
  --parameters N    or find the scale that leaves about so many parameters
  --min-width N     no width gets smaller than this; by default 8
  --width W=N       a size of your own for a width, by its name in show; may be repeated
  --pin NAME:AXIS   a dimension of a parameter that is no width; may be repeated
  --rule R          mup (the default), spectral, or standard, which rescales nothing
  --decay D         of weight decay: scaled (the default: its product with the learning rate
                    stays the same), or same (as it is given)
  --readout R       zero (the default: output layers begin at 0, here and in the original), or keep
  --study FILE      say which parameters of this study do not carry over; without FILE.pt2, the
                    network is the study's, and so is the scale
  --explain         a row for each parameter
  --store FILE      has no effect here
  --json            the same for programs, with the whole graph
  -h, --help        print this

examples:
  sluice model show net.pt2
  sluice model shrink net.pt2 --scale 8 --explain
  sluice model shrink net.pt2 --parameters 1000000
  sluice model shrink net.pt2 --pin head.weight:1 --json | jq .widths
)";

constexpr std::string_view kPlan =
    "usage: sluice plan STUDY.yaml "
    R"([--unit-time D] [--like NAME] [--on SCENARIO.yaml] [--policy P,...]

Predicts how a study would go before it is run: how long it takes, or how good its best trial is
at its deadline, how many device-hours it needs and how many trials end, under each policy that
can carry it out; then advises one and says why. It runs the study in the simulator, for several
seeds. Nothing is stored and nothing is run. docs/plan.md says how far to trust it.

How long a unit of work takes, what a start costs and how trials learn is taken from the flags,
else from the study's 'profile', else from what a study of the same name in the store has
measured, else assumed; the output says of each figure which. Where nobody knows how long a unit
takes, times are in units of one trial alone.

  --unit-time D     how long a unit of work takes, alone on one device: 30s, 1.5m, 200ms
  --start-up D      how long a program takes before its first step
  --workload YAML   these and more, as in the 'workload' of a scenario (docs/simulate.md)
  --like NAME       take what is not given from this study in the store
  --trials N        plan so many trials instead of what the file says
  --on FILE         the nodes of a scenario instead of this machine; what only the simulator can
                    do is shown too, and never advised
  --cluster NAME    one of that file's 'clusters'; by default the first
  --policy P,...    compare only these
  --seeds N         runs with the seeds 1 to N; by default 20, or fewer (3 at least) where that
                    takes more than a few seconds
  --store FILE      where to look for an earlier study
  --json            as a JSON object, with the values of every seed
  -h, --help        print this

examples:
  sluice plan study.yaml --unit-time 30s --start-up 9s
  sluice plan study.yaml --like fashion --policy fifo,lpt
  sluice plan study.yaml --unit-time 30s --on scenarios/one-box.yaml
  sluice plan study.yaml --json | jq .advised.policy
)";

struct Page {
  std::string_view verb;
  std::string_view help;
};
constexpr std::array kPages = {
    Page{"tune", kTune},     Page{"check", kCheck},     Page{"resume", kResume},
    Page{"run", kRun},       Page{"studies", kStudies}, Page{"status", kStatus},
    Page{"watch", kWatch},   Page{"trials", kTrials},   Page{"best", kBest},
    Page{"logs", kLogs},     Page{"export", kExport},   Page{"enqueue", kEnqueue},
    Page{"retry", kRetry},   Page{"stop", kStop},       Page{"delete", kDelete},
    Page{"import", kImport}, Page{"plan", kPlan},       Page{"simulate", kSimulate},
    Page{"doctor", kDoctor}, Page{"model", kModel}};

}  // namespace

const std::vector<std::string>& Verbs() {
  static const auto& verbs = *[] {
    auto* names = new std::vector<std::string>;
    for (const Page& page : kPages) names->emplace_back(page.verb);
    return names;
  }();
  return verbs;
}

std::string_view HelpFor(std::string_view verb) {
  if (verb.empty()) return kOverview;
  for (const Page& page : kPages) {
    if (page.verb == verb) return page.help;
  }
  return {};
}

}  // namespace sluice
