# make run    builds and starts `pal serve` on 127.0.0.1:7420 (SQLite, offline echo model)
# make test   builds and runs every test
.DEFAULT_GOAL := build
.PHONY: install build run test bench eval format coverage sanitize soak fuzz

JOBS ?= $(shell nproc)

install:
	@packaging/install

build: install
	@mkdir -p build && cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/release -j $(JOBS) --target pal

run: build
	@exec build/release/pal serve

test: install
	@cmake --preset dev
	@cmake --build build/dev -j $(JOBS)
	@ctest --test-dir build/dev --output-on-failure -j $(JOBS)

bench: bench-store

.PHONY: bench-store
bench-store: install
	@mkdir -p build && cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/release -j $(JOBS) --target bench_store
	@build/release/bench_store

# Thousands of kills, a fault at every call of the disk, damage, power cuts. Half an hour and more.
soak: install
	@cmake --preset dev
	@cmake --build build/dev -j $(JOBS) --target store_faults faults_test
	@PAL_KILL_CYCLES=3000 python3 tests/scripts/store_kill_test.py build/dev .
	@PAL_FAULT_STRIDE=1 python3 tests/scripts/store_io_faults_test.py build/dev .
	@PAL_DAMAGE_FLIPS=20000 build/dev/faults_test --gtest_brief=1
	@python3 tests/scripts/store_power_cut.py build/dev . 300

format: install
	@git ls-files '*.cpp' '*.h' | xargs clang-format-19 -i
