# SPDX-License-Identifier: GPL-2.0-or-later
# assay. No configure step: pkg-config decides the optional parts, `make help` says what there is.
# Everything built lands in build/FLAVOUR/ (compiler and sanitizers), so that flavours never mix;
# what `make` promises in the root folder (./assay, libassay.a, ...) are links into it.

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
# Tests also wait, for guests, power cuts and time limits: one more than there are processors.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
FUZZ_SECONDS ?= 30
TORTURE_SECONDS ?= 60
SETUP ?= scripts/setup.sh
comma := ,

ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS)
endif
AGAIN = $(MAKE) --no-print-directory

# ---- Optional parts: package, what it gives, sources that need it, a program too -----------------

OPTIONAL := fuse3 libbpf zlib babeltrace2 ext2fs z3 sqlite3
GIVES_fuse3 := disks and file systems served through FUSE
SOURCES_fuse3 := $(wildcard src/*/*_fuse.c)
GIVES_libbpf := recording by a program in the kernel
SOURCES_libbpf := $(wildcard src/*/*_bpf.c)
TOOL_libbpf := clang
GIVES_zlib := traces packed by gzip read directly
GIVES_babeltrace2 := LTTng traces read natively
SOURCES_babeltrace2 := $(wildcard src/*/*_lttng.c)
GIVES_ext2fs := blocks of ext2, ext3 and ext4 by name in reports
SOURCES_ext2fs := $(wildcard src/*/*_ext2fs.c)
GIVES_z3 := symbolic exploration of checkers (assay fsck --symbolic)
SOURCES_z3 := $(wildcard src/*/*_z3.c)

GIVES_sqlite3 := an index of joined run folders (assay merge)
SOURCES_sqlite3 := $(wildcard src/*/*_sqlite3.c)

# The Valgrind tool is a program of its own, built against the package's archives; it is never
# sanitized. What is linked beside it is what Valgrind looks for in VALGRIND_LIB.
VG_LIB := $(shell pkg-config --variable=libdir valgrind 2>/dev/null)/valgrind
VG_ARCHIVES := $(wildcard $(addprefix $(VG_LIB)/,libcoregrind-amd64-linux.a libvex-amd64-linux.a \
	libgcc-sup-amd64-linux.a))
VG_HOME := $(patsubst %/default.supp,%,$(firstword $(wildcard /usr/libexec/valgrind/default.supp \
	$(VG_LIB)/default.supp)))
VG_BESIDE := $(wildcard $(addprefix $(VG_HOME)/,default.supp vgpreload_core-amd64-linux.so))
HAVE_VG := $(if $(SAN),,$(if $(word 2,$(VG_ARCHIVES)),$(VG_BESIDE)))
GIVES_valgrind := checkers run symbolically, and covered$(if $(SAN), (not with SAN))

# Charts in the report: a script of another package that stands in the page.
CHART_JS := $(wildcard /usr/share/javascript/chart.js/chart.min.js)
GIVES_chart := charts in the report (assay report)

have = pkg-config --exists $1 2>/dev/null && command -v $(or $(TOOL_$1),true) >/dev/null
HAVE := $(foreach p,$(OPTIONAL),$(if $(shell $(call have,$p) && echo yes),$p))
LACK := $(filter-out $(HAVE),$(OPTIONAL))

# ---- Flags ---------------------------------------------------------------------------------------

B := build/$(notdir $(firstword $(CC)))$(if $(SAN),-$(subst $(comma),+,$(SAN)))
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Werror
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CC_ALL := $(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) $(SANFLAGS) -MMD -MP
INC_labfs := -Iinclude
INC := -Isrc -Iinclude -I. $(foreach p,$(HAVE),-DAS_HAVE_$p $(shell pkg-config --cflags $p))
LIBS := -lxxhash -lzstd -ljansson -ldl -lpthread -lm \
	$(foreach p,$(HAVE),$(shell pkg-config --libs $p))

# ---- Sources, all found by name ------------------------------------------------------------------

# Folders within a room that are parts of it; what other folders there hold is built apart.
PARTS := model/rules layout/walk dossier/program dossier/solo dossier/letter cli/live cmd/cov \
	cmd/fsck
LIB_SRC := $(filter-out src/cmd/main.c $(foreach p,$(LACK),$(SOURCES_$p)), \
	$(wildcard src/*/*.c $(PARTS:%=src/%/*.c)))
LABFS_MAINS := labfs/mkfs_main.c labfs/fsck_main.c
LABFS_SRC := $(filter-out $(LABFS_MAINS),$(wildcard labfs/*.c))
BENCH_SRC := $(wildcard bench/*.c) tests/lib/padded.c
TEST_SRC := $(wildcard tests/*/test_*.c)
TEST_LIB_SRC := $(filter-out $(BENCH_SRC),$(wildcard tests/lib/*.c))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
SKELETON_SRC := $(wildcard examples/plugin_skeleton/*.c)
FLASHFS_SRC := $(wildcard examples/flashfs/*.c)
PAIRFS_SRC := $(wildcard examples/pairfs/*.c)
MEMFS_SRC := $(wildcard bench/plugin/*.c)
EXT2LIB_SRC := $(if $(filter ext2fs,$(HAVE)),$(wildcard examples/ext2lib/*.c))
SHIM_SRC := $(wildcard src/tool/shim/*.c) src/os/stack_catch.c

obj = $(patsubst %.c,$(B)/%.o,$1)
LIBASSAY := $(B)/libassay.a
ARCHIVES := $(LIBASSAY) $(B)/liblabfs.a $(B)/libbench.a
PROGRAMS := $(if $(wildcard src/cmd/main.c),$(B)/assay) \
	$(if $(wildcard labfs/mkfs_main.c),$(B)/labfs-mkfs) \
	$(if $(wildcard labfs/fsck_main.c),$(B)/labfs-fsck)
PROGRAM_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard src/cmd/main.c labfs/*_main.c))
PLUGINS := $(if $(SKELETON_SRC),$(B)/plugins/skeleton.so) \
	$(if $(FLASHFS_SRC),$(B)/plugins/flashfs.so) \
	$(if $(PAIRFS_SRC),$(B)/plugins/pairfs.so) \
	$(if $(MEMFS_SRC),$(B)/plugins/memfs.so) \
	$(if $(EXT2LIB_SRC),$(B)/plugins/ext2lib.so) $(if $(LABFS_SRC),$(B)/plugins/labfs.so)
# What tests and fuzz entries share.
LIBTESTS := $(B)/libtests.a
TESTS := $(TEST_SRC:%.c=$(B)/%)
CORPUS_RUNS := $(FUZZ_SRC:%.c=$(B)/%)
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzzers/%)
VG_TOOL := $(B)/vg/assaysym-amd64-linux
VG_MADE := $(if $(HAVE_VG),$(VG_TOOL) $(B)/vg/vgpreload_assaysym-amd64-linux.so \
	$(addprefix $(B)/vg/,symdump vg_serve vg_subject))
MADE := $(ARCHIVES) $(PROGRAMS) $(PLUGINS) $(VG_MADE)

.PHONY: corpus corpus-quick
.PHONY: all demo test clang-tests build-tests tidy bench score fuzz torture install clean
.PHONY: help check deb deb-test kernels museum
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(MADE) ## build ./assay, libassay.a, the labfs tools and the example plugins
	@ln -sfn $(PROGRAMS) $(LIBASSAY) $(B)/liblabfs.a .
	@printf '%-10s %-4s %s\n' \
		$(foreach p,$(OPTIONAL),$p $(if $(filter $p,$(HAVE)),in,out) '$(GIVES_$p)') \
		valgrind $(if $(HAVE_VG),in,out) '$(GIVES_valgrind)' \
		chart.js $(if $(CHART_JS),in,out) '$(GIVES_chart)'

demo: ## set up, build, and show what assay does, on real things (under two minutes)
	@$(SETUP) build fs
	@+$(AGAIN) all
	@./assay demo -o build/demo

test: ## set up, build, and run every test; also SAN=address,undefined, CC=clang, LONG=1
	@$(SETUP) build test fs $(if $(filter clang%,$(notdir $(CC))),sanitizer)
	@+$(AGAIN) check

check: $(MADE) $(TESTS) $(CORPUS_RUNS)
	@SAN='$(SAN)' JOBS=$(TEST_JOBS) scripts/run_tests.sh $(B) \
		$(TESTS) $(CORPUS_RUNS) $(wildcard tests/*/test_*.sh)

clang-tests: ## build the programs, every test and every fuzz entry with clang; run none of them
	@$(SETUP) build test
	@+$(AGAIN) -k CC=clang build-tests

# Without the links in the root folder, which stay with the flavour of the last `make`.
build-tests: $(MADE) $(TESTS) $(CORPUS_RUNS)

tidy: $(ARCHIVES) $(PROGRAM_OBJ) ## layout of changed lines, rooms, banned calls, lengths, symbols
	@ARCHIVES='$(LIBASSAY) $(B)/liblabfs.a $(wildcard $(LIBTESTS))' \
		PROGRAMS='$(if $(LACK),,$(PROGRAM_OBJ))' scripts/tidy.sh

bench: all ## measure; one JSON line for each number
	@./assay bench

score: all ## find each bug of labfs by check and by hunt; the table of docs/SCORE.md
	@scripts/score.sh ./assay $(BUGS)

corpus: all ## run the frozen corpus: findings must stay what they are; UPDATE=1, ONLY='lab.*'
	@scripts/corpus.sh ASSAY=./assay $(ONLY)

corpus-quick: all ## the part of it that takes less than a minute
	@scripts/corpus.sh --quick ASSAY=./assay $(ONLY)

kernels: all ## build the kernels plain and debug for the sandbox (half an hour on two cores)
	@./assay kernel build -j $(JOBS)

museum: all ## put real bugs back into a kernel and find them (after make kernels)
	@JOBS=$(JOBS) scripts/museum.sh ./assay $(BUGS)

fuzz: ## fuzz every parser for FUZZ_SECONDS (30) each, with clang's libFuzzer
	@$(SETUP) build fuzz
	@+$(AGAIN) CC=clang SAN=$(FUZZ_SAN) run-fuzzers

FUZZ_SAN := fuzzer-no-link,address,undefined
torture: ## attack it TORTURE_SECONDS (60) each, fuzz FUZZ_SECONDS (30); ONLY=links for one
	@$(SETUP) build test fs fuzz
	@+$(AGAIN) all
	@+$(AGAIN) CC=clang SAN=$(FUZZ_SAN) fuzzers
	@scripts/torture.sh $(B) build/clang-$(subst $(comma),+,$(FUZZ_SAN))/fuzzers \
		$(TORTURE_SECONDS) $(FUZZ_SECONDS) $(ONLY)

# The program, and what an author of a plugin needs: the headers and assay.pc. libassay.a is not
# installed: its headers are not an interface.
D = $(DESTDIR)$(PREFIX)
MAN := share/man/man1
PCDIR ?= lib/pkgconfig
LAYOUTS := share/assay/layouts
BASH := share/bash-completion/completions
ZSH := share/zsh/site-functions
VERSION := $(shell sed -n 's/^.define AS_VERSION "\(.*\)"/\1/p' src/base/version.h)
VG_DIR := lib/assay/vg
install: $(PROGRAMS) $(VG_MADE) ## install below PREFIX (/usr/local), itself below DESTDIR
	install -d $(addprefix $D/,bin include/assay $(PCDIR) $(LAYOUTS) $(MAN) $(BASH) $(ZSH))
	install -m 755 $(PROGRAMS) $D/bin
	install -m 644 $(wildcard include/assay/*.h) $D/include/assay
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' scripts/assay.pc.in \
		>$D/$(PCDIR)/assay.pc
	install -m 644 $(wildcard layouts/*.layout) $D/$(LAYOUTS)
	install -m 644 docs/assay.1 docs/labfs-mkfs.1 docs/labfs-fsck.1 $D/$(MAN)
	for c in $$($(B)/assay help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'); do \
		$(B)/assay help --man $$c >$D/$(MAN)/assay-$$c.1 || exit 1; \
	done
	$(if $(HAVE_VG),install -d $D/$(VG_DIR))
	$(if $(HAVE_VG),install -m 755 $(filter %-amd64-linux %.so,$(VG_MADE)) $D/$(VG_DIR))
	$(if $(HAVE_VG),ln -sfn $(VG_BESIDE) $D/$(VG_DIR))
	$(B)/assay help --completion bash >$D/$(BASH)/assay
	$(B)/assay help --completion zsh >$D/$(ZSH)/_assay

# A copy of what git has, so that nothing of this build gets into the package, or the other way.
DEB := build/deb
deb: ## build a Debian package in build/deb, and look at it with lintian
	@$(SETUP) build deb
	@rm -rf $(DEB) && mkdir -p $(DEB)/assay
	@git ls-files -z | xargs -0 cp --parents -t $(DEB)/assay
	cd $(DEB)/assay && dpkg-buildpackage -b -us -uc -j$(JOBS) >../build.log 2>&1 || \
		{ tail -n 40 ../build.log; exit 1; }
	lintian --fail-on error,warning $(DEB)/*.deb
	@ls -1 $(DEB)/*.deb

deb-test: deb ## install that package in a bare Debian (debootstrap, as root), and run its demo
	@$(SETUP) deb
	@scripts/deb_test.sh $(DEB)

clean: ## remove what was built
	rm -rf build assay labfs-mkfs labfs-fsck libassay.a liblabfs.a

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

# ---- How -----------------------------------------------------------------------------------------

# Short lines for people; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $1 $(patsubst $(B)/%,%,$@)")

# Objects are made again when the flags change, archives when the list of sources does. The stamps
# are written while this file is read: a rule that always runs would make every object again as
# soon as make takes the stamp for an intermediate file.
STAMPED := $(filter-out help clean,$(or $(MAKECMDGOALS),all))
stamp = $(if $(STAMPED),$(shell mkdir -p $(dir $1) && printf '%s\n' '$2' | cmp -s - $1 || \
	printf '%s\n' '$2' >$1))
$(call stamp,$(B)/flags.stamp,$(CC_ALL) $(INC))
$(call stamp,$(B)/sources.stamp,$(LIB_SRC) $(LABFS_SRC) $(BENCH_SRC) $(TEST_LIB_SRC) \
	$(wildcard src/sym/vg/*.c))

$(B)/labfs/%.o: labfs/%.c $(B)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC_ALL) $(INC_labfs) -c $< -o $@

# What is put in by .incbin, which the compiler does not report as a dependency.
$(B)/src/dossier/program/emit_c.o: src/dossier/emitted/program.c
$(B)/src/cmd/cmd_demo.o: src/cmd/demo/demo.sh
$(B)/src/cmd/cmd_plugin.o: $(wildcard src/cmd/plugin/* include/assay/*) $(SKELETON_SRC)
$(B)/src/layout/desc_embed.o: $(wildcard layouts/*.layout)
$(B)/src/kernel/config.o: $(wildcard kernels/*.config kernels/*.patch)
$(B)/src/dossier/script.o: $(wildcard src/dossier/emitted/*)
$(B)/src/report/html.o: $(wildcard src/report/html/*) $(CHART_JS)
$(B)/src/report/html.o: EMBED = $(if $(CHART_JS),-DAS_CHART_JS='"$(CHART_JS)"')
$(B)/src/box/sandbox_uml.o: $(B)/shim_uml.so
$(B)/src/box/sandbox_uml.o: EMBED = -I$(B)

# Preloaded into a foreign program: none of our libraries, no sanitizers.
$(B)/shim_uml.so: $(wildcard src/box/shim_uml/*.c)
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 $(WARN) -shared -fPIC -s $^ -o $@

$(B)/%.o: %.c $(B)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC_ALL) $(INC) $(EMBED) -c $< -o $@

# libassay.a contains labfs, too (the target `lab`).
$(LIBASSAY): $(call obj,$(LIB_SRC) $(LABFS_SRC))
$(B)/liblabfs.a: $(call obj,$(LABFS_SRC))
$(B)/libbench.a: $(call obj,$(BENCH_SRC))
$(LIBTESTS): $(call obj,$(TEST_LIB_SRC))
$(B)/%.a: $(B)/sources.stamp
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $(filter %.o,$^)

LINK = $(CC) $(CFLAGS) $(SANFLAGS) -Wl,--as-needed,-z,now $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
$(B)/assay: $(B)/src/cmd/main.o $(ARCHIVES)
	$(call say,LD)
	$(Q)$(LINK) $(LIBS) -o $@
$(B)/labfs-%: $(B)/labfs/%_main.o $(B)/liblabfs.a
	$(call say,LD)
	$(Q)$(LINK) -o $@
$(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/driver.o $(ARCHIVES) $(LIBTESTS)
	$(call say,LD)
	$(Q)$(LINK) $(LIBS) -o $@
$(TESTS): $(B)/%: $(B)/%.o $(ARCHIVES) $(LIBTESTS)
	$(call say,LD)
	$(Q)$(LINK) -lcmocka $(LIBS) -o $@
$(B)/fuzzers/%: $(B)/tests/fuzz/%.o $(ARCHIVES) $(LIBTESTS)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(LINK) -fsanitize=fuzzer $(LIBS) -o $@

# Plugins. labfs as one exports its table by the name that the loader looks for.
$(B)/pic/labfs/%.o: PIC = -Dlab_target=as_target
$(B)/pic/%.o: %.c $(B)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC_ALL) -Iinclude -fPIC $(PIC) -c $< -o $@

$(B)/plugins/skeleton.so: $(patsubst %.c,$(B)/pic/%.o,$(SKELETON_SRC))
$(B)/plugins/flashfs.so: $(patsubst %.c,$(B)/pic/%.o,$(FLASHFS_SRC))
$(B)/plugins/pairfs.so: $(patsubst %.c,$(B)/pic/%.o,$(PAIRFS_SRC))
$(B)/plugins/memfs.so: $(patsubst %.c,$(B)/pic/%.o,$(MEMFS_SRC))
$(B)/plugins/ext2lib.so: $(patsubst %.c,$(B)/pic/%.o,$(EXT2LIB_SRC))
$(B)/plugins/ext2lib.so: PLUGIN_LIBS = $(shell pkg-config --libs ext2fs com_err)
$(B)/plugins/labfs.so: $(patsubst %.c,$(B)/pic/%.o,$(LABFS_SRC)) $(B)/sources.stamp
$(B)/plugins/%.so:
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -shared -Wl,-Bsymbolic $(filter %.o,$^) $(PLUGIN_LIBS) -o $@

# What is preloaded into checkers: alone, without sanitizers, and with nothing that the compiler may
# turn into a call of itself. libassay.a carries it.
SHIM := $(B)/assay-shim.so
$(SHIM): $(SHIM_SRC) $(wildcard src/tool/shim/*.h src/tool/shim/*.def) src/os/stack.h \
		$(B)/flags.stamp
	$(call say,SO)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -U_FORTIFY_SOURCE -fno-builtin -fPIC \
		-fvisibility=hidden -shared -Isrc -Iinclude $(SHIM_SRC) -ldl -lpthread -o $@
$(B)/src/tool/tool_shim.o: $(SHIM)
$(B)/src/tool/tool_shim.o: private INC += -DAS_SHIM_SO='"$(SHIM)"'

# What runs inside recorded processes, at an address of its own (src/record/inside/layout.h).
# libassay.a carries it.
INSIDE := $(B)/inside.bin
$(INSIDE): src/record/inside/hook.S src/record/inside/inside.c src/record/inside/layout.h \
		src/calls/event.h $(B)/flags.stamp
	@mkdir -p $(@D)
	$(call say,BIN)
	$(Q)$(CC) -std=gnu11 -O2 $(WARN) -Isrc -ffreestanding -fno-stack-protector -fno-pic \
		-fcf-protection=none -mgeneral-regs-only -fno-asynchronous-unwind-tables \
		-fno-jump-tables -nostdlib -static -Wl,--oformat=binary,-Ttext=0x6f000000 \
		-Wl,--build-id=none,-e,0x6f000000 $(filter %.S %.c,$^) -o $@
$(B)/src/record/record_inprocess.o: $(INSIDE)
$(B)/src/record/record_inprocess.o: private INC += -DAS_INSIDE_BIN='"$(INSIDE)"'

# What runs in the kernel: the recorder of system calls. libassay.a carries it.
RECORD_BPF := $(B)/record.bpf.o
$(RECORD_BPF): src/record/bpf/record.bpf.c src/calls/event.h
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)clang -target bpf -mcpu=v3 -O2 -g $(WARN) -Isrc \
		-I/usr/include/$(shell uname -m)-linux-gnu \
		-c $< -o $@
$(B)/src/record/record_bpf.o: $(RECORD_BPF)
$(B)/src/record/record_bpf.o: private INC += -DAS_RECORD_BPF_O='"$(RECORD_BPF)"'

# The Valgrind tool (src/sym/vg): no libc, at an address of its own, as Valgrind's own tools are.
# Valgrind 3.19 cannot read what clang says in DWARF 5, and ends.
VG_CC := $(CC) -std=gnu11 -O2 -gdwarf-4 $(WARN) -fno-strict-aliasing -fno-builtin \
	-fno-stack-protector \
	-fno-pie -fomit-frame-pointer -fcf-protection=none -DVGA_amd64=1 -DVGO_linux=1 \
	-DVGP_amd64_linux=1 -DVGPV_amd64_linux_vanilla=1 -Isrc/sym/vg \
	-isystem $(shell pkg-config --variable=includedir valgrind 2>/dev/null) -MMD -MP
$(call stamp,$(B)/vg/flags.stamp,$(VG_CC))
$(B)/vg/obj/%.o: src/sym/vg/%.c $(B)/vg/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(VG_CC) -c $< -o $@
VG_OBJ := $(patsubst src/sym/vg/%.c,$(B)/vg/obj/%.o,$(wildcard src/sym/vg/*.c))
$(VG_TOOL): $(VG_OBJ) $(B)/sources.stamp
	$(call say,LD)
	$(Q)$(CC) -static -nodefaultlibs -nostartfiles -u _start -Wl,--build-id=none \
		-Wl,-Ttext-segment=0x58000000 $(VG_OBJ) \
		$(filter-out %sup-amd64-linux.a,$(VG_ARCHIVES)) \
		-lgcc $(filter %sup-amd64-linux.a,$(VG_ARCHIVES)) -o $@
	$(Q)ln -sfn $(VG_BESIDE) $(@D)
$(B)/vg/vgpreload_assaysym-amd64-linux.so: src/sym/vg/preload/preload.c $(B)/flags.stamp
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 $(WARN) -fno-builtin -fPIC -shared $< -ldl -o $@
$(B)/vg/%: tests/sym/%.c src/sym/vg/log.h $(B)/flags.stamp $(B)/vg/flags.stamp
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC_ALL) -gdwarf-4 -Isrc $< -lpthread -o $@

.PHONY: fuzzers run-fuzzers
fuzzers: $(FUZZERS)
run-fuzzers: $(FUZZERS)
	@for f in $(notdir $^); do \
		mkdir -p $(B)/corpus/$$f && echo "== $$f" && \
		seeds=$$(ls -d tests/fuzz/corpus/$${f#fuzz_} 2>/dev/null); \
		$(B)/fuzzers/$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(B)/ \
			$(B)/corpus/$$f $$seeds || exit 1; \
	done

-include $(shell find $(B) -name '*.d' 2>/dev/null)
