# @NAME@: a file system as a plugin of assay.
ASSAY ?= assay
CFLAGS ?= -O1 -g -Wall -Wextra
CPPFLAGS += -Iinclude
T = plugin:./@NAME@.so

@NAME@.so: @NAME@.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared $< -o $@

# A workload as it is, and with each write, read and allocation failing once.
check: @NAME@.so
	$(ASSAY) run --target $(T) first.txt
	$(ASSAY) run --target $(T) --sweep write first.txt
	$(ASSAY) run --target $(T) --sweep read first.txt
	$(ASSAY) run --target $(T) --sweep alloc first.txt

# 200 generated workloads, at most 50 seconds; the same seed finds the same.
hunt: @NAME@.so
	$(ASSAY) hunt --target $(T) --seed 1 --known accepted.txt --junit report.xml

# All states of two files, up to three operations deep, also with each call that can fail; some
# seconds. Leave --no-crash out once it stands power cuts.
states: @NAME@.so
	$(ASSAY) check --target $(T) --no-crash --nodes 2 --depth 3 --faults all

# What assay sees of it, and power cuts. Say in struct as_contract what yours promises.
cuts: @NAME@.so
	$(ASSAY) plugin check ./@NAME@.so
	$(ASSAY) hunt --crash --target $(T) --seed 1 --max-workloads 20

.PHONY: check hunt states cuts
