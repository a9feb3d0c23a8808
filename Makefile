# A thin front: meson and ninja do the work, tools/ holds what is more than a line.
#
#   make demo    build, then the guided tour        make lint     formatting, clang-tidy, the project's own checks
#   make test    everything that CI checks          make asan     tests under address and undefined sanitizers
#   make build   build/bin/ingot, build/venv        make bench    figures, beside PyTorch where it is installed
#   make fuzz    fuzz targets under libFuzzer       make install  library, headers, pkg-config and CMake files, command, manual page
#   make docs    the site, in build/docs/html       make tsan     threads under the thread sanitizer
#   make dist    source archive and wheels, tried   make deb      Debian packages, in build/deb
#   make arm     C tests for AArch64, under qemu    make musl     the command as one static file
#   make s390x   formats on a big-endian machine    make wasm     the library for WebAssembly, tried in node
#   make clang   the second compiler
#   make fuzz-random    random programs, files and calls from Python    make clean
#   make fuzz-coverage  what the last `make fuzz` reached, per folder
#
# Variables: CC=clang, WERROR=false, PYTHON=/path/to/python3, PREFIX=/usr/local, DESTDIR=, FUZZ_SECONDS=30, FUZZ_INPUTS=20000, FUZZ_CALLS=100000,
# PYTHONS="python3.10 python3.12": a wheel for each
SHELL := /bin/bash

# A compiler given by name has build folders of its own.
ifneq ($(origin CC),default)
export CC
SUFFIX := -$(notdir $(firstword $(CC)))
endif
WERROR ?= true
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
FUZZ_INPUTS ?= 20000
FUZZ_CALLS ?= 100000
PYTHONS ?= $(VENV)/bin/python

VENV := build/venv
RELEASE := build/release$(SUFFIX)
ASAN := build/asan$(SUFFIX)
TSAN := build/tsan$(SUFFIX)
OPTIONS = -Dpython=$(CURDIR)/$(VENV)/bin/python -Dwerror=$(WERROR)
# -O1 -g1: half the compile time of -O2 -g, and the reports still name lines.
SANITIZE = -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Db_ndebug=false \
  -Dc_args='-g1 -fno-omit-frame-pointer -fno-sanitize-recover=all'
THREAD = -Doptimization=1 -Db_sanitize=thread -Db_lundef=false -Db_ndebug=false -Dc_args=-g1
THREAD_TESTS = safety/concurrent

.PHONY: demo test build lint check asan tsan bench install fuzz fuzz-random fuzz-coverage docs clean prepare test-release dist deb arm s390x clang musl wasm

build: prepare
	@tools/configure $(RELEASE) $(OPTIONS)
	@ninja -C $(RELEASE)
	@mkdir -p build/bin
	@if [ -x $(RELEASE)/ingot ]; then ln -sfn ../../$(RELEASE)/ingot build/bin/ingot; fi

prepare:
	@tools/bootstrap build
	@tools/venv $(VENV) build $(RELEASE)/python

demo: build
	@$(VENV)/bin/python examples/demo.py

test: test-release asan check

test-release: build
	@tools/venv $(VENV) test
	meson test -C $(RELEASE) --print-errorlogs

asan: prepare
	@tools/venv $(VENV) test
	@tools/configure $(ASAN) $(OPTIONS) $(SANITIZE)
	@ninja -C $(ASAN)
	meson test -C $(ASAN) --print-errorlogs

tsan: prepare
	@tools/configure $(TSAN) $(OPTIONS) $(THREAD)
	@ninja -C $(TSAN) $(foreach t,$(THREAD_TESTS),tests/$(subst /,_,$(t))_test)
	meson test -C $(TSAN) --no-rebuild --print-errorlogs $(THREAD_TESTS)

# All checks but clang-tidy, which takes minutes: `make lint` has it too.
check: build
	@tools/bootstrap lint
	@tools/venv $(VENV) lint
	@$(VENV)/bin/python tools/lint.py $(RELEASE) files layers formulas values names sizes symbols ruff format headers

lint: build
	@tools/bootstrap lint
	@tools/venv $(VENV) lint
	@$(VENV)/bin/python tools/lint.py $(RELEASE)

bench: build
	@$(VENV)/bin/python bench/run.py $(RELEASE)

fuzz: prepare
	@tools/bootstrap fuzz
	@tools/fuzz $(FUZZ_SECONDS) $(OPTIONS)

fuzz-coverage: prepare
	@tools/bootstrap fuzz
	@$(VENV)/bin/python tools/fuzz_coverage.py

# The same without libFuzzer, and the same inputs every time: under the sanitizers from C, in the release build from Python.
fuzz-random: build
	@tools/configure $(ASAN) $(OPTIONS) $(SANITIZE)
	@ninja -C $(ASAN) tests/ops_fuzz tests/files_fuzz tests/nets_fuzz tests/nodes_fuzz
	@mkdir -p $(ASAN)/found
	$(ASAN)/tests/ops_fuzz --random 0 $(FUZZ_INPUTS) $(ASAN)/found
	$(ASAN)/tests/files_fuzz --random 0 $(FUZZ_INPUTS) $(ASAN)/found
	$(ASAN)/tests/nets_fuzz --random 0 $(FUZZ_INPUTS) $(ASAN)/found
	$(ASAN)/tests/nodes_fuzz --random 0 $(FUZZ_INPUTS) $(ASAN)/found
	$(VENV)/bin/python tests/python/fuzz_calls.py --hunt $(FUZZ_CALLS)

docs: build
	@tools/bootstrap lint
	@tools/venv $(VENV) docs
	@tools/docs $(VENV)/bin/python $(RELEASE)/ingot

install: build
	@meson configure $(RELEASE) -Dprefix=$(PREFIX)
	meson install -C $(RELEASE) --strip --tags=runtime,devel,command,man

dist: prepare
	@tools/venv $(VENV) dist
	@tools/dist $(VENV)/bin/python $(PYTHONS)

deb: build
	@tools/deb $(RELEASE) $(CURDIR)/$(VENV)/bin/python

# What depends on the processor: threads, kernels, how operators and plans use them; and all formats. Factorizations are
# the same plain C everywhere, and take minutes there.
ARM_TESTS = $(sort $(filter-out kernels/linalg,$(patsubst tests/%_test.c,%,$(wildcard $(foreach d,base tensor kernels op rt,tests/$(d)/*_test.c)))) $(S390X_TESTS))
arm: prepare
	@tools/bootstrap arm
	@tools/sysroot arm64 packaging/cross/aarch64.ini.in
	@tools/configure build/arm --cross-file build/sysroot/arm64.ini $(OPTIONS) -Dextension=disabled
	@ninja -C build/arm ingot $(foreach t,$(ARM_TESTS),tests/$(subst /,_,$(t))_test)
	meson test -C build/arm --no-rebuild --print-errorlogs $(ARM_TESTS)

# Formats, and what they are made of: what depends on the byte order. The command writes the same bytes as here.
S390X_TESTS = base/file codec/inflate codec/json codec/npy codec/proto codec/zip arrays/npz arrays/safetensors arrays/torch_file \
  pt2/pt2 onnx/onnx onnx/proto_model onnx/strings onnx/schema ts/archive ts/load model/model model/stats model/diff
s390x: build
	@tools/bootstrap s390x
	@tools/sysroot s390x packaging/cross/s390x.ini.in
	@tools/configure build/s390x --cross-file build/sysroot/s390x.ini $(OPTIONS) -Dextension=disabled
	@ninja -C build/s390x ingot $(foreach t,$(S390X_TESTS),tests/$(subst /,_,$(t))_test)
	meson test -C build/s390x --no-rebuild --print-errorlogs $(S390X_TESTS)
	@tools/same_files $(RELEASE)/ingot qemu-s390x -L /usr/s390x-linux-gnu build/s390x/ingot

# A second compiler, with warnings as errors, and what differs by compiler: kernels and formats.
CLANG_TESTS = $(ARM_TESTS)
clang: prepare
	@tools/bootstrap lint
	@CC=clang tools/configure build/clang $(OPTIONS) -Dextension=disabled
	@ninja -C build/clang ingot $(foreach t,$(CLANG_TESTS),tests/$(subst /,_,$(t))_test)
	meson test -C build/clang --no-rebuild --print-errorlogs $(CLANG_TESTS)

musl: prepare
	@tools/bootstrap musl
	@tools/configure build/musl --cross-file packaging/cross/musl.ini $(OPTIONS) -Dextension=disabled -Dtests=false
	@ninja -C build/musl ingot
	@build/musl/ingot run tests/pt2/data/mlp.pt2

# The library for WebAssembly, tried in node.
wasm: prepare
	@tools/bootstrap wasm
	@tools/configure build/wasm --cross-file packaging/cross/wasm.ini -Dpython=$(CURDIR)/$(VENV)/bin/python -Dwerror=false -Dextension=disabled -Dtests=false
	@ninja -C build/wasm libingot.a
	@tools/wasm

clean:
	rm -rf build
