# `make` builds, `make help` lists the rest. Everything made goes to build/ and .venv/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

ROOM ?=
export JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
BIN := build/release/bin
BUILD := setup/build
CHECK := python3 setup/check.py --jobs $(JOBS) $(if $(ROOM),--room $(ROOM))

# The programs of trials find the package and PyTorch; the tests find the binaries.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export SLUICE_BIN_DIR := $(CURDIR)/$(BIN)

SOURCES = $(shell find src apps tests bench -name '*.cc' -o -name '*.h' -o -name '*.c' -o -name '*.cu')

# Trials import the package again and again: its bytecode is made once, here.
BYTECODE = python3 -m compileall -q python/sluice

# Rooms are built and tested alone, so that a room can be worked on while another does not compile.
IS_ROOM := $(and $(ROOM),$(wildcard src/$(ROOM) $(filter tests/rig,tests/$(ROOM))))

# What a user runs: the target `programs` is these two and, where PyTorch was found, sluice-trainer,
# which takes minutes to build. The demo's trials are a script, so it does not wait for the trainer.
PROGRAMS := programs
DEMO_PROGRAMS := sluice sluice-launcher

.PHONY: build help setup test soak demo bench lint format asan tsan clang plants branches fuzz clean

build: ## builds build/release/bin/sluice (the default)
	@setup/install build
	@$(BUILD) release $(PROGRAMS)
	@$(BYTECODE)

help: ## lists these targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## installs what is missing for everything but the benchmarks
	@setup/install build test fuzz lint

test: ## runs all tests, fuzzes 10 s a target, finds each planted bug; ROOM=engine: one room's tests
	@setup/install build $(if $(IS_ROOM),gtest,$(if $(filter plants,$(ROOM)),fuzz,test fuzz))
ifeq ($(filter includes fuzz plants lean,$(ROOM)),)
	@$(BUILD) tests $(if $(IS_ROOM),$(ROOM)_test)
endif
ifneq ($(if $(ROOM),$(filter lean,$(ROOM)),all),)
	@setup/lean_headers
	@$(BUILD) release $(PROGRAMS)
	@$(BUILD) lean-alone
endif
ifneq ($(if $(ROOM),$(filter fuzz,$(ROOM)),all),)
	@$(BUILD) fuzz fuzzers
endif
ifneq ($(if $(ROOM),$(filter plants,$(ROOM)),all),)
	@$(BUILD) planted sluice-faults
endif
	@$(BYTECODE)
	@$(CHECK)

soak: export SLUICE_SOAK := 1
soak: ## runs all tests at full length, worlds of faults, fuzzers; compiles each source alone: hours
	@setup/install build test fuzz
	@setup/lean_headers
	@$(BUILD) tests
	@$(BUILD) lean-alone
	@$(BUILD) fuzz fuzzers
	@$(BUILD) planted sluice-faults
	@$(BUILD) separate
	@$(BYTECODE)
	@$(CHECK) --fuzz-seconds $(FUZZ_SECONDS)
	@$(BIN)/sluice-faults --seed 1000 --seeds 1000
	@$(BIN)/sluice-faults --seed 1000 --seeds 1000 --several
	@python3 setup/plants.py build/planted/bin/sluice-faults --jobs $(JOBS)

demo: ## tunes a small network on Fashion-MNIST, from an empty store each time
	@setup/install build demo
	@$(BUILD) release $(DEMO_PROGRAMS)
	@$(BYTECODE)
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/sluice tune examples/fashion/study.yaml --store build/demo/fashion.db

bench: export SLUICE_BIN_DIR := $(CURDIR)/build/bench/bin
bench: ## runs the benchmarks, peers beside us, and writes bench/results/*.md
	@setup/install build bench
	@$(BUILD) bench
	@$(BYTECODE)
	@for bench in build/bench/bin/*_bench; do [[ -x $$bench ]] || continue; \
	  echo "== $${bench##*/}"; "$$bench" --benchmark_min_time=0.2; done
	@for bench in bench/*_bench.py; do echo "== $${bench##*/}"; python3 "$$bench"; done

lint: ## checks formatting, clang-tidy and ruff; ROOM=engine: clang-tidy of one room
	@setup/install build gtest lint
	@$(BUILD) separate
	@ln -sfn build/separate/compile_commands.json compile_commands.json
	@clang-format-19 --dry-run -Werror $(SOURCES)
	@ruff check --quiet --select B,E,F,I,W --line-length 100 --extend-exclude build .
	@python3 setup/tidy.py build/separate $(if $(ROOM),src/$(ROOM)/)

format: ## formats the C++ sources in place
	@setup/install lint
	@clang-format-19 -i $(SOURCES)

asan: ## runs the C++ tests under the address and undefined-behaviour sanitizers
	@setup/install build gtest
	@$(BUILD) asan $(if $(IS_ROOM),$(ROOM)_test)
	@$(CHECK) --preset asan

# The thread sanitizer wants its memory where no randomised address falls.
tsan: ## runs the C++ tests under the thread sanitizer
	@setup/install build gtest
	@setarch -R true 2>/dev/null && run="setarch -R" || run=; \
	  $$run $(MAKE) tsan-unshuffled

tsan-unshuffled:
	@$(BUILD) tsan $(if $(IS_ROOM),$(ROOM)_test)
	@$(CHECK) --preset tsan

clang: ## builds and runs the C++ tests with clang
	@setup/install build gtest fuzz
	@$(BUILD) clang $(if $(IS_ROOM),$(ROOM)_test)
	@$(CHECK) --preset clang

plants: ## builds with planted bugs, lets the simulator find each of them anew, records the seeds
	@setup/install build fuzz
	@$(BUILD) planted sluice-faults
	@python3 setup/plants.py build/planted/bin/sluice-faults --record --jobs $(JOBS)

branches: ## counts the branches that the world of faults takes, writes bench/results/branches.md
	@setup/install build fuzz
	@$(BUILD) coverage sluice-faults
	@python3 setup/branches.py build/coverage/bin/sluice-faults --jobs $(JOBS) --page bench/results/branches.md

fuzz: ## fuzzes each target for FUZZ_SECONDS (600)
	@setup/install build fuzz
	@$(BUILD) fuzz fuzzers
	@python3 setup/check.py --jobs $(JOBS) --room fuzz --fuzz-seconds $(FUZZ_SECONDS)

clean: ## removes all that was built; .venv stays
	rm -rf build compile_commands.json
