# `make` builds, `make help` lists the rest. Everything made goes to build/ and .venv/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

ROOM ?=
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
BIN := build/release/bin
CHECK := python3 setup/check.py --jobs $(JOBS) $(if $(ROOM),--room $(ROOM))

# The programs of trials find the package and PyTorch; the tests find the binaries.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export SLUICE_BIN_DIR := $(CURDIR)/$(BIN)

# $(call cmake,PRESET,TARGET): configures once (afterwards ninja does it when needed) and builds. Each step is
# shown on a terminal only.
define cmake
@if [[ ! -e build/$(1)/build.ninja || CMakePresets.json -nt build/$(1)/build.ninja ]]; then \
  echo "build/$(1): configuring"; mkdir -p build; \
  cmake --preset $(1) > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }; \
  touch build/$(1)/build.ninja; fi
@[[ -t 1 ]] && steps= || steps=--quiet; \
  echo "build/$(1): building $(2)"; cmake --build build/$(1) --parallel $(JOBS) $(if $(2),--target $(2)) -- $$steps
endef

SOURCES = $(shell find src apps tests bench -name '*.cc' -o -name '*.h' -o -name '*.c' -o -name '*.cu')

# Trials import the package again and again: its bytecode is made once, here.
BYTECODE = python3 -m compileall -q python/sluice

# Rooms are built and tested alone, so that a room can be worked on while another does not compile.
IS_ROOM := $(and $(ROOM),$(wildcard src/$(ROOM)))

.PHONY: build help setup test demo bench lint format asan tsan clang plants branches fuzz clean

build: ## builds build/release (the default)
	@setup/install build
	$(call cmake,release)
	@ln -sfn build/release/compile_commands.json compile_commands.json
	@$(BYTECODE)

help: ## lists these targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## installs what is missing for everything but the benchmarks
	@setup/install build test fuzz lint

test: ## runs all tests, each fuzz target for 10 s, finds each planted bug; ROOM=engine: those of one room
	@setup/install build $(if $(IS_ROOM),,$(if $(filter plants,$(ROOM)),fuzz,test fuzz))
ifeq ($(filter includes fuzz plants,$(ROOM)),)
	$(call cmake,release,$(if $(IS_ROOM),$(ROOM)_test))
	@ln -sfn build/release/compile_commands.json compile_commands.json
endif
ifneq ($(if $(ROOM),$(filter fuzz,$(ROOM)),all),)
	$(call cmake,fuzz,fuzzers)
endif
ifneq ($(if $(ROOM),$(filter plants,$(ROOM)),all),)
	$(call cmake,planted,sluice-faults)
endif
	@$(BYTECODE)
	@$(CHECK)

demo: ## tunes a small network on Fashion-MNIST, from an empty store each time
	@setup/install build test
	$(call cmake,release)
	@$(BYTECODE)
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/sluice tune examples/fashion/study.yaml --store build/demo/fashion.db

bench: export SLUICE_BIN_DIR := $(CURDIR)/build/bench/bin
bench: ## runs the benchmarks, peers beside us, and writes bench/results/*.md
	@setup/install build bench
	$(call cmake,bench)
	@$(BYTECODE)
	@for bench in build/bench/bin/*_bench; do [[ -x $$bench ]] || continue; \
	  echo "== $${bench##*/}"; "$$bench" --benchmark_min_time=0.2; done
	@for bench in bench/*_bench.py; do echo "== $${bench##*/}"; python3 "$$bench"; done

lint: ## checks formatting, clang-tidy and ruff; ROOM=engine: clang-tidy of one room
	@setup/install build lint
	$(call cmake,release)
	@clang-format-19 --dry-run -Werror $(SOURCES)
	@ruff check --quiet --select B,E,F,I,W --line-length 100 --extend-exclude build .
	@python3 setup/tidy.py build/release $(if $(ROOM),src/$(ROOM)/)

format: ## formats the C++ sources in place
	@setup/install lint
	@clang-format-19 -i $(SOURCES)

asan: ## runs the C++ tests under the address and undefined-behaviour sanitizers
	@setup/install build
	$(call cmake,asan,$(if $(IS_ROOM),$(ROOM)_test))
	@$(CHECK) --preset asan

# The thread sanitizer wants its memory where no randomised address falls.
tsan: ## runs the C++ tests under the thread sanitizer
	@setup/install build
	@setarch -R true 2>/dev/null && run="setarch -R" || run=; \
	  $$run $(MAKE) tsan-unshuffled

tsan-unshuffled:
	$(call cmake,tsan,$(if $(IS_ROOM),$(ROOM)_test))
	@$(CHECK) --preset tsan

clang: ## builds and runs the C++ tests with clang
	@setup/install build fuzz
	$(call cmake,clang,$(if $(IS_ROOM),$(ROOM)_test))
	@$(CHECK) --preset clang

plants: ## builds with planted bugs, lets the simulator find each of them anew, and records the seeds
	@setup/install build fuzz
	$(call cmake,planted,sluice-faults)
	@python3 setup/plants.py build/planted/bin/sluice-faults --record --jobs $(JOBS)

branches: ## counts the branches that the world of faults takes, and writes bench/results/branches.md
	@setup/install build fuzz
	$(call cmake,coverage,sluice-faults)
	@python3 setup/branches.py build/coverage/bin/sluice-faults --jobs $(JOBS) --page bench/results/branches.md

fuzz: ## fuzzes each target for FUZZ_SECONDS (600)
	@setup/install build fuzz
	$(call cmake,fuzz,fuzzers)
	@python3 setup/check.py --jobs $(JOBS) --room fuzz --fuzz-seconds $(FUZZ_SECONDS)

clean: ## removes all that was built; .venv stays
	rm -rf build compile_commands.json
